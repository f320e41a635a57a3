"""Kernels that add trees to the margins of sparse rows.

Each step of a walk searches the row's entries for a column. Large ensembles take many steps, but
ask for some of the columns alone: these are gathered into a dense block of rows, which the kernels
of ``predict`` walk. Evaluation sets are always searched: the host does not know their trees.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.device import Device, DeviceArray, Launch, build_variant_program
from pyopencl_gbdt.device.program import rows_a_launch
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.prediction.packing import PackedTrees
from pyopencl_gbdt.prediction.predict import Adds, plan_walk, row_pieces, walk_bytes
from pyopencl_gbdt.primitives.checks import ceil_div

#: Bytes of an entry: its column and its value.
_ENTRY_BYTES = 8
#: Nanoseconds of a row: to gather a column; for a step in a dense block; and, for a step and each
#: halving of a row's entries, to search nodes that a core's cache holds, and larger ones. PoCL,
#: 2 cores, trees of 64 leaves with random columns, 16,000 x 4.27 M with 6000 entries a row, 16,000
#: x 62,000 with 80, 100,000 x 968 with 180, 100,000 x 28 with 10: with 10, 100 and 1000 trees, the
#: better way is chosen in all 12, and is up to 21 times as fast.
_CPU = 4.0, 1.5, 1.5, 4.0
#: H200, 250,000 x 968 with 184 entries a row, 250,000 x 300 with 15, 100,000 x 5000 with 100,
#: 30,000 x 20,000 with 100, with 20 trees of depth 6 and 200 of depth 8: copying rows is most of
#: the time; the ways differ by 3 to 50 %, and the better one, or one 19 % behind, is chosen.
_GPU = 0.044, 0.002, 0.009, 0.009
_NEAR_BYTES = 1 << 19


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
    most_rows: int | None = None,
) -> list[Launch]:
    """Return the launches that add trees to margins of sparse rows.

    The other parameters are those of ``predict.prepare``.
    """
    variant, program = build_variant_program(device, "predict_sparse", "auto")
    first, n_outputs = outputs[0], outputs[1] - outputs[0]
    group_rows = variant.params["items"] * program.wg_size
    return [
        program.bind(
            "predict_sparse",
            (groups, n_outputs),
            n_rows=rows.shape[0],
            first_row=first_row,
            first_output=first,
            first_tree=trees[0],
            n_trees=(trees[1] - trees[0]) // n_outputs,
            longest=longest,
            nodes=nodes,
            tree_begin=tree_begin,
            margins=margins,
            **rows.arguments(),
        )
        for first_row, groups in row_pieces(rows.shape[0], group_rows, most_rows)
    ]


def check_no_sets(trees: PackedTrees) -> None:
    """Raise an error for trees that sparse rows cannot walk.

    Raises
    ------
    DataError
        If splits are by sets of categories.
    """
    if trees.sets is not None:
        raise DataError(
            "X is sparse: expected dense rows for a model that splits by sets of categories; "
            "convert it by X.toarray(), with NaN for missing values"
        )


def searched_bytes(rows: SparseMatrix) -> float:
    """Return the bytes that a search for one of a row's entries reads, in the mean: traffic."""
    per_row = rows.n_entries / max(1, rows.shape[0])
    return float(_ENTRY_BYTES * np.log2(per_row + 2))


def walked_pieces(
    device: Device, trees: PackedTrees, rows: SparseMatrix, piece_bytes: int
) -> Iterator[tuple[slice, Adds]]:
    """Yield pieces of rows, each with a walk that has taken it; wait for it before the next one.

    ``piece_bytes``: most bytes of a piece's dense block, and of its entries.
    """
    kind = Gathered if gathers(trees, rows, device.caps.hides_latency) else Searched
    walk = kind(device, trees, rows.shape[0], piece_bytes)
    # a launch adds one tree to every row, or gathers all columns that trees ask for
    searched = searched_bytes(rows)
    row_bytes = max(walk_bytes(trees, searched), searched * trees.used.size)
    most_rows = min(walk.piece_rows, rows_a_launch(device.caps, row_bytes))
    for piece in _pieces(rows, most_rows, piece_bytes // _ENTRY_BYTES):
        there = SparseRows.of(device, rows.rows(piece.start, piece.stop))
        walk.take(there)
        yield piece, walk


def gathers(trees: PackedTrees, rows: SparseMatrix, hides_latency: bool) -> bool:
    """Tell whether gathering the trees' columns is faster than searching them at every step.

    ``hides_latency`` is that of the device's capabilities.
    """
    column, dense_step, near_step, far_step = _GPU if hides_latency else _CPU
    per_row = rows.n_entries / rows.shape[0]
    step = near_step if trees.nodes.nbytes <= _NEAR_BYTES else far_step
    search = step * trees.mean_steps * np.log2(per_row + 2)
    return bool(column * trees.used.size + dense_step * trees.mean_steps <= search)


class Gathered:
    """Gathers the columns that trees ask for into a dense block, and walks it."""

    def __init__(self, device: Device, trees: PackedTrees, n_rows: int, piece_bytes: int) -> None:
        self.device = device
        self._walk = plan_walk(device, trees.compact, n_rows, piece_bytes)
        self.piece_rows = min(self._walk.piece_rows, n_rows)
        self._used = device.upload(trees.used.astype(np.int32))
        self._block = device.empty((self.piece_rows, trees.used.size), np.float32)

    def take(self, rows: SparseRows) -> None:
        self._rows = rows  # alive until they have been walked
        n_rows, n_used = rows.shape[0], self._used.size
        whole = n_rows == self.piece_rows
        block = self._block if whole else self.device.rows(self._block, 0, n_rows)
        variant, program = build_variant_program(self.device, "predict_sparse", "auto")
        program.launch(
            "gather_columns", ceil_div(n_rows, variant.params["items"] * program.wg_size),
            n_rows=n_rows, n_used=n_used, used=self._used, block=block, **rows.arguments(),
        )  # fmt: skip
        self._walk.take(block)

    def add(self, margins: DeviceArray, trees: tuple[int, int]) -> None:
        self._walk.add(margins, trees)


class Searched:
    """Searches a row's entries at every step."""

    def __init__(self, device: Device, trees: PackedTrees, n_rows: int, piece_bytes: int) -> None:
        self.device, self._longest, self.piece_rows = device, trees.longest, n_rows
        self._nodes, self._begin = device.borrow(trees.nodes), device.borrow(trees.begin)

    def take(self, rows: SparseRows) -> None:
        self._rows = rows

    def add(self, margins: DeviceArray, trees: tuple[int, int]) -> None:
        arrays = (self._rows, self._nodes, self._begin, margins)
        for launch in prepare(self.device, *arrays, trees=trees, longest=self._longest):
            launch()


def _pieces(rows: SparseMatrix, most_rows: int, most_entries: int) -> Iterator[slice]:
    """Split rows into pieces with so many rows and entries at most, but at least a row."""
    starts, first = rows.row_starts, 0
    while first < rows.shape[0]:
        fits = int(np.searchsorted(starts, starts[first] + most_entries, "right")) - 1
        last = min(rows.shape[0], first + most_rows, max(first + 1, fits))
        yield slice(first, last)
        first = last
