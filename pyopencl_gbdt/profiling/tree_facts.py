"""What finished trees tell of the bytes that kernels moved: nodes and rows, level by level."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.dtypes import NO_NODE, QUANTA, SUM
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.gradients.gradients import (
    are_computed_again,
    are_counted_ahead,
    are_quantized_ahead,
)
from pyopencl_gbdt.growth.histogram import histogram_groups
from pyopencl_gbdt.growth.split import candidates_of
from pyopencl_gbdt.lazy_dataclasses import dataclass

I64 = npt.NDArray[np.int64]
#: Bytes of a float32, and of the id of a row, an entry or a node.
FLOAT = ROW_ID = 4
#: Bytes of the quanta of a row; of the sums of gradients and Hessians of a bin, a border or a leaf.
QUANTA_PAIR, SUM_PAIR = 2 * QUANTA.itemsize, 2 * SUM.itemsize


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


def with_entries_of_roots(
    nodes: Mapping[str, npt.NDArray[Any]], n_roots: int, n_entries: int
) -> dict[str, npt.NDArray[Any]]:
    """Return the nodes with entries in place of rows in the roots; the others count entries."""
    count = np.array(nodes["count"])
    count[:n_roots] = n_entries
    return {"count": count, "left": nodes["left"], "sibling_slot": nodes["sibling_slot"]}


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


class TreeFacts:
    """What the formulas of `traffic` ask of a fit and of trees that were grown together.

    Attributes
    ----------
    roots, nodes, splits, leaves, searched, built : int
        Numbers of trees, of all nodes, of nodes that split, that do not, that were searched, and
        whose histogram was built from rows.
    n_rows, rows : int
        Rows of the data, and of all trees.
    outputs : int
        Outputs whose trees were grown together.
    mean_steps : float
        Mean number of splits on a training row's path through a tree.
    """

    def __init__(self, fit: FitParts, counts: TreeCounts) -> None:
        self.fit, self.counts, self.params = fit, counts, fit.nodes.params
        self.roots, self.nodes = int(counts.nodes[0]), int(counts.nodes.sum())
        self.splits = int(counts.splits.sum())
        self.leaves = self.nodes - self.splits
        self.searched, self.built = int(counts.nodes[:-1].sum()), int(counts.built.sum())
        self.n_rows = fit.rows.n_rows
        self.rows = self.roots * self.n_rows
        self.outputs = -(-self.roots // fit.nodes.n_parallel)
        self.mean_steps = float(counts.split_rows.sum()) / max(1, int(counts.built_rows[0]))

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.fit.features.layout.n_features

    @property
    def n_codes(self) -> int:
        """Codes of all features."""
        return self.fit.features.layout.n_codes

    @property
    def code_bytes(self) -> int:
        """Bytes of a code."""
        return self.fit.rows.codes.code_bytes

    @property
    def n_entries(self) -> int:
        """Entries of all sorted columns."""
        assert self.fit.features.columns is not None
        return self.fit.features.columns.n_entries

    @property
    def listed(self) -> int:
        """Rows of the trees that have lists and factors of their own."""
        return self.rows // self.fit.nodes.n_alike

    @property
    def margins(self) -> int:
        """Bytes of the margins of all outputs, in and out."""
        return self.outputs * self.n_rows * 2 * FLOAT

    @property
    def inputs(self) -> int:
        """Bytes of margins and labels, or of given gradients and Hessians, and of weights."""
        return self.rows * (2 + self.fit.rows.weighted) * FLOAT

    @property
    def computes_again(self) -> bool:
        """Whether quanta of the outputs are computed where leaves add them up, not stored."""
        fit = self.fit
        return bool(fit.nodes.n_sketches) and are_computed_again(fit.ways.facts, fit.rows)

    @property
    def counts_ahead(self) -> bool:
        """Whether exponents of the next round's gradients are counted where margins change."""
        return are_counted_ahead(self.fit.rows, self.fit.nodes, self.fit.ways)

    @property
    def quantizes_ahead(self) -> bool:
        """Whether the next round's quanta are written where margins change."""
        return are_quantized_ahead(self.fit.rows, self.fit.nodes, self.fit.ways)

    @property
    def path_codes(self) -> int:
        """Bytes of a code for every split on the paths of all rows."""
        return round(self.rows * self.mean_steps) * self.code_bytes

    @property
    def leaf_codes(self) -> int:
        """Bytes that tell the leaf of every row: codes, or row lists."""
        if self.fit.ways.variant("update_margins").name == "walk":
            return self.path_codes
        all_listed = self.fit.nodes.policy.moves_last_rows
        in_order = self.fit.nodes.n_levels == 1 and not all_listed  # the root's rows have no list
        listed = 0 if in_order else int(self.counts.split_rows[0]) * ROW_ID
        return listed + (0 if all_listed else int(self.counts.split_rows[-2]) * self.code_bytes)

    @property
    def moving(self) -> slice:
        """The levels whose rows move: all, or all but the last split level."""
        return slice(None) if self.fit.nodes.policy.moves_last_rows else slice(-2)

    @cached_property
    def few_candidates(self) -> npt.NDArray[np.bool_]:
        """A mask of levels where `decide` compares candidates; on others `best` does."""
        steps = range(self.counts.nodes.size - 1)
        return np.array([not candidates_of(self.fit, step).compared for step in steps], np.bool_)

    @cached_property
    def partials(self) -> list[I64]:
        """``partial_histograms`` of every level."""
        chunk = self.fit.ways.variant("histogram").params["chunk"]
        groups = histogram_groups(self.fit.rows, self.fit.features, self.fit.ways)
        return [partial_histograms(sizes, chunk, groups) for sizes in self.counts.built_sizes]

    def of_steps(self, counts: npt.NDArray[np.int64]) -> int:
        """Return the sum of steps' counts, each by the share of the features that a step needs."""
        most = self.fit.features.most_at_steps
        if not most:
            return int(counts.sum())
        shares = zip(counts.tolist(), most, strict=False)  # the last level is not searched
        return int(sum(count * n for count, n in shares)) // self.n_features

    def histograms(self, n_nodes: int) -> int:
        """Bytes of the histograms of so many nodes."""
        return n_nodes * self.n_codes * SUM_PAIR

    def row_ids(self, level_rows: I64) -> int:
        """Bytes of the row lists of all levels; a root with all rows has no list."""
        return int(level_rows[0 if self.fit.rows.lists_drawn else 1 :].sum()) * ROW_ID
