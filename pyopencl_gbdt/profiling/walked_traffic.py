"""The least bytes of leaf values from the codes of the next order; see `traffic`.

Rows take paths of other lengths by these codes; they are counted as those that the splits' own
codes take.
"""

from __future__ import annotations

from pyopencl_gbdt.dtypes import QUANTA
from pyopencl_gbdt.fit.workspace import Workspace
from pyopencl_gbdt.profiling.least_bytes import of_tree
from pyopencl_gbdt.profiling.tree_counts import TreeCounts
from pyopencl_gbdt.profiling.tree_traffic import mean_steps, outputs_of

_LEAF = _FLOAT = 4
#: Bytes of the sums of gradients and Hessians of a leaf.
_SUMS = 16


def _rows(ws: Workspace, tree: TreeCounts) -> int:
    """Rows of all trees."""
    return int(tree.nodes[0]) * ws.n_rows


@of_tree("walked_leaves.sum_leaves")
def _sum_leaves(ws: Workspace, tree: TreeCounts) -> int:
    rows = _rows(ws, tree)
    return rows * (2 * QUANTA.itemsize + _LEAF) + round(rows * mean_steps(tree)) * ws.code_bytes


@of_tree("walked_leaves.value_leaves")
def _value_leaves(ws: Workspace, tree: TreeCounts) -> int:
    leaves = int(tree.nodes.sum() - tree.splits.sum())
    return leaves * (2 * _SUMS + 4 * _FLOAT)  # sums are cleared, too; a weight and three values


@of_tree("walked_leaves.add_leaves")
def _add_leaves(ws: Workspace, tree: TreeCounts) -> int:
    return outputs_of(ws, tree) * ws.n_rows * 2 * _FLOAT + _rows(ws, tree) * _LEAF
