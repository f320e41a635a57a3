"""The least bytes of the kernels of ordered boosting; see `traffic`.

Row ids of entries are counted where a row's leaf is needed; where weights or factors are, they are
counted once for each entry that a model learns from.
"""

from __future__ import annotations

from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.numerics.row_orders import n_entries, n_models, prefix_sizes
from pyopencl_gbdt.profiling.least_bytes import of_tree
from pyopencl_gbdt.profiling.tree_counts import TreeCounts
from pyopencl_gbdt.profiling.tree_traffic import outputs_of, to_leaves

_ROW_ID = _FLOAT = 4
#: Bytes of the sums of gradients and Hessians of a leaf.
_SUMS = 16


def _learnt(ws: FitParts) -> int:
    """Return how many entries models learn from."""
    return ws.rows.n_rows + ws.nodes.params.n_orders * sum(prefix_sizes(ws.rows.n_rows))


def _leaves(tree: TreeCounts) -> int:
    return int(tree.nodes.sum() - tree.splits.sum())


def _gradients(ws: FitParts, tree: TreeCounts) -> int:
    """Bytes of margins and labels, and of what multiplies gradients."""
    factors = (ws.rows.weighted + ws.nodes.params.samples_rows) * ws.rows.n_rows * _FLOAT
    return outputs_of(ws, tree) * (_learnt(ws) * 2 * _FLOAT + factors)


@of_tree("ordered_leaves.take_margins")
def _take_margins(ws: FitParts, tree: TreeCounts) -> int:
    return outputs_of(ws, tree) * ws.rows.n_rows * (_ROW_ID + 2 * _FLOAT)


@of_tree("ordered_leaves.find_leaves")
def _find_leaves(ws: FitParts, tree: TreeCounts) -> int:
    written = int(tree.nodes[0]) * ws.rows.n_rows * _ROW_ID
    if ws.features.columns is not None:
        return 2 * written  # every row has its node
    return written + to_leaves(ws, tree)


@of_tree("ordered_leaves.count_entries")
def _count_entries(ws: FitParts, tree: TreeCounts) -> int:
    by_row = ws.rows.weighted or ws.nodes.params.samples_rows
    return _gradients(ws, tree) + (outputs_of(ws, tree) * _learnt(ws) * _ROW_ID if by_row else 0)


@of_tree("ordered_leaves.sum_entries")
def _sum_entries(ws: FitParts, tree: TreeCounts) -> int:
    leaves = (_learnt(ws) + ws.rows.n_rows) * _ROW_ID
    return _gradients(ws, tree) + outputs_of(ws, tree) * leaves


@of_tree("ordered_leaves.value_leaves")
def _value_leaves(ws: FitParts, tree: TreeCounts) -> int:
    models = n_models(ws.rows.n_rows, ws.nodes.params.n_orders)
    return models * _leaves(tree) * (2 * _SUMS + _FLOAT)  # sums are cleared, too


@of_tree("ordered_leaves.set_leaves")
def _set_leaves(ws: FitParts, tree: TreeCounts) -> int:
    return _leaves(tree) * 4 * _FLOAT


@of_tree("ordered_leaves.add_entries")
def _add_entries(ws: FitParts, tree: TreeCounts) -> int:
    entries = n_entries(ws.rows.n_rows, ws.nodes.params.n_orders)
    return outputs_of(ws, tree) * (entries * (_ROW_ID + 2 * _FLOAT) + ws.rows.n_rows * _ROW_ID)
