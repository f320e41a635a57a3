"""Models to test with, and a naive predictor."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import xgboost

from pyopencl_gbdt.model import NO_NODE, Ensemble, Tree


def make_tree(rng: np.random.Generator, n_features: int, n_splits: int) -> Tree:
    """Return a random tree; every leaf is as likely as every other to be split next."""
    is_inner = [False]
    edge = [0]
    chosen = set()
    parent = {0: NO_NODE}
    for _ in range(n_splits):  # grow with provisional ids
        node = edge.pop(int(rng.integers(len(edge))))
        chosen.add(node)
        for _side in range(2):
            parent[len(is_inner)] = node
            edge.append(len(is_inner))
            is_inner.append(False)
    children: dict[int, list[int]] = {}
    for node, above in parent.items():
        children.setdefault(above, []).append(node)
    order = [0]
    for node in order:
        order += children.get(node, [])
    new = {node: index for index, node in enumerate(order)}
    n_nodes = len(order)
    left = np.full(n_nodes, NO_NODE, np.int32)
    right = left.copy()
    above = left.copy()
    for node in order:
        if node in chosen:
            left[new[node]], right[new[node]] = (new[child] for child in children[node])
        if node:
            above[new[node]] = new[parent[node]]
    leaf = left == NO_NODE
    floats = rng.normal(size=(5, n_nodes)).astype(np.float32)
    return Tree(
        left=left,
        right=right,
        parent=above,
        feature=np.where(leaf, 0, rng.integers(n_features, size=n_nodes)).astype(np.int32),
        threshold=np.where(leaf, np.float32(0), floats[0]),
        default_left=~leaf & (rng.random(n_nodes) < 0.5),
        split_kind=np.zeros(n_nodes, np.uint8),
        value=np.where(leaf, floats[1], np.float32(0))[:, None],
        weight=floats[2][:, None],
        gain=np.where(leaf, np.float32(0), np.abs(floats[3])),
        sum_hessian=np.abs(floats[4]) + np.float32(1),
    )


def make_ensemble(splits: list[int], **changes: Any) -> Ensemble:
    """Return an ensemble with one random tree for each number of splits."""
    rng = np.random.default_rng(7)
    facts: dict[str, Any] = {
        "trees": [make_tree(rng, 4, n_splits) for n_splits in splits],
        "objective": "reg:squarederror",
        "n_features": 4,
        "base_margin": float(np.float32(0.3)),
        "base_score": float(np.float32(0.3)),
    }
    return Ensemble(**(facts | changes))


def make_rows(n_rows: int, n_features: int = 4, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


def train(n_rounds: int = 5, **parameters: Any) -> xgboost.Booster:
    """Return an XGBoost model on noisy rows, a fifth of the entries missing."""
    X = make_rows(600, seed=1)
    filled = np.nan_to_num(X)
    target = filled[:, 0] * filled[:, 1] + np.sin(3 * filled[:, 2]) + 0.3
    target += 0.1 * np.random.default_rng(2).normal(size=600)
    if str(parameters.get("objective")).endswith("logistic"):
        target = target > 0.4
    return xgboost.train({"nthread": 1} | parameters, xgboost.DMatrix(X, target), n_rounds)


def saved(booster: xgboost.Booster) -> bytes:
    return bytes(booster.save_raw("json"))


def loaded(text: str) -> xgboost.Booster:
    return xgboost.Booster(model_file=bytearray(text.encode()))


def document(text: str | bytes) -> dict[str, Any]:
    return json.loads(text)


def walk(ensemble: Ensemble, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each row's margin, and the sum of the absolute values that make it up."""
    margins = np.full(len(X), ensemble.base_margin, np.float32)
    sizes = np.full(len(X), abs(ensemble.base_margin))
    for row, x in enumerate(X):
        for tree in ensemble.trees:
            node = 0
            while tree.left[node] != NO_NODE:
                asked = x[tree.feature[node]]
                goes_left = (
                    tree.default_left[node] if np.isnan(asked) else (asked < tree.threshold[node])
                )
                node = tree.left[node] if goes_left else tree.right[node]
            margins[row] += tree.value[node, 0]
            sizes[row] += abs(tree.value[node, 0])
    return margins, sizes


def assert_same_margins(
    ensemble: Ensemble, booster: xgboost.Booster, X: np.ndarray, start_error: float = 0.0
) -> None:
    """Compare with XGBoost's margins: within 1e-6 of the size of what is summed."""
    margins, sizes = walk(ensemble, X)
    theirs = booster.predict(
        xgboost.DMatrix(X, feature_names=ensemble.feature_names, nthread=1), output_margin=True
    )
    np.testing.assert_array_less(
        np.abs(margins - theirs), 1e-6 * np.maximum(1.0, sizes) + start_error
    )
