"""Weights that are moved towards those of parents: the model is the twin's."""

from __future__ import annotations

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.beside_twin import trained_as_twin
from tests.conftest import TEST_DEVICE
from tests.training.test_min_samples_leaf import LOSSGUIDE, problem

GROWTH = {
    "levels": {"max_depth": 6},
    "leaves": LOSSGUIDE,
    "few leaves": {"max_depth": 6, "max_leaves": 9},
    "penalties": {"reg_alpha": 0.4, "max_delta_step": 0.5, "gamma": 0.05},
    "one split": {"max_depth": 1},
    "logistic": {"objective": "binary:logistic", "path_smooth": 0.3},
    "classes": {"objective": "multi:softprob", "num_class": 3, "max_depth": 3},
    "medians": {"objective": "reg:absoluteerror"},
    "drawn borders": {"extra_trees": True},
    "noise": {"random_strength": 0.5},
    "samples": {"subsample": 0.6, "colsample_bynode": 0.5, "num_parallel_tree": 2},
    "dropped": {"booster": "dart", "rate_drop": 0.5},
    "hardly": {"path_smooth": 1e-12, "reg_lambda": 0},
    "surely": {"path_smooth": 1e12, "max_depth": 3},
}


def given(**params):
    return {"n_estimators": 2, "max_depth": 5, "min_child_weight": 0, "path_smooth": 8.0, **params}


def trained(X, y, weight=None, **params):
    return train({**given(**params), "device": TEST_DEVICE}, Dataset(X, y, weight))


@pytest.mark.few(2)
@pytest.mark.more(3)
@pytest.mark.parametrize("growth", GROWTH)
def test_models_are_the_twins(growth):
    X, y = problem()
    params = GROWTH[growth]
    if "objective" in params and growth != "medians":
        y = np.digitize(y, [0.5, 1.1][: params.get("num_class", 2) - 1]).astype(np.float32)
    model = trained_as_twin(given(**params), X, y)
    plain = trained(X, y, **{**params, "path_smooth": 0, "min_samples_leaf": 2})
    assert to_xgboost_json(plain.ensemble) != to_xgboost_json(model.ensemble)


@pytest.mark.parametrize("scale", [1e-30, 1e12])
def test_labels_of_any_size_and_weights(scale):
    X, y = problem(300)
    weight = np.random.default_rng(2).choice([0, 0.5, 3, 100], y.size).astype(np.float32)
    y[:2] = 1e4  # their gradients take high words
    y = (y * scale).astype(np.float32)
    trained_as_twin(given(), X, y, weight)


def test_weights_follow_from_the_rows_and_the_parents_weight():
    X, y = problem(missing=0)
    y = np.round(y * 8) / 8
    model = trained(X, y, n_estimators=1, learning_rate=1.0, base_score=0, reg_lambda=0)
    tree = model.ensemble.trees[0]
    leaves = model.predict(X, pred_leaf=True).ravel().astype(int)
    rows, sums = np.zeros(tree.n_nodes), np.zeros(tree.n_nodes)
    np.add.at(rows, leaves, 1)
    np.add.at(sums, leaves, y)
    for node in range(tree.n_nodes - 1, 0, -1):
        rows[tree.parent[node]] += rows[node]
        sums[tree.parent[node]] += sums[node]
    assert tree.n_nodes > 20
    np.testing.assert_allclose(tree.weight[0, 0], sums[0] / rows[0], rtol=1e-3)
    above = tree.weight[tree.parent[1:], 0]
    wanted = (sums[1:] + 8 * above) / (rows[1:] + 8)
    np.testing.assert_allclose(tree.weight[1:, 0], wanted, rtol=1e-3, atol=1e-4)


def test_next_to_0_is_none():
    X, y = problem()
    none = trained(X, y, path_smooth=0, min_samples_leaf=5)
    almost = trained(X, y, path_smooth=1e-15, min_samples_leaf=5)
    assert to_xgboost_json(almost.ensemble) == to_xgboost_json(none.ensemble)


def test_two_rows_are_the_least():
    asked = Parameters.from_dict({"path_smooth": 1})
    assert asked.min_samples_leaf == 2
    assert asked.with_least_hessian(unit_hessians=True) == asked
    with pytest.raises(ParameterError, match="min_samples_leaf=1: expected 2 or more"):
        Parameters.from_dict({"path_smooth": 1, "min_samples_leaf": 1})
