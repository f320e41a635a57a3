"""XGBoost's trees for losses whose leaves are quantiles, from any version of XGBoost.

Up to 3.3, XGBoost grows such a tree on the signs of the residuals and then replaces its leaf values
by quantiles of residuals; so does this library. From 3.4 on, its gradients and Hessians are those
of a smooth loss, and the leaf values stay. ``train_xgboost`` gives a newer XGBoost the signs as a
custom loss, and computes the quantiles with NumPy.
"""

from __future__ import annotations

import json

import numpy as np
import xgboost

from tests.xgboost_versions import SMOOTHS

MEDIAN, QUANTILE = "reg:absoluteerror", "reg:quantileerror"


def train_xgboost(params: dict, matrix: xgboost.DMatrix, n_rounds: int) -> xgboost.Booster:
    """Train any loss; leaves of ``MEDIAN`` and ``QUANTILE`` are quantiles in every version.

    Of sampled rows, XGBoost up to 3.3 takes the quantile; from 3.4 on it is that of all rows here.
    """
    params = {"tree_method": "hist", "nthread": 1, **params}
    if SMOOTHS and params.get("objective") in (MEDIAN, QUANTILE):
        return _train_on_signs(params, matrix, n_rounds)
    return xgboost.train(params, matrix, n_rounds)


def _train_on_signs(params: dict, matrix: xgboost.DMatrix, n_rounds: int) -> xgboost.Booster:
    objective = params.pop("objective")
    alpha = np.float32(params.pop("quantile_alpha", 0.5))
    label = matrix.get_label()
    weight = matrix.get_weight() if matrix.get_weight().size else None
    params.setdefault("base_score", float(quantile(label, weight, alpha)))
    n_trees = params.get("num_parallel_tree", 1)
    rate = params.get("learning_rate", params.get("eta", 0.3)) / n_trees
    hessian = np.ones_like(label) if weight is None else weight

    def gradients(margin, _):
        if objective == MEDIAN:
            return np.sign(margin - label) * hessian, hessian
        return np.where(margin >= label, 1 - alpha, -alpha) * hessian, hessian

    booster, margin = None, np.full_like(label, params["base_score"])
    for _ in range(n_rounds):
        booster = xgboost.train(params, matrix, 1, obj=gradients, xgb_model=booster)
        document = json.loads(bytes(booster.save_raw("json")))
        trees = document["learner"]["gradient_booster"]["model"]["trees"][-n_trees:]
        leaves = booster.predict(matrix, pred_leaf=True).reshape(label.size, -1)[:, -n_trees:]
        for tree, leaf in zip(trees, leaves.T.astype(int), strict=True):
            for node in np.unique(leaf):
                rows = leaf == node
                value = quantile((label - margin)[rows], None if weight is None else weight[rows],
                                 alpha)  # fmt: skip
                tree["split_conditions"][node] = float(rate * value)
        booster = xgboost.Booster(model_file=bytearray(json.dumps(document).encode()))
        margin = booster.predict(matrix, output_margin=True)
    return booster


def quantile(values: np.ndarray, weight: np.ndarray | None, alpha: float) -> np.floating:
    """Interpolate at ``alpha * (n + 1)``; with weights, take the first value that reaches alpha."""
    if weight is None:
        return np.quantile(values, float(alpha), method="weibull")
    values, weight = values[weight > 0], weight[weight > 0]
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(weight[order], dtype=np.float64)
    rank = np.searchsorted(sums, np.float32(alpha) * np.float32(sums[-1]))
    return values[order[min(rank, values.size - 1)]]
