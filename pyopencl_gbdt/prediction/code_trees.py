"""Trees whose thresholds are ranks among those of a column, for rows that are encoded once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.numerics.portable_math import ordered
from pyopencl_gbdt.prediction.borders import Borders, borders_of
from pyopencl_gbdt.primitives.packed_codes import code_dtype

U32 = npt.NDArray[np.uint32]
#: Levels that every perfect tree has at least: those that the kernel decides together.
TOP = 6
#: One more than the rank of a leaf above the last level: all rows go left.
ABOVE_ALL = 0xFFFFFFFF


@dataclass(frozen=True)
class PackedCodeTrees:
    """Trees whose thresholds are ranks among those of a column, in arrays for the kernel.

    Attributes
    ----------
    borders : Borders
    code : numpy dtype
        The smallest dtype of codes.
    shapes : uint32 array, shape (n_trees, 3)
        For each tree: the first place of its perfect upper part, its number of levels, and the
        most steps below it.
    tops : uint32 array, shape (n_places + 1, 2)
        For each place the column, and one more than the border's rank.
    firsts : array of codes, shape (n_trees, 2 ** TOP)
        Ranks of the upper nodes' borders.
    ends : uint32 array, shape (n_places,)
        Bits of a leaf's value, or the node from which the walk goes on.
    ways : uint32 array, shape (n_nodes, 4), or (1, 4)
        Left child, column, one more than the border's rank, and bits of the value, if a tree goes
        on below its perfect part.
    """

    borders: Borders
    code: np.dtype[np.uint8] | np.dtype[np.uint16]
    shapes: U32
    tops: U32
    firsts: npt.NDArray[Any]
    ends: U32
    ways: U32


def pack_codes(
    nodes: npt.NDArray[np.void], tree_begin: U32, shapes: U32, column_of: U32, n_columns: int
) -> PackedCodeTrees | None:
    """Return the arrays of an ensemble; None if codes would take more than 16 bits.

    The parameters are those of ``PackedTrees``.
    """
    begin = tree_begin.astype(np.int64)
    left = nodes["left"].astype(np.int64)
    inner = left > 0
    column = np.zeros(left.size, np.int64)
    asked = 2 * nodes["feature"].astype(np.int64) + nodes["default_left"]
    column[inner] = column_of[asked[inner]]
    rank = np.full(left.size, ABOVE_ALL - 1, np.int64)
    keys = ordered(nodes["number"][inner])
    borders, rank[inner] = borders_of(column[inner], keys, n_columns)
    if borders.most_codes > 1 << 16:
        return None
    code = code_dtype(borders.most_codes)
    levels = np.maximum(shapes[:, 1].astype(np.int64), TOP)
    behind = np.maximum(shapes[:, 2] - (levels - shapes[:, 1]), 0)
    places = np.concatenate([[0], np.cumsum(np.left_shift(1, levels))])
    value = nodes["number"].view(np.uint32).astype(np.int64)
    tops = np.zeros((int(places[-1]) + 1, 2), np.uint32)
    firsts = np.full((levels.size, 1 << TOP), np.iinfo(code).max, code)
    ends = np.zeros(int(places[-1]), np.uint32)
    at, tree = begin[:-1, None], np.arange(levels.size)
    for level in range(int(levels.max(initial=0)) + 1):
        done = levels[tree] == level
        own = np.arange(1 << level)
        goes_on = behind[tree[done], None] > 0
        local = at[done] - begin[tree[done], None]
        ends[places[tree[done], None] + own] = np.where(goes_on, local, value[at[done]])
        at, tree = at[~done], tree[~done]
        place = places[tree, None] + (1 << level) + 1 + own
        tops[place] = np.stack([column[at], rank[at] + 1], axis=-1)
        if level < TOP:
            of_code = np.minimum(rank[at], np.iinfo(code).max)
            firsts[tree[:, None], (1 << level) + own] = of_code
        child = np.where(inner[at], begin[tree, None] + left[at], at)
        at = np.stack([child, child + inner[at]], axis=-1).reshape(tree.size, 2 << level)
    made = np.column_stack([places[:-1], levels, behind]).astype(np.uint32)
    ways = np.zeros((1, 4), np.uint32)
    if behind.any():
        own_id = np.arange(left.size) - np.repeat(begin[:-1], np.diff(begin))
        parts = [np.where(inner, left, own_id), column, rank + 1, value]
        ways = np.column_stack(parts).astype(np.uint32)
    return PackedCodeTrees(borders, code, made, tops, firsts, ends, ways)
