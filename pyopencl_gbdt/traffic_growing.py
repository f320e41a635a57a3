"""The least bytes of kernels that sample rows and columns and grow trees leaf by leaf."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.dtypes import CANDIDATE, NODE
from pyopencl_gbdt.steps.sample import CLASSES
from pyopencl_gbdt.tree_counts import TreeCounts
from pyopencl_gbdt.workspace import Workspace

_ROW_ID = _FLOAT = 4


def label_and_margin(ws: Workspace) -> int:
    """Bytes of what a gradient is made of, and of its row's weight, of all trees."""
    return ws.n_trees * ws.n_rows * (2 + ws.weighted) * _FLOAT


def factors(ws: Workspace) -> int:
    """Bytes of what gradients are multiplied by, of all trees; 0 without sampling."""
    return ws.n_trees * ws.n_rows * _FLOAT if ws.params.samples_rows else 0


def _counts_classes(ws: Workspace) -> bool:
    """Tell whether rows are drawn by their gradients."""
    return ws.params.samples_rows and ws.params.sampling_method != "uniform"


def _clear_classes(ws: Workspace, tree: TreeCounts) -> int:
    return ws.n_trees * CLASSES * 4 if _counts_classes(ws) else 0


def _count_classes(ws: Workspace, tree: TreeCounts) -> int:
    return label_and_margin(ws) + 2 * _clear_classes(ws, tree) if _counts_classes(ws) else 0


def _draw(ws: Workspace, tree: TreeCounts) -> int:
    read = label_and_margin(ws) + _clear_classes(ws, tree) if _counts_classes(ws) else 0
    return factors(ws) + read


def few_levels(ws: Workspace, tree: TreeCounts) -> npt.NDArray[np.bool_]:
    """Return the levels whose candidates `decide` compares; on the others `best` does."""
    return np.array([ws.few_candidates(depth) for depth in range(tree.nodes.size - 1)], np.bool_)


def _choose_columns(ws: Workspace, tree: TreeCounts) -> int:
    n = ws.layout.n_features
    searched = int(tree.nodes[:-1].sum())
    weights = n * _FLOAT if ws.feature_weights is not None else 0
    return searched * (NODE.itemsize + -(-n // 32) * 4) + weights


def _pick(ws: Workspace, tree: TreeCounts) -> int:
    few, searched = few_levels(ws, tree), tree.nodes[:-1]
    candidates = int(searched[few].sum()) * ws.layout.n_features + int(searched[~few].sum())
    new = int(searched.sum())  # nodes in and out; their candidates, ids and gains are kept
    kept = new * (2 * NODE.itemsize + CANDIDATE.itemsize + _ROW_ID + _FLOAT)
    # of every tree, the gains of its leaves so far
    leaves = ws.n_trees * ws.n_levels * (ws.n_levels + 1) // 2
    return candidates * CANDIDATE.itemsize + kept + leaves * _FLOAT


def _decide_picked(ws: Workspace, tree: TreeCounts) -> int:
    # in, out, and its two children
    return int(tree.splits.sum()) * (4 * NODE.itemsize + CANDIDATE.itemsize)


#: Bytes of all launches of a kernel for one tree; part of ``traffic.TREE``.
GROWING: dict[str, Callable[[Workspace, TreeCounts], int]] = {
    "gradients.clear_classes": _clear_classes,
    "gradients.count_classes": _count_classes,
    "gradients.draw": _draw,
    "plan.choose_columns": _choose_columns,
    "plan.pick": _pick,
    "plan.decide_picked": _decide_picked,
}
