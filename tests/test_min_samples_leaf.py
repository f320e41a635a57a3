"""Least rows of a leaf: no leaf has fewer, and the model is the twin's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.reference.train import train_reference

from .conftest import TEST_DEVICE
from .higgs import load_higgs7k

LEAST = 17
SQUARED: dict[str, object] = {"max_depth": 6}
LOSSGUIDE = {"grow_policy": "lossguide", "max_leaves": 25, "max_depth": 0}
SYMMETRIC = {"grow_policy": "symmetric", "max_depth": 5}
#: Ways to grow; each counts rows by a search of its own.
GROWTH = {
    "levels": SQUARED,
    "leaves": LOSSGUIDE,
    "symmetric": SYMMETRIC,
    "exact": {"tree_method": "exact", "max_depth": 6},
    "approx": {"tree_method": "approx", "max_depth": 6, "max_bin": 32},
    "local approx": {"tree_method": "approx", "max_depth": 5, "max_bin": 32, "proposal": "local"},
    "monotone": {"monotone_constraints": [1, -1, 0, 1, 0, 0, 0, 0, 0, 0], "max_depth": 6},
    "penalties": {"reg_alpha": 0.4, "max_delta_step": 0.5, "max_depth": 6},
    "one split": {"max_depth": 1},
}


def problem(n_rows=600, missing=0.1):
    X, y, _, _ = load_higgs7k()
    X, y = X[:n_rows, :10].copy(), y[:n_rows]
    rng = np.random.default_rng(3)
    X[rng.random(X.shape) < missing] = np.nan
    X[:, 4] = np.round(X[:, 4])
    return X, (y + 0.3 * rng.standard_normal(n_rows)).astype(np.float32)


def rows_of_leaves(model, rows, growth=""):
    """Return the rows of every leaf that has some; leaves of one value are one in symmetric trees.

    There a split that leaves a node too few rows on a side does not change the node's value.
    """
    leaves = model.predict(rows, pred_leaf=True)
    leaves = leaves.reshape(len(leaves), -1).T
    if growth == "symmetric":
        trees = model.ensemble.trees
        leaves = [tree.value[own, 0] for tree, own in zip(trees, leaves, strict=True)]
    return np.concatenate([np.unique(own, return_counts=True)[1] for own in leaves])


def ours(X, y, *, least=LEAST, **params):
    params = {"n_estimators": 4, "min_child_weight": 0, **params}
    return train({**params, "min_samples_leaf": least, "device": TEST_DEVICE}, Dataset(X, y))


@pytest.mark.parametrize("growth", GROWTH)
def test_no_leaf_has_fewer_rows_and_the_twin_has_the_same(growth):
    X, y = problem()
    params = {"n_estimators": 4, "min_child_weight": 0, "min_samples_leaf": LEAST, **GROWTH[growth]}
    model = train({**params, "device": TEST_DEVICE}, Dataset(X, y))
    free = ours(X, y, least=0, **GROWTH[growth])
    assert rows_of_leaves(model, X, growth).min() >= LEAST
    assert rows_of_leaves(free, X, growth).min() < LEAST or growth == "one split"
    twin = train_reference(Parameters.from_dict(params), X, y)
    assert to_xgboost_json(model.ensemble) == to_xgboost_json(twin)


@pytest.mark.parametrize("page", ["tiled", "sorted"])
def test_sparse_rows(page):
    X, y = problem(missing=0.5)
    rows = csr_matrix(np.where(np.isnan(X), 0, X + 10))
    model = train(
        {"n_estimators": 3, "min_samples_leaf": LEAST, "page": page, "device": TEST_DEVICE},
        Dataset(rows, y),
    )
    assert rows_of_leaves(model, rows).min() >= LEAST


def test_sets_of_categories():
    X, y = problem(missing=0)
    X[:, 0] = np.random.default_rng(1).integers(0, 40, len(X))
    y = (y + (X[:, 0] % 3)).astype(np.float32)
    params = {"n_estimators": 4, "cat_method": "sets", "device": TEST_DEVICE}
    data = Dataset(X, y, categorical_features=[0])
    model = train({**params, "min_samples_leaf": LEAST}, data)
    assert any(tree.split_kind.any() for tree in model.ensemble.trees)
    assert rows_of_leaves(model, X).min() >= LEAST


@pytest.mark.parametrize("least", [0, 1])
def test_none_and_one_are_no_limit(least):
    X, y = problem()
    plain = train({"n_estimators": 3, "device": TEST_DEVICE}, Dataset(X, y))
    model = ours(X, y, least=least, n_estimators=3, min_child_weight=1)
    assert to_xgboost_json(model.ensemble) == to_xgboost_json(plain.ensemble)


def test_half_of_the_rows_is_the_most_that_splits():
    X, y = problem(200, missing=0)
    for least, depth in ((100, 1), (101, 0)):
        model = ours(X, y, least=least, n_estimators=1, max_depth=3)
        assert model.ensemble.trees[0].depth.max() == depth


def test_which_losses_have_unit_hessians():
    found = {
        name: get_objective(name, Parameters.from_dict({"objective": name})).has_unit_hessians
        for name in ("reg:squarederror", "reg:absoluteerror", "reg:quantileerror", "huber",
                     "binary:logistic", "binary:hinge", "reg:gamma", "rank:ndcg")
    }  # fmt: skip
    assert list(found.values()) == [True] * 4 + [False] * 4


def test_a_least_number_that_float32_lacks_is_rounded_up():
    params = Parameters.from_dict({"min_samples_leaf": 2**24 + 1})
    assert params.with_least_hessian().min_child_weight == 2**24 + 2
