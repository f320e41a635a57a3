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


def _codes(ws: FitParts) -> tuple[int, int, int]:
    """Return the codes of numbers, those of categories, and the cells of borders between levels."""
    categorical = ws.features.layout.categorical
    if categorical is None:
        return ws.features.layout.n_codes, 0, 0
    each = np.diff(ws.features.layout.feature_offset).astype(np.int64)
    cells = ws.arena["border_flags"].shape[1]
    return int(each[~categorical].sum()), int(each[categorical].sum()), int(cells)


def _borders(ws: FitParts) -> int:
    numbers, _, cells = _codes(ws)
    return numbers + cells


@of_tree("symmetric.add_up")
def _add_up(ws: FitParts, tree: TreeCounts) -> int:
    return 2 * _searched(tree) * _codes(ws)[0] * _CELL


@of_tree("symmetric_sets.open_borders")
def _open_borders(ws: FitParts, tree: TreeCounts) -> int:
    _, levels, cells = _codes(ws)
    return int(tree.nodes[0]) * (levels * _CELL + cells * _FLOAT)


@of_tree("symmetric_sets.add_up_sets")
def _add_up_sets(ws: FitParts, tree: TreeCounts) -> int:
    _, levels, cells = _codes(ws)
    built = int(tree.built[:-1].sum())
    others = _searched(tree) - built  # parent minus sibling, in place
    return (built * (levels + cells) + 2 * others * cells) * _CELL


@of_tree("symmetric_sets.write_level_sets")
def _write_level_sets(ws: FitParts, tree: TreeCounts) -> int:
    return int(tree.splits.sum()) * NODE.itemsize


@of_tree("symmetric.find_roughly")
def _find_roughly(ws: FitParts, tree: TreeCounts) -> int:
    written = _levels(tree) * (_borders(ws) + ws.features.layout.n_features) * _FLOAT
    return _searched(tree) * _borders(ws) * _CELL + written


@of_tree("symmetric.find")
def _find(ws: FitParts, tree: TreeCounts) -> int:
    n_features = ws.features.layout.n_features
    each = (_borders(ws) + n_features) * _FLOAT + n_features * CANDIDATE.itemsize
    return _levels(tree) * each + _searched(tree) * _CELL  # of one border


@of_tree("symmetric.share")
def _share(ws: FitParts, tree: TreeCounts) -> int:
    candidates = _levels(tree) * ws.features.layout.n_features + _searched(tree)
    nodes = _searched(tree) * (NODE.itemsize + SUMS_BYTES + _CELL)
    return candidates * CANDIDATE.itemsize + nodes
