"""Symmetric trees beside XGBoost, which has none: each level is a vector-leaf tree of depth 1.

Such a tree has an output for each leaf so far, and a row has gradients for its own leaf alone. So
the gain, which XGBoost sums over outputs, is the sum over a level's nodes.
"""

import json

import numpy as np
import pytest

pytest.importorskip("xgboost")

import xgboost

from pyopencl_gbdt import train
from pyopencl_gbdt.model.tables import tables_of
from tests.conformance.run import ROWS
from tests.conformance.samples import draw
from tests.conformance.table import AXES, Case
from tests.conftest import TEST_DEVICE

#: All combinations are ``thorough``, see tests/conftest.py.
ONCE_EACH = True
DEPTH, ROUNDS, RATE, LAMBDA = 4, 2, 0.3, 1.0
PARAMS = {
    "grow_policy": "symmetric", "max_depth": DEPTH, "min_child_weight": 0, "learning_rate": RATE,
    "reg_lambda": LAMBDA, "device": TEST_DEVICE,
}  # fmt: skip


def probability(margin):
    return 1 / (1 + np.exp(-margin))


#: Base score, and gradient and Hessian of a loss, whose margin begins at 0.
LOSSES = {
    "reg:squarederror": (0.0, lambda m, y: (m - y, np.ones_like(m))),
    "binary:logistic": (
        0.5, lambda m, y: (probability(m) - y, probability(m) * (1 - probability(m))),
    ),
}  # fmt: skip


def goes_left(X, feature, threshold, default_left):
    x = X[:, feature]
    return np.where(np.isnan(x), default_left, x < threshold)


def best_split(X, gradient, hessian, leaf, n_leaves):
    """Mask the rows that XGBoost sends to the left at the best split of a level."""
    given = np.zeros((2, len(X), n_leaves))
    given[0, np.arange(len(X)), leaf], given[1, np.arange(len(X)), leaf] = gradient, hessian
    params = {
        "max_depth": 1, "multi_strategy": "multi_output_tree", "num_target": n_leaves,
        "tree_method": "hist", "base_score": 0.0, "min_child_weight": 0, "reg_lambda": LAMBDA,
        "nthread": 1,
    }  # fmt: skip
    data = xgboost.DMatrix(X, np.zeros((len(X), n_leaves)), nthread=1)
    booster = xgboost.train(params, data, 1, obj=lambda *_: tuple(given))
    model = json.loads(booster.save_raw("json"))["learner"]["gradient_booster"]["model"]
    (tree,) = model["trees"]
    place = (tree[name][0] for name in ("split_indices", "split_conditions", "default_left"))
    return goes_left(X, *place)


@pytest.mark.parametrize("weights", ["equal", "whole"])
@pytest.mark.parametrize("missing", ["none", "some"])
@pytest.mark.parametrize("loss", LOSSES)
def test_levels_are_those_of_vector_leaves(loss, missing, weights):
    chosen = {"loss": loss, "missing": missing, "weights": weights, "growth": "symmetric"}
    case = Case(tuple(
        next(value for value in values if value.name == chosen.get(axis, values[0].name))
        for axis, values in AXES.items()
    ))  # fmt: skip
    rows, _ = draw(case, 0, ROWS, 0, few=True)
    base_score, derivatives = LOSSES[loss]
    model = train({**PARAMS, "objective": loss, "base_score": base_score}, rows.ours(), ROUNDS)
    X, weight = rows.X, np.ones(ROWS) if rows.weight is None else rows.weight
    margin = np.zeros(ROWS)
    for table in tables_of(model.ensemble.trees):
        assert table.depth == DEPTH
        gradient, hessian = (part * weight for part in derivatives(margin, rows.label))
        leaf = np.zeros(ROWS, int)
        for level in range(DEPTH):
            left = best_split(X, gradient, hessian, leaf, 1 << level)
            ours = goes_left(
                X, table.feature[level], table.threshold[level], table.default_left[level]
            )
            np.testing.assert_array_equal(ours[weight > 0], left[weight > 0])
            leaf = 2 * leaf + ~ours
        sums = [np.bincount(leaf, part, 1 << DEPTH) for part in (gradient, hessian)]
        margin -= RATE * (sums[0] / (sums[1] + LAMBDA))[leaf]
    found = model.predict(X, output_margin=True, device=TEST_DEVICE)
    np.testing.assert_allclose(found, margin, rtol=1e-4, atol=1e-5)
