"""One border of a feature, drawn at random, may split a node: the model is the twin's."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.model import to_xgboost_json
from tests.beside_twin import trained_as_twin
from tests.conftest import TEST_DEVICE
from tests.reference.border_draws import border_draws, drawn_place
from tests.training.test_min_samples_leaf import GROWTH, problem

SYMMETRIC = GROWTH["symmetric"]
#: Ways to grow that draw borders.
DRAWN = {
    **{name: GROWTH[name] for name in ("levels", "leaves", "symmetric", "monotone", "one split")},
    "penalties": GROWTH["penalties"],
    "clipped": {"max_delta_step": 0.5, "max_depth": 4},
    "symmetric, monotone": {**SYMMETRIC, "monotone_constraints": [1, -1, 0, 1]},
    "sampled": {"colsample_bynode": 0.5, "subsample": 0.7, "num_parallel_tree": 2, "max_depth": 5},
    "counted": {"min_samples_leaf": 17, "objective": "binary:logistic"},
    "classes": {"objective": "multi:softprob", "num_class": 3, **SYMMETRIC},
}


def both(params, X, y, **columns):
    """Return the device's model, after comparing it with the twin's."""
    own = {"n_estimators": 3, "min_child_weight": 0, "extra_trees": True, **params}
    return trained_as_twin(own, X, y, **columns)


@pytest.mark.few(2)
@pytest.mark.more(3)
@pytest.mark.parametrize("growth", DRAWN)
def test_models_are_the_twins(growth):
    X, y = problem()
    if "objective" in DRAWN[growth]:
        y = np.digitize(y, [0.5, 1.1][: DRAWN[growth].get("num_class", 2) - 1]).astype(np.float32)
    params = DRAWN[growth]
    model = both(params, X, y)
    again = {"n_estimators": 3, "min_child_weight": 0, **params, "device": TEST_DEVICE}
    assert to_xgboost_json(train(again, Dataset(X, y)).ensemble) != to_xgboost_json(model.ensemble)


@pytest.mark.few(2)
@pytest.mark.more(1)
@pytest.mark.parametrize("growth", ["levels", "leaves", "symmetric"])
@pytest.mark.parametrize("threshold", [64, 5])
def test_sets_of_categories(growth, threshold):
    """Of the borders that would be searched between levels in order, one is drawn."""
    X, y = problem(missing=0)
    rng = np.random.default_rng(1)
    X[:, 0], X[:, 1] = rng.integers(0, 40, len(X)), rng.integers(0, 3, len(X))
    y = (y + (X[:, 0] % 3) + X[:, 1]).astype(np.float32)
    params = {"cat_method": "sets", "max_cat_threshold": threshold, **GROWTH[growth]}
    model = both(params, X, y, categorical_features=[0, 1])
    assert any(tree.split_kind.any() for tree in model.ensemble.trees)


def test_a_feature_of_one_bin_splits_off_missing_values():
    X = np.ones((200, 1), np.float32)
    X[::3] = np.nan
    model = both({"max_depth": 1}, X, np.isnan(X[:, 0]).astype(np.float32))
    assert all(tree.n_nodes == 3 for tree in model.ensemble.trees)
    assert train(
        {"extra_trees": True, "n_estimators": 1, "device": TEST_DEVICE},
        Dataset(np.ones((20, 1)), np.arange(20)),
    ).ensemble.trees[0].n_nodes == 1  # fmt: skip


def test_draws_of_nodes_features_and_trees_are_apart():
    """All 31 nodes, 8 features and 6 trees of a seed have numbers of their own, spread evenly."""
    drawn = np.array([
        [border_draws(3, (number, tree), path, 8) for path in range(1, 32)]
        for number in range(3) for tree in range(2)
    ])  # fmt: skip
    assert np.unique(drawn).size == drawn.size
    counts = np.bincount(drawn_place(drawn, 8).ravel(), minlength=8)
    assert counts.size == 8
    assert ((counts - drawn.size / 8) ** 2).sum() / (drawn.size / 8) < 24.3  # chi-square, p 0.001


def tenths(thresholds):
    """Return how many thresholds lie in each tenth of 0 .. 1."""
    return np.bincount((np.array(thresholds) * 10).astype(int), minlength=10)


def test_borders_are_drawn_as_lightgbm_draws_them():
    """Thresholds of 600 stumps on a uniform feature are uniform in both libraries."""
    rng = np.random.default_rng(0)
    X, n = rng.random((1000, 1)).astype(np.float32), 600
    y = X[:, 0]
    own = {"extra_trees": True, "max_depth": 1, "learning_rate": 1e-6, "device": TEST_DEVICE}
    model = train({**own, "n_estimators": n, "min_child_weight": 0}, Dataset(X, y))
    ours = tenths([tree.threshold[0] for tree in model.ensemble.trees if tree.n_nodes > 1])
    assert ours.sum() == n
    assert ((ours - n / 10) ** 2).sum() / (n / 10) < 27.9  # chi-square, 9 degrees, p 0.001
    lightgbm = pytest.importorskip("lightgbm")
    given = {"objective": "regression", "extra_trees": True, "num_leaves": 2, "verbose": -1,
             "learning_rate": 1e-6, "min_data_in_leaf": 1, "max_bin": 256}  # fmt: skip
    theirs = lightgbm.train(given, lightgbm.Dataset(X, y, params={"min_data_in_bin": 1}), n)
    roots = [tree["tree_structure"] for tree in theirs.dump_model()["tree_info"]]
    found = tenths([root["threshold"] for root in roots if "threshold" in root])
    both_ = np.maximum(ours + found, 1)
    assert ((ours - found) ** 2 / both_).sum() < 27.9, json.dumps([ours.tolist(), found.tolist()])


def test_drawn_splits_gain_less_on_the_training_rows():
    X, y = problem()
    own = {"n_estimators": 20, "device": TEST_DEVICE}
    drawn, free = (
        train({**own, "extra_trees": extra}, Dataset(X, y)).predict(X) for extra in (True, False)
    )
    assert np.mean((drawn - y) ** 2) > np.mean((free - y) ** 2)
