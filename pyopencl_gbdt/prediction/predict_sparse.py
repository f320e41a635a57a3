"""Kernels that add trees to the margins of sparse rows.

An ensemble asks for some of the columns alone. Where it is known on the host, these columns of a
block of rows are gathered into a dense block, which the kernels of ``predict`` walk. Where trees
are grown on the device, as for evaluation sets, each step of a walk searches the row's entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pyopencl_gbdt.data.sparse import SparseMatrix
from pyopencl_gbdt.device import Device, DeviceArray, Launch, build_variant_program
from pyopencl_gbdt.device.memory import MemoryPlan
from pyopencl_gbdt.prediction.packing import PackedTrees
from pyopencl_gbdt.prediction.predict import Walk, plan_walk

#: Bytes of an entry: its column and its value.
_ENTRY_BYTES = 8


@dataclass(frozen=True)
class SparseRows:
    """Sparse rows on a device.

    Attributes
    ----------
    shape : (int, int)
        Rows and columns.
    row_starts : DeviceArray of int64, shape (n_rows + 1,)
    columns : DeviceArray of int32, shape (n_entries,)
    values : DeviceArray of float32, shape (n_entries,)
        As in ``SparseMatrix``; one entry that no row has, if there are none.
    """

    shape: tuple[int, int]
    row_starts: DeviceArray
    columns: DeviceArray
    values: DeviceArray

    @classmethod
    def of(cls, device: Device, rows: SparseMatrix) -> SparseRows:
        """Copy a matrix to a device, unless device and host share memory.

        The caller must keep the matrix alive until all kernels that read it have run.
        """
        columns, values = rows.columns, rows.values
        if not rows.n_entries:
            columns, values = np.zeros(1, np.int32), np.zeros(1, np.float32)
        borrow = device.borrow
        return cls(rows.shape, borrow(rows.row_starts), borrow(columns), borrow(values))

    def arguments(self) -> dict[str, DeviceArray]:
        """Return the kernels' arguments."""
        return {"row_starts": self.row_starts, "columns": self.columns, "values": self.values}


def plan_rows(plan: MemoryPlan, prefix: str, rows: SparseMatrix) -> None:
    """Add the arrays of ``SparseRows`` to a plan."""
    plan.add(f"{prefix}: row starts", rows.shape[0] + 1, np.int64)
    plan.add(f"{prefix}: columns", rows.n_entries, np.int32)
    plan.add(f"{prefix}: values", rows.n_entries, np.float32)


def prepare(
    device: Device,
    rows: SparseRows,
    nodes: DeviceArray,
    tree_begin: DeviceArray,
    margins: DeviceArray,
    *,
    trees: tuple[int, int],
    longest: int,
    outputs: tuple[int, int] = (0, 1),
) -> Launch:
    """Return the launch that adds trees to margins of sparse rows.

    The other parameters are those of ``predict.prepare``.
    """
    variant, program = build_variant_program(device, "predict_sparse", "auto")
    first, n_outputs = outputs[0], outputs[1] - outputs[0]
    groups = _ceil(rows.shape[0], variant.params["items"] * program.wg_size)
    return program.bind(
        "predict_sparse", (groups, n_outputs), n_rows=rows.shape[0], first_output=first,
        first_tree=trees[0], n_trees=(trees[1] - trees[0]) // n_outputs, longest=longest,
        nodes=nodes, tree_begin=tree_begin, margins=margins, **rows.arguments(),
    )  # fmt: skip


def walked_pieces(
    device: Device, trees: PackedTrees, rows: SparseMatrix, piece_bytes: int
) -> Iterator[tuple[slice, Walk]]:
    """Yield pieces of rows, each with a walk that has taken it; wait for it before the next one.

    Parameters
    ----------
    device : Device
    trees : PackedTrees
    rows : SparseMatrix
    piece_bytes : int
        Most bytes of a piece's dense block, and of its entries.
    """
    own = trees.compact
    walk = plan_walk(device, own.trees, rows.shape[0], piece_bytes)
    n_used = own.used.size
    used = device.upload(own.used)
    most = min(walk.piece_rows, rows.shape[0])
    block = device.empty((most, n_used), np.float32)
    variant, program = build_variant_program(device, "predict_sparse", "auto")
    per_group = variant.params["items"] * program.wg_size
    for piece in _pieces(rows, most, piece_bytes // _ENTRY_BYTES):
        part = rows.rows(piece.start, piece.stop)
        n_rows = part.shape[0]
        there = SparseRows.of(device, part)  # alive until the piece has been walked
        dense = block if n_rows == most else device.rows(block, 0, n_rows)
        program.launch(
            "gather_columns", _ceil(n_rows, per_group), n_rows=n_rows, n_used=n_used, used=used,
            block=dense, **there.arguments(),
        )  # fmt: skip
        walk.take(dense)
        yield piece, walk


def _pieces(rows: SparseMatrix, most_rows: int, most_entries: int) -> Iterator[slice]:
    """Split rows into pieces with so many rows and entries at most, but at least a row."""
    starts, first = rows.row_starts, 0
    while first < rows.shape[0]:
        fits = int(np.searchsorted(starts, starts[first] + most_entries, "right")) - 1
        last = min(rows.shape[0], first + most_rows, max(first + 1, fits))
        yield slice(first, last)
        first = last


def _ceil(n: int, per: int) -> int:
    return -(-n // per)
