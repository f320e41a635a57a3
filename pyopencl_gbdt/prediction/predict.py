"""Kernels that add trees to the margins of rows of raw feature values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Launch, build_variant_program, staging
from pyopencl_gbdt.device.program import Program
from pyopencl_gbdt.dtypes import VALUE, WALK
from pyopencl_gbdt.prediction.leaf_terms import PackedLinear
from pyopencl_gbdt.prediction.packing import PackedTrees
from pyopencl_gbdt.prediction.predict_codes import plan_codes
from pyopencl_gbdt.prediction.predict_tables import plan_tables
from pyopencl_gbdt.primitives.checks import ceil_div

F32 = npt.NDArray[np.float32]
#: Fewer rows are walked one by one: laying out the trees and a block takes as long as so many
#: rows (PoCL, 2 cores, 500 trees of depth 8: 0.1 ms a row).
_FEW_ROWS = 16
#: Work-groups that walk blocks. Each walks one block after another and has memory for the keys of
#: one block. Enough for drivers that hand out 64 at a time (PoCL), few enough that little memory
#: is touched. With one buffer for all keys, 250,000 x 28 rows and 20 trees took 27 ms, not 23.
_GROUPS = 1024
_KEY_BYTES = 32 * 1024 * 1024
#: Most values that the search for a value's code reads.
_MOST_SEARCH = 17


def walk_bytes(trees: PackedTrees, searched: float = 0) -> float:
    """Return the bytes that a row reads in a tree, in the mean; with vectors, also what it writes.

    Launches are cut by this traffic, see ``rows_a_launch``.

    ``searched``: bytes that a step reads to find the row's value; 0 is a dense row.
    """
    steps = 1 + trees.mean_steps / max(1, trees.n_trees)
    added = 0 if trees.vectors is None else 3 * VALUE.itemsize * trees.vectors.shape[1]
    return steps * (WALK.itemsize + max(searched, VALUE.itemsize)) + added


def row_bytes(trees: PackedTrees) -> float:
    """Return the bytes that a row reads at least in a launch: to be encoded, or in one tree."""
    return max(walk_bytes(trees), VALUE.itemsize * _MOST_SEARCH * trees.columns.size)


def build(
    device: Device, kernel: str = "predict", *, blocks: bool = False, categories: bool = False
) -> tuple[Program, int, int]:
    """Return a program, the rows per work-group, and of ``predict`` the rows per block.

    Parameters
    ----------
    kernel : {"predict", "predict_linear", "predict_vectors"}
        By what leaves are.
    blocks : bool
        Whether the kernels of blocks are launched, if the device's variant of ``predict`` has them.
    categories : bool
        Whether splits may be by sets of codes.
    """
    none: dict[str, int] = {} if blocks or kernel != "predict" else {"rows": 0}
    variant, program = build_variant_program(
        device, kernel, "auto", derived=lambda _: none, categories=categories
    )
    params = variant.params
    own = params.get("items", 1) if kernel == "predict" else params.get("rows", 1)
    return program, own * program.wg_size, params.get("rows", 0)


def prepare(
    device: Device,
    values: DeviceArray,
    nodes: DeviceArray,
    tree_begin: DeviceArray,
    margins: DeviceArray,
    *,
    trees: tuple[int, int],
    longest: int,
    outputs: tuple[int, int] = (0, 1),
    sets: DeviceArray | None = None,
    most_rows: int | None = None,
    terms: Mapping[str, DeviceArray] | None = None,
) -> list[Launch]:
    """Return the launches that add trees to margins, one tree after another.

    Parameters
    ----------
    values : DeviceArray of float32, shape (n_rows, n_features)
        NaN means missing.
    nodes : DeviceArray of ``dtypes.WALK``
        Nodes of all trees.
    tree_begin : DeviceArray of uint32
        First node of every tree.
    margins : DeviceArray of float32, shape (n_rows,) or (n_outputs, n_rows), written
        Margins so far; the trees' values are added.
    trees : (int, int)
        First tree, and last tree plus 1; each output has the same number of them.
    longest : int
        Largest number of nodes on a path from root to leaf.
    outputs : (int, int)
        First output, and last output plus 1.
    sets : DeviceArray of uint32 or None
        Sets of codes, if splits are by sets.
    most_rows : int or None
        About how many rows a launch takes at most; None is all.
    terms : mapping of str to DeviceArray, or None
        Linear functions of leaves, by the names in ``predict_linear``.
    """
    kernel, by_sets = "predict" if terms is None else "predict_linear", sets is not None
    program, rows, _ = build(device, kernel, categories=by_sets)
    first, n_outputs = outputs[0], outputs[1] - outputs[0]
    args = {
        "n_rows": values.shape[0], "n_features": values.shape[1], "first_output": first,
        "first_tree": trees[0], "n_trees": (trees[1] - trees[0]) // n_outputs, "longest": longest,
        "values": values, "nodes": nodes, "tree_begin": tree_begin, "margins": margins,
        **(terms or {}), **({} if sets is None else {"sets": sets.words()}),
    }  # fmt: skip
    return [
        program.bind(kernel, (groups, n_outputs), first_row=first_row, **args)
        for first_row, groups in row_pieces(values.shape[0], rows, most_rows)
    ]


def row_pieces(n_rows: int, group_rows: int, most_rows: int | None) -> Iterator[tuple[int, int]]:
    """Yield the first row and the number of work-groups of launches for some rows each."""
    groups = ceil_div(n_rows, group_rows)
    each = groups if most_rows is None else max(1, most_rows // group_rows)
    for first in range(0, groups, each):
        yield first * group_rows, min(each, groups - first)


class Adds(Protocol):
    """Adds an ensemble's trees to the margins of a piece of rows."""

    def add(self, margins: DeviceArray, trees: tuple[int, int]) -> None:
        """Add trees ``trees[0] .. trees[1] - 1`` to the margins of the current piece."""


class Walk(Adds, Protocol):
    """Adds an ensemble's trees to margins, for one piece of rows after another."""

    piece_rows: int
    """Most rows per piece."""

    def take(self, values: F32 | DeviceArray) -> None:
        """Copy the next piece of rows, float32 (n_rows, n_features), to the device."""


def plan_walk(device: Device, trees: PackedTrees, n_rows: int, piece_bytes: int) -> Walk:
    """Return the fastest way: by tables, if all trees are such, in blocks of rows, or row by row.

    Trees whose leaves are vectors, or linear functions, are walked row by row.

    ``n_rows``: number of rows of all pieces.
    """
    if trees.vectors is not None or trees.linear is not None:
        return RowWalk(device, trees, piece_bytes)
    tables = plan_tables(device, trees.tables, n_rows, trees.n_features, piece_bytes)
    if tables is not None:
        return tables
    by_sets = trees.sets is not None
    if n_rows >= _FEW_ROWS and trees.n_trees and not (by_sets and trees.set_keys is None):
        program, _, rows = build(device, blocks=True, categories=by_sets)
        keys = program.wg_size * rows * trees.columns.size
        largest = 4 * max(2 * (trees.n_places + 1), 4 * trees.nodes.size, keys)
        codes = plan_codes(device, trees, n_rows, piece_bytes) if rows else None
        if codes is not None:
            return codes
        if rows and largest <= min(device.caps.max_alloc_bytes, 2**32 - 1):
            return BlockWalk(device, trees, n_rows, piece_bytes)
    return RowWalk(device, trees, piece_bytes)


class _PlainWalk:
    """A walk that reads a piece of rows as it is."""

    device: Device

    def take(self, values: F32 | DeviceArray) -> None:
        self._values = staging.there(self.device, values)


class RowWalk(_PlainWalk):
    """Each row walks all trees by itself, and adds what its leaves are.

    If leaves are vectors, margins have the shape (n_outputs, n_rows).
    """

    def __init__(self, device: Device, trees: PackedTrees, piece_bytes: int) -> None:
        self.device, width = device, trees.n_features
        self._args: dict[str, Any] = {"longest": trees.longest}
        arrays: dict[str, npt.NDArray[Any]]
        arrays = {"nodes": trees.nodes, "tree_begin": trees.begin}
        if trees.sets is not None:
            arrays["sets"] = trees.sets
        if trees.vectors is not None:
            self._kernel, arrays["vectors"] = "predict_vectors", trees.vectors
            self._args["n_outputs"] = trees.vectors.shape[1]
            width = max(width, trees.vectors.shape[1])
        else:
            self._kernel = "predict" if trees.linear is None else "predict_linear"
            self._args |= {"first_row": 0, "first_output": 0}
            arrays |= {} if trees.linear is None else _terms(trees.linear)
        self._program, self._group_rows, _ = build(
            device, self._kernel, categories=trees.sets is not None
        )
        self.piece_rows = max(1, piece_bytes // (4 * width))
        self._args |= {name: device.borrow(array) for name, array in arrays.items()}

    def add(self, margins: DeviceArray, trees: tuple[int, int]) -> None:
        n_rows, n_features = self._values.shape
        self._program.launch(
            self._kernel, ceil_div(n_rows, self._group_rows), n_rows=n_rows,
            n_features=n_features, first_tree=trees[0], n_trees=trees[1] - trees[0],
            values=self._values, margins=margins, **self._args,
        )  # fmt: skip


def _terms(linear: PackedLinear) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of linear functions by their names in kernels."""
    features, coefficients = linear.features, linear.coefficients
    if not features.size:  # a device has no arrays without elements
        features, coefficients = np.zeros(1, np.uint32), np.zeros(1, np.float32)
    return {
        "term_begin": linear.begin, "intercepts": linear.intercepts,
        "term_features": features, "term_coefficients": coefficients,
    }  # fmt: skip


class BlockWalk(_PlainWalk):
    """Blocks of rows walk trees in a layout made for them; see the template."""

    def __init__(self, device: Device, trees: PackedTrees, n_rows: int, piece_bytes: int) -> None:
        self.device = device
        keys = trees.set_keys
        self._program, _, self._block = build(device, blocks=True, categories=keys is not None)
        self._sets = {} if keys is None else {
            "n_codes": device.borrow(keys.n_codes), "sets": device.borrow(keys.words)
        }  # fmt: skip
        sizes = {} if keys is None else {"n_features": trees.n_features}
        self._n_columns = trees.columns.size
        self.piece_rows = max(1, piece_bytes // (4 * trees.n_features))
        of_a_group = self._program.wg_size * self._block
        most = max(1, _KEY_BYTES // (4 * of_a_group * trees.columns.size))
        self._groups = min(_GROUPS, most, ceil_div(min(n_rows, self.piece_rows), of_a_group))
        self._keys = device.empty((self._groups, of_a_group * trees.columns.size), np.uint32)
        self._columns = device.borrow(trees.columns)
        self._begin, self._shapes = device.borrow(trees.begin), device.borrow(trees.shapes)
        self._tops = device.empty((trees.n_places + 1, 2), np.uint32)
        self._ends = device.empty(trees.n_places, np.uint32)
        self._ways = device.empty((trees.nodes.size if trees.goes_on else 1, 4), np.uint32)
        self._program.launch(
            "lay_out", ceil_div(trees.n_trees, self._program.wg_size), n_trees=trees.n_trees,
            nodes=device.borrow(trees.block_nodes), tree_begin=self._begin, shapes=self._shapes,
            column_of=device.borrow(trees.column_of), tops=self._tops, ends=self._ends,
            ways=self._ways, **sizes,
        )  # fmt: skip

    def add(self, margins: DeviceArray, trees: tuple[int, int]) -> None:
        n_rows, n_features = self._values.shape
        self._program.launch(
            "predict_blocks", self._groups, n_rows=n_rows, n_features=n_features,
            n_columns=self._n_columns, first_tree=trees[0], n_trees=trees[1] - trees[0],
            values=self._values, columns=self._columns, tree_begin=self._begin,
            shapes=self._shapes, tops=self._tops, ends=self._ends, ways=self._ways,
            keys=self._keys, margins=margins, **self._sets,
        )  # fmt: skip
