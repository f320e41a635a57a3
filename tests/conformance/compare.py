"""Two models of the same data, tree by tree: equal, equal up to a tie, or different."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pyopencl_gbdt.model import Tree
from pyopencl_gbdt.model.tree import CATEGORY_SPLIT

#: Leaf values, and gains of a tie relative to the sums that they are differences of.
TOLERANCE = 1e-5
EQUAL = "equal"


def compare_trees(
    ours: Sequence[Tree], theirs: Sequence[Tree], X: np.ndarray, params: dict
) -> tuple[bool, str]:
    """Return whether they are the same, and ``equal``, or what is the first difference.

    Of splits with equal gains either may be taken: rounding decides. Trees after one where that
    happened have other gradients, so nothing more is compared. Nor is it after a tree with a split
    that is not tried here, see ``_missing_alone``.

    Parameters
    ----------
    ours, theirs : sequence of Tree
    X : float32 array, shape (n_rows, n_features)
        The rows with a weight above 0.
    params : dict
        Of the training.
    """
    if len(ours) != len(theirs):
        return False, f"{len(ours)} trees, expected {len(theirs)}"
    for number, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        same, found = _compare(a, b, X, params)
        if not same and any(_missing_alone(tree, X, params) for tree in (a, b)):
            return True, f"missing values alone on a side (tree {number})"
        if found != EQUAL:
            return same, f"{found} (tree {number})"
    return True, EQUAL


def _compare(a: Tree, b: Tree, X: np.ndarray, params: dict) -> tuple[bool, str]:
    waiting = [(0, 0, np.arange(X.shape[0]))]
    while waiting:
        node, other, rows = waiting.pop()
        if a.is_leaf[node] or b.is_leaf[other]:
            if a.is_leaf[node] and b.is_leaf[other]:
                value, expected = a.value[node, 0], b.value[other, 0]
                if abs(value - expected) > TOLERANCE * max(1, abs(expected)):
                    return False, f"leaf {value} instead of {expected} at node {node}"
                continue
            gain = b.gain[other] if a.is_leaf[node] else a.gain[node]
            tie = abs(gain - params.get("gamma", 0)) <= _rounding(a, node, params)
            return tie, f"{'tie' if tie else 'other growth'} at node {node}"
        sides = [_left(tree, at, X[rows]) for tree, at in ((a, node), (b, other))]
        if a.feature[node] != b.feature[other] or (sides[0] != sides[1]).any():
            difference = abs(a.gain[node] - b.gain[other])
            tie = difference <= _rounding(a, node, params)
            return tie, f"{'tie' if tie else 'another split'} at node {node}"
        for side, children in ((sides[0], "left"), (~sides[0], "right")):
            at = (int(getattr(a, children)[node]), int(getattr(b, children)[other]))
            waiting.append((*at, rows[side]))
    return True, EQUAL


def _left(tree: Tree, node: int, X: np.ndarray) -> np.ndarray:
    """Mask the rows that go left; equal masks are equal splits, up to values nobody has."""
    x = X[:, tree.feature[node]]
    left = x < tree.threshold[node]
    if tree.split_kind[node] == CATEGORY_SPLIT:
        right = np.append(tree.right_set(node), False)
        left = ~right[np.minimum(np.nan_to_num(x), right.size - 1).astype(int)]
    return np.where(np.isnan(x), tree.default_left[node], left)


def _missing_alone(tree: Tree, X: np.ndarray, params: dict) -> bool:
    """Tell whether a split has nothing but missing values on a side where only one tries that.

    - On the left of a constrained feature. Without a constraint that is the split with them on the
      right, which is the one tried here. With one these are two, as values on the left have to be
      below those on the right, or above.
    - Beside all levels: here at splits by sets. In XGBoost at splits by one level, if no row of
      the node has that level.
    """
    signs = params.get("monotone_constraints", np.zeros(X.shape[1]))
    waiting = [(0, np.arange(X.shape[0]))]
    while waiting:
        node, rows = waiting.pop()
        if tree.is_leaf[node]:
            continue
        left = _left(tree, node, X[rows])
        missing = np.isnan(X[rows, tree.feature[node]])
        by_set = tree.split_kind[node] == CATEGORY_SPLIT
        if (signs[tree.feature[node]] or by_set) and missing[left].all():
            return True
        if by_set and missing[~left].all():
            return True
        waiting += [(int(tree.left[node]), rows[left]), (int(tree.right[node]), rows[~left])]
    return False


def _rounding(tree: Tree, node: int, params: dict) -> float:
    """Return how far rounding may move a gain: a difference of sums of G^2 / (H + lambda)."""
    heavy = float(tree.sum_hessian[node]) + float(params.get("reg_lambda", 1))
    return TOLERANCE * (float(tree.gain[node]) + float(tree.weight[node, 0]) ** 2 * heavy)
