"""The least bytes of the kernels that split by sets of categories; see `traffic`.

Trees do not tell which levels a node has, nor which splits are by sets: entries of levels in order,
and the sets of single splits, are not counted.
"""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.dtypes import CANDIDATE, NODE, SUM
from pyopencl_gbdt.fit.workspace import Workspace
from pyopencl_gbdt.profiling.least_bytes import of_tree
from pyopencl_gbdt.profiling.tree_counts import TreeCounts

#: Of a feature in a node: levels in order, and sums.
_FACTS = 6 * SUM.itemsize


def _searched(tree: TreeCounts) -> int:
    return int(tree.nodes[:-1].sum())


@of_tree("category_split.order_levels")
def _order_levels(ws: Workspace, tree: TreeCounts) -> int:
    assert ws.layout.categorical is not None
    codes = np.diff(ws.layout.feature_offset)[ws.layout.categorical]
    ordered = int(tree.nodes[0]) if ws.policy.fills_levels else _searched(tree)  # once a tree
    return ordered * (int(codes.sum()) * 2 * SUM.itemsize + codes.size * _FACTS)


@of_tree("category_split.find_sets")
def _find_sets(ws: Workspace, tree: TreeCounts) -> int:
    assert ws.layout.categorical is not None
    each = _FACTS + NODE.itemsize + CANDIDATE.itemsize
    return _searched(tree) * int(ws.layout.categorical.sum()) * each


@of_tree("category_sets.write_sets")
def _write_sets(ws: Workspace, tree: TreeCounts) -> int:
    return int(tree.splits.sum()) * NODE.itemsize


@of_tree("category_sets.finish_sets")
def _finish_sets(ws: Workspace, tree: TreeCounts) -> int:
    nodes = int(tree.nodes.sum())
    kept = 2 * (nodes // 2 + 1) * ws.set_words * 4  # read and written
    return nodes * NODE.itemsize + kept
