"""The least bytes of symmetric trees, vector leaves and ordered boosting; see `traffic`.

Row ids of entries are counted where a row's leaf is needed; where weights or factors are, they are
counted once for each entry that a model learns from.
"""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.dtypes import BOUNDS, CANDIDATE, NODE, QUANTA, SUM, SUMS_BYTES
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.numerics.random_numbers import n_entries, n_models, prefix_sizes
from pyopencl_gbdt.profiling.least_bytes import TreeCounts, of_tree
from pyopencl_gbdt.profiling.tree_traffic import mean_steps, outputs_of, to_leaves

_ROW_ID = _FLOAT = 4
#: Sums of gradients and Hessians up to a border.
_CELL = 2 * SUM.itemsize


def _searched(tree: TreeCounts) -> int:
    return int(tree.nodes[:-1].sum())


def _levels(tree: TreeCounts) -> int:
    """Return the searched levels of all trees that were grown together."""
    nodes = tree.nodes[:-1]
    return int((-(-nodes // (1 << np.arange(nodes.size)))).sum())


def _codes(fit: FitParts) -> tuple[int, int, int]:
    """Return the codes of numbers, those of categories, and the cells of borders between levels."""
    categorical = fit.features.layout.categorical
    if categorical is None:
        return fit.features.layout.n_codes, 0, 0
    each = np.diff(fit.features.layout.feature_offset).astype(np.int64)
    cells = fit.arena["border_flags"].shape[1]
    return int(each[~categorical].sum()), int(each[categorical].sum()), int(cells)


def _borders(fit: FitParts) -> int:
    numbers, _, cells = _codes(fit)
    return numbers + cells


@of_tree("symmetric.add_up")
def _add_up(fit: FitParts, tree: TreeCounts) -> int:
    return 2 * _searched(tree) * _codes(fit)[0] * _CELL


@of_tree("vector_split.add_up")
def _add_up_outputs(fit: FitParts, tree: TreeCounts) -> int:
    return 2 * _searched(tree) * fit.features.layout.n_codes * _CELL


@of_tree("vector_split.find")
def _find_of_outputs(fit: FitParts, tree: TreeCounts) -> int:
    places = _searched(tree) // fit.nodes.n_outputs
    candidates = places * fit.features.layout.n_features * CANDIDATE.itemsize
    return _searched(tree) * (fit.features.layout.n_codes * _CELL + SUMS_BYTES) + candidates


@of_tree("vector_split.share")
def _share_of_outputs(fit: FitParts, tree: TreeCounts) -> int:
    places = _searched(tree) // fit.nodes.n_outputs
    candidates = places * fit.features.layout.n_features + _searched(tree)
    return candidates * CANDIDATE.itemsize + _searched(tree) * (NODE.itemsize + SUMS_BYTES + _CELL)


@of_tree("gradients.sketch")
def _sketch(fit: FitParts, tree: TreeCounts) -> int:
    numbers = 2 * fit.nodes.n_outputs + fit.nodes.n_sketches + 1  # ..., and a Hessian
    return fit.rows.n_rows * numbers * _FLOAT


@of_tree("sketched_leaves.expand")
def _expand(fit: FitParts, tree: TreeCounts) -> int:
    n_nodes = int(tree.nodes.sum())
    written = n_nodes * (NODE.itemsize + SUMS_BYTES + BOUNDS.itemsize)
    return written + n_nodes // fit.nodes.n_outputs * fit.nodes.n_sketches * NODE.itemsize


def _places(fit: FitParts) -> int:
    """Return the bytes of the places of all rows, in trees of one output."""
    return fit.nodes.n_parallel * fit.rows.n_rows * _ROW_ID


@of_tree("sketched_leaves.find_places")
def _find_places(fit: FitParts, tree: TreeCounts) -> int:
    steps = fit.nodes.n_parallel * fit.rows.n_rows * mean_steps(tree)
    return _places(fit) + round(steps) * fit.rows.codes.code_bytes


@of_tree("sketched_leaves.sum_places")
def _sum_places(fit: FitParts, tree: TreeCounts) -> int:
    return _places(fit) + int(tree.nodes[0]) * fit.rows.n_rows * 2 * QUANTA.itemsize


@of_tree("sketched_leaves.value_places")
def _value_places(fit: FitParts, tree: TreeCounts) -> int:
    n_nodes, n_splits = int(tree.nodes.sum()), int(tree.splits.sum())
    leaves = (n_nodes - n_splits) * (2 * SUMS_BYTES + 4 * _FLOAT)  # sums are cleared, too
    return leaves + n_nodes * (SUMS_BYTES + _FLOAT) + n_splits * _FLOAT


@of_tree("sketched_leaves.add_leaves")
def _add_places(fit: FitParts, tree: TreeCounts) -> int:
    return _places(fit) + outputs_of(fit, tree) * fit.rows.n_rows * 2 * _FLOAT


@of_tree("symmetric_sets.open_borders")
def _open_borders(fit: FitParts, tree: TreeCounts) -> int:
    _, levels, cells = _codes(fit)
    return int(tree.nodes[0]) * (levels * _CELL + cells * _FLOAT)


@of_tree("symmetric_sets.add_up_sets")
def _add_up_sets(fit: FitParts, tree: TreeCounts) -> int:
    _, levels, cells = _codes(fit)
    built = int(tree.built[:-1].sum())
    others = _searched(tree) - built  # parent minus sibling, in place
    return (built * (levels + cells) + 2 * others * cells) * _CELL


@of_tree("symmetric_sets.write_level_sets")
def _write_level_sets(fit: FitParts, tree: TreeCounts) -> int:
    return int(tree.splits.sum()) * NODE.itemsize


@of_tree("symmetric.find_roughly")
def _find_roughly(fit: FitParts, tree: TreeCounts) -> int:
    written = _levels(tree) * (_borders(fit) + fit.features.layout.n_features) * _FLOAT
    return _searched(tree) * _borders(fit) * _CELL + written


@of_tree("symmetric.find")
def _find(fit: FitParts, tree: TreeCounts) -> int:
    n_features = fit.features.layout.n_features
    each = (_borders(fit) + n_features) * _FLOAT + n_features * CANDIDATE.itemsize
    return _levels(tree) * each + _searched(tree) * _CELL  # of one border


@of_tree("symmetric.share")
def _share(fit: FitParts, tree: TreeCounts) -> int:
    candidates = _levels(tree) * fit.features.layout.n_features + _searched(tree)
    nodes = _searched(tree) * (NODE.itemsize + SUMS_BYTES + _CELL)
    return candidates * CANDIDATE.itemsize + nodes


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


@of_tree("ordered_leaves.find_leaves", "newton_leaves.find_leaves")
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
