"""The register of least bytes: every kernel of a program has one rule.

A kernel has the name of ``Program.label``: the kernel of the variant table and, if it differs,
the function of the program, such as ``histogram.reduce``. A rule says how to find its least bytes:

- ``of_tree``: from a finished tree (or several that were grown together);
- ``of_set_up``: from the data, for kernels that quantise them;
- ``whole_arrays``: from its arguments, as it reads or writes each of its arrays whole, once.

`tree_traffic`, `column_traffic`, `ordered_traffic` and `traffic` hold the rules. ``count_tree``
counts the nodes and rows on each level of a finished tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.dtypes import NO_NODE
from pyopencl_gbdt.fit.parts import FitParts

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


OfTree = Callable[[FitParts, TreeCounts], int]
OfSetUp = Callable[[FitParts, bool], int]


@dataclass(frozen=True)
class Rule:
    """How the least bytes of a kernel's launches are found.

    Attributes
    ----------
    of_tree : callable or None
        Returns the bytes for trees that were grown together.
    of_set_up : callable or None
        Returns the bytes of quantising; its second argument tells whether rows have weights.
        If both are None, the bytes are those of the kernel's arrays.
    """

    of_tree: OfTree | None = None
    of_set_up: OfSetUp | None = None

    @property
    def whole_arrays(self) -> bool:
        """Whether the kernel reads or writes each of its arrays whole, once."""
        return self.of_tree is None and self.of_set_up is None


#: The rule of every kernel, by its label.
RULES: dict[str, Rule] = {}


def register(kernel: str, rule: Rule) -> None:
    """Add a kernel's rule; raises ValueError if it has one already."""
    if kernel in RULES:
        raise ValueError(f"{kernel}: expected one rule for its least bytes, got a second one")
    RULES[kernel] = rule


def of_tree(*kernels: str) -> Callable[[OfTree], OfTree]:
    """Register a function of a fit and a tree for these kernels."""

    def add(function: OfTree) -> OfTree:
        for kernel in kernels:
            register(kernel, Rule(of_tree=function))
        return function

    return add


def of_set_up(*kernels: str) -> Callable[[OfSetUp], OfSetUp]:
    """Register a function of a fit and of whether rows have weights for these kernels."""

    def add(function: OfSetUp) -> OfSetUp:
        for kernel in kernels:
            register(kernel, Rule(of_set_up=function))
        return function

    return add


def whole_arrays(program: str, functions: Iterable[str]) -> None:
    """Register functions of a program that read or write each of their arrays whole, once."""
    for function in functions:
        register(f"{program}.{function}", Rule())
