"""The least bytes of the kernels that find the splits of symmetric trees; see `traffic`."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.dtypes import CANDIDATE, NODE, SUM, SUMS_BYTES
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.profiling.least_bytes import of_tree
from pyopencl_gbdt.profiling.tree_counts import TreeCounts

_FLOAT = 4
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
