"""The least bytes of the kernels of ordered boosting; see `traffic`.

Row ids of entries are counted where a row's leaf is needed; where weights or factors are, they are
counted once for each entry that a model learns from.
"""

from __future__ import annotations

from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.numerics.random_numbers import n_entries, n_models, prefix_sizes
from pyopencl_gbdt.profiling.least_bytes import of_tree
from pyopencl_gbdt.profiling.tree_counts import TreeCounts
from pyopencl_gbdt.profiling.tree_traffic import outputs_of, to_leaves

_ROW_ID = _FLOAT = 4
#: Bytes of the sums of gradients and Hessians of a leaf.
_SUMS = 16


def _learnt(fit: FitParts) -> int:
    """Return how many entries models learn from."""
    return fit.rows.n_rows + fit.nodes.params.n_orders * sum(prefix_sizes(fit.rows.n_rows))


def _leaves(tree: TreeCounts) -> int:
    return int(tree.nodes.sum() - tree.splits.sum())


def _gradients(fit: FitParts, tree: TreeCounts) -> int:
    """Bytes of margins and labels, and of what multiplies gradients."""
    factors = (fit.rows.weighted + fit.nodes.params.samples_rows) * fit.rows.n_rows * _FLOAT
    return outputs_of(fit, tree) * (_learnt(fit) * 2 * _FLOAT + factors)


@of_tree("ordered_leaves.take_margins")
def _take_margins(fit: FitParts, tree: TreeCounts) -> int:
    return outputs_of(fit, tree) * fit.rows.n_rows * (_ROW_ID + 2 * _FLOAT)


@of_tree("ordered_leaves.find_leaves")
def _find_leaves(fit: FitParts, tree: TreeCounts) -> int:
    written = int(tree.nodes[0]) * fit.rows.n_rows * _ROW_ID
    if fit.features.columns is not None:
        return 2 * written  # every row has its node
    return written + to_leaves(fit, tree)


@of_tree("ordered_leaves.count_entries")
def _count_entries(fit: FitParts, tree: TreeCounts) -> int:
    by_row = fit.rows.weighted or fit.nodes.params.samples_rows
    return _gradients(fit, tree) + (outputs_of(fit, tree) * _learnt(fit) * _ROW_ID if by_row else 0)


@of_tree("ordered_leaves.sum_entries")
def _sum_entries(fit: FitParts, tree: TreeCounts) -> int:
    leaves = (_learnt(fit) + fit.rows.n_rows) * _ROW_ID
    return _gradients(fit, tree) + outputs_of(fit, tree) * leaves


@of_tree("ordered_leaves.value_leaves")
def _value_leaves(fit: FitParts, tree: TreeCounts) -> int:
    models = n_models(fit.rows.n_rows, fit.nodes.params.n_orders)
    return models * _leaves(tree) * (2 * _SUMS + _FLOAT)  # sums are cleared, too


@of_tree("ordered_leaves.set_leaves")
def _set_leaves(fit: FitParts, tree: TreeCounts) -> int:
    return _leaves(tree) * 4 * _FLOAT


@of_tree("ordered_leaves.add_entries")
def _add_entries(fit: FitParts, tree: TreeCounts) -> int:
    entries = n_entries(fit.rows.n_rows, fit.nodes.params.n_orders)
    return outputs_of(fit, tree) * (entries * (_ROW_ID + 2 * _FLOAT) + fit.rows.n_rows * _ROW_ID)
