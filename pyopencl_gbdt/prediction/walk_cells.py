"""The kernel that predicts rows for many values of a few of their features at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, build_variant_program, staging
from pyopencl_gbdt.device.base import MOST_Y
from pyopencl_gbdt.device.program import Program, rows_a_launch
from pyopencl_gbdt.device.run_ahead import settled
from pyopencl_gbdt.dtypes import WALK_BY_CELL, WALK_BY_SET
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.ensemble import each
from pyopencl_gbdt.numerics.portable_math import is_missing, ordered
from pyopencl_gbdt.pages.sources import ALIGNED_ROWS
from pyopencl_gbdt.prediction.host_walk import set_goes_right
from pyopencl_gbdt.prediction.margins import apply_link
from pyopencl_gbdt.prediction.packing import PackedTrees, numbers_of, packed
from pyopencl_gbdt.prediction.predict import walk_bytes

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
#: Cells that a row walks with at a time: the bits of a mask.
CELLS = 32
#: Most bytes of the margins, and of the rows, that are on the device at a time.
_PIECE_BYTES = 64 * 1024 * 1024
#: Walks of a row through a tree for 32 cells, about: 2.2 for the feature that 500 trees of depth 8
#: ask most, of 28.
_WALKS = 3


@dataclass(frozen=True)
class _CellTrees:
    """All trees, whose nodes that split on some features point to masks of cells.

    Attributes
    ----------
    nodes : array of ``dtypes.WALK``
    masks : uint32 array, shape (n_chunks, n_masks)
        Bit ``c`` of a node's mask in a chunk says that cell ``CELLS * chunk + c`` goes left.
    """

    nodes: npt.NDArray[np.void]
    masks: U32


def margins_of_cells(
    device: Device,
    ensemble: Ensemble,
    values: F32 | DeviceArray,
    features: Sequence[int],
    cells: F32,
    rounds: tuple[int, int],
    link: str = "",
) -> Iterator[tuple[slice, F32]]:
    """Yield pieces of rows, with their margins where some features have the values of each cell.

    The margins have the bits of a prediction of the changed rows.

    Parameters
    ----------
    values : float32 array (C order) or DeviceArray, shape (n_rows, n_tree_features)
    features : sequence of int
        Distinct features of trees.
    cells : float32 array, shape (n_cells, len(features))
        The values of these features; NaN means missing.
    rounds : (int, int)
        First round, and last round plus 1.
    link : str
        ``Objective.device_link`` to get predictions instead of margins.

    Yields
    ------
    rows : slice
    margins : float32 array, shape (n_outputs, n_cells, n_rows of the piece)
    """
    ensemble = numbers_of(ensemble)
    trees = packed(ensemble)
    n_chunks = -(-len(cells) // CELLS)
    together = max(1, min(MOST_Y, n_chunks, _together(device, ensemble, values)))
    padded = np.concatenate([cells, np.repeat(cells[-1:], n_chunks * CELLS - len(cells), axis=0)])
    ready = _cell_trees(trees, features, padded)
    walk = _Walk(device, trees, ready.nodes)
    each_row = 4 * max(ensemble.n_outputs * together * CELLS, values.shape[1])
    n_rows = max(1, _PIECE_BYTES // each_row // ALIGNED_ROWS) * ALIGNED_ROWS
    with settled(device):
        for begin in range(0, values.shape[0], n_rows):
            piece = slice(begin, min(begin + n_rows, values.shape[0]))
            there = _piece(device, values, piece)
            found = np.empty((ensemble.n_outputs, n_chunks, there.shape[0], CELLS), np.float32)
            for first in range(0, n_chunks, together):
                some = slice(first, first + together)
                found[:, some] = walk.margins(ensemble, there, ready.masks[some], rounds, link)
            by_cell = found.transpose(0, 1, 3, 2).reshape(ensemble.n_outputs, -1, there.shape[0])
            yield piece, by_cell[:, : len(cells)]


def _together(device: Device, ensemble: Ensemble, values: F32 | DeviceArray) -> int:
    """Return how many chunks of cells the margins of the least piece of rows leave room for."""
    rows = min(ALIGNED_ROWS, values.shape[0])
    limit = min(_PIECE_BYTES, device.caps.max_alloc_bytes)
    return limit // (4 * CELLS * ensemble.n_outputs * max(1, rows))


def _piece(device: Device, values: F32 | DeviceArray, piece: slice) -> DeviceArray:
    if isinstance(values, DeviceArray):
        whole = piece == slice(0, values.shape[0])
        return values if whole else device.rows(values, piece.start, piece.stop)
    return staging.there(device, values[piece])


class _Walk:
    """Adds trees whose nodes point to masks to the margins of rows."""

    def __init__(self, device: Device, trees: PackedTrees, nodes: npt.NDArray[np.void]) -> None:
        self._device, self._trees = device, trees
        self._program, self._group_rows = build(device, categories=trees.sets is not None)
        self._args = {"nodes": device.upload(nodes), "tree_begin": device.borrow(trees.begin)}
        if trees.sets is not None:
            self._args["sets"] = device.borrow(trees.sets)

    def margins(
        self,
        ensemble: Ensemble,
        values: DeviceArray,
        masks: U32,
        rounds: tuple[int, int],
        link: str,
    ) -> F32:
        """Return the margins of some chunks, shape (n_outputs, n_chunks, n_rows, CELLS)."""
        n_rows, n_chunks = values.shape[0], len(masks)
        shape = ensemble.n_outputs, n_chunks * n_rows * CELLS
        found = np.empty(shape, np.float32)
        every = self._device.empty(shape, np.float32) if link == "softmax" else None
        there = self._device.upload(masks)
        bytes_a_row = _WALKS * walk_bytes(self._trees) * n_chunks
        step = max(1, rows_a_launch(self._device.caps, bytes_a_row) // n_rows)
        groups = -(-n_rows // self._group_rows), n_chunks
        for output, base in enumerate(each(ensemble.base_margin)):
            margins = self._device.upload(np.full(shape[1], base, np.float32))
            begin, end = ((output * ensemble.n_rounds + r) * ensemble.n_parallel for r in rounds)
            for tree in range(begin, end, step):
                self._program.launch(
                    "walk_cells", groups, n_rows=n_rows, n_features=values.shape[1],
                    n_masks=masks.shape[1], first_tree=tree, n_trees=min(step, end - tree),
                    longest=self._trees.longest, values=values, masks=there, margins=margins,
                    **self._args,
                )  # fmt: skip
            if every is not None:
                self._device.copy(margins, every, output * margins.size)
                continue
            if link:
                apply_link(self._device, link, margins)
            found[output] = margins.get()
        if every is not None:
            apply_link(self._device, link, every)
            found = every.get()
        return found.reshape(ensemble.n_outputs, n_chunks, n_rows, CELLS)


def build(device: Device, *, categories: bool) -> tuple[Program, int]:
    """Return the program, and the rows of a work-group."""
    variant, program = build_variant_program(device, "walk_cells", "auto", categories=categories)
    return program, variant.params["rows"] * program.wg_size


def _cell_trees(trees: PackedTrees, features: Sequence[int], cells: F32) -> _CellTrees:
    """Return the trees for cells, whose number is a multiple of CELLS."""
    nodes = trees.nodes.copy()
    at = np.flatnonzero((nodes["left"] != 0) & np.isin(nodes["feature"], features))
    some, order = nodes[at], np.argsort(features)
    place = order[np.searchsorted(features, some["feature"], sorter=order)]
    goes_left = _decision(trees.sets, some)
    masks: U32 = np.zeros((len(cells) // CELLS, max(1, at.size)), np.uint32)
    for chunk, own in zip(masks, cells.reshape(len(masks), CELLS, -1), strict=True):
        for bit, cell in enumerate(own):
            chunk[: at.size] |= goes_left(cell[place]).astype(np.uint32) << np.uint32(bit)
    nodes["default_left"][at] |= WALK_BY_CELL
    nodes["number"].view(np.uint32)[at] = np.arange(at.size)
    return _CellTrees(nodes, masks)


def _decision(
    sets: U32 | None, nodes: npt.NDArray[np.void]
) -> Callable[[F32], npt.NDArray[np.bool_]]:
    """Return a function of a value for each node, which tells whether it goes left there."""
    border, default_left = ordered(nodes["number"]), nodes["default_left"] & 1 > 0
    by_set = np.flatnonzero(nodes["default_left"] & WALK_BY_SET)
    begin = nodes["number"][by_set].view(np.uint32).astype(np.int64)

    def goes_left(value: F32) -> npt.NDArray[np.bool_]:
        left = np.where(is_missing(value), default_left, ordered(value) < border)
        if sets is not None:
            left[by_set] = ~set_goes_right(sets, begin, value[by_set], default_left[by_set])
        return left

    return goes_left
