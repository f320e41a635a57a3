"""The least bytes of the kernels that find the splits of symmetric trees; see `traffic`."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.dtypes import CANDIDATE, NODE, SUM
from pyopencl_gbdt.fit.workspace import Workspace
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


@of_tree("symmetric.add_up")
def _add_up(ws: Workspace, tree: TreeCounts) -> int:
    return 2 * _searched(tree) * ws.layout.n_codes * _CELL


@of_tree("symmetric.find_roughly")
def _find_roughly(ws: Workspace, tree: TreeCounts) -> int:
    written = _levels(tree) * (ws.layout.n_codes + ws.layout.n_features) * _FLOAT
    return _searched(tree) * ws.layout.n_codes * _CELL + written


@of_tree("symmetric.find")
def _find(ws: Workspace, tree: TreeCounts) -> int:
    n_codes, n_features = ws.layout.n_codes, ws.layout.n_features
    each = (n_codes + n_features) * _FLOAT + n_features * CANDIDATE.itemsize
    return _levels(tree) * each + _searched(tree) * _CELL  # of one border


@of_tree("symmetric.share")
def _share(ws: Workspace, tree: TreeCounts) -> int:
    candidates = _levels(tree) * ws.layout.n_features + _searched(tree)
    return candidates * CANDIDATE.itemsize + _searched(tree) * (NODE.itemsize + _CELL)
