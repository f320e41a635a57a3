"""How many nodes and rows a finished tree had on each level."""

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
    """What a finished tree had on each of its levels; int64 arrays, shape (max_depth + 1,).

    Attributes
    ----------
    nodes, splits : array
        All nodes, and those that split.
    split_rows : array
        Rows in nodes that split.
    built, built_rows : array
        Nodes whose histogram was built from rows, and their rows; the larger one of two siblings
        gets its histogram by subtraction. The last level has none.
    built_sizes, split_sizes : list of array
        The rows of each such node, and of each that splits, a level after the other.
    """

    nodes: I64
    splits: I64
    split_rows: I64
    built: I64
    built_rows: I64
    built_sizes: list[I64]
    split_sizes: list[I64]


def count_tree(nodes: Mapping[str, npt.NDArray[Any]], levels: npt.NDArray[np.void]) -> TreeCounts:
    """Count a tree as the device grew it.

    Parameters
    ----------
    nodes : mapping of str to array, each of shape (max_nodes,)
        Fields of ``dtypes.NODE``: ``count``, ``left``, ``sibling_slot``; without gaps.
    levels : array of ``dtypes.LEVEL``, shape (max_depth + 1,)
    """
    per_level = np.zeros((5, levels.size), np.int64)
    built_sizes, split_sizes = [], []
    for depth, level in enumerate(levels):
        first = int(level["first"])
        here = slice(first, first + int(level["count"]))
        rows = nodes["count"][here].astype(np.int64)
        searched = depth < levels.size - 1
        splits = (nodes["left"][here] != NO_NODE) & searched
        from_rows = (nodes["sibling_slot"][here] < 0) & searched
        built_sizes.append(rows[from_rows])
        split_sizes.append(rows[splits])
        per_level[:3, depth] = rows.size, splits.sum(), rows[splits].sum()
        per_level[3:, depth] = from_rows.sum(), rows[from_rows].sum()
    n_nodes, n_splits, split_rows, built, built_rows = per_level
    return TreeCounts(n_nodes, n_splits, split_rows, built, built_rows, built_sizes, split_sizes)


def partial_histograms(sizes: I64, chunk: int, groups: int) -> I64:
    """Return how many work-groups build each node's histogram.

    Parameters
    ----------
    sizes : int64 array, shape (n_nodes,)
        Rows of the nodes that are built in one launch, in order.
    chunk : int
        Rows in a task.
    groups : int
        Work-groups, each of which takes an equal run of the tasks.
    """
    end = np.cumsum(-(-sizes // chunk))
    n_tasks = int(end[-1]) if end.size else 0
    border = np.unique(n_tasks * np.arange(groups + 1, dtype=np.int64) // groups)
    begin = np.concatenate([[0], end[:-1]]) if end.size else end
    inside = np.searchsorted(border, end, "left") - np.searchsorted(border, begin, "right")
    return np.asarray(inside + 1, np.int64)
