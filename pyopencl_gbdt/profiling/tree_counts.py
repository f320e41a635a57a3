"""Count the nodes and rows on each level of a finished tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.dtypes import NO_NODE

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TreeCounts:
    """Counts per level of a finished tree; int64 arrays, shape (max_depth + 1,).

    Along sorted columns, entries are counted in place of rows.

    Attributes
    ----------
    nodes, splits : array
        All nodes, and the nodes that split.
    split_rows : array
        Rows in nodes that split.
    built, built_rows : array
        Nodes whose histogram was built from rows, and their rows; the histogram of the larger
        sibling is a difference. On the last level none are built.
    sizes, built_sizes, split_sizes : list of array
        Rows of each node that was searched, of each that was built, and of each that splits, level
        by level.
    """

    nodes: I64
    splits: I64
    split_rows: I64
    built: I64
    built_rows: I64
    sizes: list[I64]
    built_sizes: list[I64]
    split_sizes: list[I64]


def count_tree(nodes: Mapping[str, npt.NDArray[Any]], levels: npt.NDArray[np.void]) -> TreeCounts:
    """Count the nodes and rows of a tree.

    Parameters
    ----------
    nodes : mapping of str to array, each of shape (max_nodes,)
        The fields ``count``, ``left``, ``sibling_slot`` of ``dtypes.NODE``, without gaps.
    levels : array of ``dtypes.LEVEL``, shape (max_depth + 1,)
    """
    per_level = np.zeros((5, levels.size), np.int64)
    sizes, built_sizes, split_sizes = [], [], []
    for depth, level in enumerate(levels):
        first = int(level["first"])
        here = slice(first, first + int(level["count"]))
        rows = nodes["count"][here].astype(np.int64)
        searched = depth < levels.size - 1
        splits = (nodes["left"][here] != NO_NODE) & searched
        from_rows = (nodes["sibling_slot"][here] < 0) & searched
        sizes.append(rows if searched else rows[:0])
        built_sizes.append(rows[from_rows])
        split_sizes.append(rows[splits])
        per_level[:3, depth] = rows.size, splits.sum(), rows[splits].sum()
        per_level[3:, depth] = from_rows.sum(), rows[from_rows].sum()
    n_nodes, n_splits, split_rows, built, built_rows = per_level
    lists = (sizes, built_sizes, split_sizes)
    return TreeCounts(n_nodes, n_splits, split_rows, built, built_rows, *lists)


def partial_histograms(sizes: I64, chunk: int, groups: int) -> I64:
    """Return how many work-groups build each node's histogram.

    Parameters
    ----------
    sizes : int64 array, shape (n_nodes,)
        Rows of the nodes built in one launch, in order.
    chunk : int
        Rows per task.
    groups : int
        Number of work-groups; each takes an equal run of the tasks.
    """
    end = np.cumsum(-(-sizes // chunk))
    n_tasks = int(end[-1]) if end.size else 0
    border = np.unique(n_tasks * np.arange(groups + 1, dtype=np.int64) // groups)
    begin = np.concatenate([[0], end[:-1]]) if end.size else end
    inside = np.searchsorted(border, end, "left") - np.searchsorted(border, begin, "right")
    return np.asarray(inside + 1, np.int64)
