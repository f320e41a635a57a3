"""Same data, same parameters, XGBoost beside us: structure, exchange, weights."""

from __future__ import annotations

import numpy as np
import pytest
import xgboost

from pyopencl_gbdt import Dataset, Model, train
from pyopencl_gbdt.model import Tree, from_xgboost_json, to_xgboost_json
from tests.conformance.compare import EQUAL, compare_trees
from tests.conftest import TEST_DEVICE


def few_values(objective: str, seed: int, n_rows: int = 3000):
    """Few distinct values a feature, targets without ties, 15 % missing in half the features."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 4 + 5 * f, n_rows) for f in range(6)]).astype(np.float32)
    X[:, :3][rng.random((n_rows, 3)) < 0.15] = np.nan
    signal = np.nan_to_num(X, nan=2.5) @ rng.standard_normal(6) / 6
    if objective == "reg:squarederror":
        return X, (signal + rng.standard_normal(n_rows)).astype(np.float32)
    return X, (signal + rng.logistic(size=n_rows) > np.median(signal)).astype(np.float32)


def rows_of_leaves(tree: Tree, X: np.ndarray) -> dict[int, np.ndarray]:
    """Return the training rows in every node, by walking."""
    rows = {0: np.arange(X.shape[0])}
    for node in range(tree.n_nodes):
        if tree.is_leaf[node]:
            continue
        x = X[rows[node], tree.feature[node]]
        left = np.where(np.isnan(x), tree.default_left[node], x < tree.threshold[node])
        rows[int(tree.left[node])] = rows[node][left.astype(bool)]
        rows[int(tree.right[node])] = rows[node][~left.astype(bool)]
    return rows


@pytest.mark.parametrize("objective", ["reg:squarederror", "binary:logistic"])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"reg_lambda": 0.0, "reg_alpha": 2.0, "gamma": 1.0},
        {"max_delta_step": 0.3, "min_child_weight": 20.0},
    ],
    ids=["plain", "alpha-gamma", "delta-weight"],
)
def test_same_structure(objective, more):
    X, y = few_values(objective, seed=len(more))
    params = {"objective": objective, "max_depth": 5, "learning_rate": 0.3, **more}
    theirs = xgboost.train(
        {**params, "tree_method": "hist", "nthread": 2}, xgboost.DMatrix(X, y), 10
    )
    theirs = from_xgboost_json(bytes(theirs.save_raw("json"))).trees
    ours = train({**params, "device": TEST_DEVICE}, Dataset(X, y), 10).ensemble.trees
    for number, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        assert a.n_nodes == b.n_nodes, f"tree {number}"
        inner = ~a.is_leaf
        np.testing.assert_array_equal(a.feature[inner], b.feature[inner])
        ours_rows, theirs_rows = rows_of_leaves(a, X), rows_of_leaves(b, X)
        for node, rows in ours_rows.items():
            np.testing.assert_array_equal(rows, theirs_rows[node], f"tree {number}, node {node}")
        for node in np.flatnonzero(inner):  # a direction says something where rows are missing
            if np.isnan(X[ours_rows[int(node)], a.feature[node]]).any():
                assert a.default_left[node] == b.default_left[node]
        np.testing.assert_allclose(a.value, b.value, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "more",
    [
        {"max_depth": 6},
        {"objective": "binary:logistic", "reg_lambda": 0.0, "gamma": 3.0},
        {"objective": "binary:logistic", "reg_alpha": 2.0},
        {"objective": "binary:logistic", "max_delta_step": 0.3, "min_child_weight": 20.0},
    ],
    ids=["plain", "gamma", "alpha", "delta-weight"],
)
def test_same_structure_of_exact_search(more):
    """By the rows of nodes: XGBoost's thresholds lie half-way between the values of a node."""
    rng = np.random.default_rng(3)
    params = {"objective": "reg:squarederror", "max_depth": 4, "tree_method": "exact", **more}
    X, y = few_values(params["objective"], seed=7, n_rows=1500)
    X = (X + rng.standard_normal(X.shape)).astype(np.float32)  # all values differ
    theirs = xgboost.train({**params, "nthread": 2}, xgboost.DMatrix(X, y), 4)
    theirs = from_xgboost_json(bytes(theirs.save_raw("json"))).trees
    ours = train({**params, "device": TEST_DEVICE}, Dataset(X, y), 4).ensemble.trees
    assert compare_trees(ours, theirs, X, params) == (True, EQUAL)  # without ties


@pytest.mark.parametrize("objective", ["reg:squarederror", "binary:logistic"])
@pytest.mark.parametrize("method", ["hist", "exact"])
def test_exchange(objective, method, tmp_path):
    rng = np.random.default_rng(5)
    X, y = few_values(objective, seed=9, n_rows=1000)
    X += rng.standard_normal(X.shape).astype(np.float32)
    fresh = rng.standard_normal((300, 6)).astype(np.float32) * 8
    fresh[rng.random(fresh.shape) < 0.2] = np.nan
    params = {"objective": objective, "max_depth": 6}

    ours = train({**params, "device": TEST_DEVICE}, Dataset(X, y), 6)
    ours.save_model(tmp_path / "ours.json")
    booster = xgboost.Booster(model_file=tmp_path / "ours.json")
    margins = booster.predict(xgboost.DMatrix(fresh), output_margin=True)
    mine = ours.predict(fresh, output_margin=True, device=TEST_DEVICE)
    assert (np.abs(margins - mine) <= 1e-6 * leaf_scale(ours, fresh)).all()
    predictions = booster.predict(xgboost.DMatrix(fresh))
    np.testing.assert_allclose(ours.predict(fresh, device=TEST_DEVICE), predictions, atol=2e-6)

    booster = xgboost.train({**params, "tree_method": method}, xgboost.DMatrix(X, y), 6)
    booster.save_model(tmp_path / "theirs.json")
    read = Model.load_model(tmp_path / "theirs.json")
    margins = booster.predict(xgboost.DMatrix(fresh), output_margin=True)
    mine = read.predict(fresh, output_margin=True, device=TEST_DEVICE)
    assert (np.abs(margins - mine) <= 1e-6 * leaf_scale(read, fresh)).all()


def leaf_scale(model: Model, X: np.ndarray) -> np.ndarray:
    """Return max(1, sum of |leaf|) of every row."""
    total = np.zeros(X.shape[0])
    for tree in model.ensemble.trees:
        for node, rows in rows_of_leaves(tree, X).items():
            if tree.is_leaf[node]:
                total[rows] += abs(float(tree.value[node, 0]))
    return np.maximum(1.0, total)


@pytest.mark.parametrize("objective", ["reg:squarederror", "binary:logistic"])
def test_weight_k_is_k_rows(objective):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((800, 5)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0]) + rng.standard_normal(800)
    y = (y > 0.3 if objective == "binary:logistic" else y).astype(np.float32)
    weight = rng.integers(0, 6, 800)
    params = {"objective": objective, "max_bin": 32, "device": TEST_DEVICE}
    weighted = train(params, Dataset(X, y, weight), 8).ensemble
    order = rng.permutation(np.repeat(np.arange(800), weight))
    repeated = train(params, Dataset(X[order], y[order]), 8).ensemble
    assert weighted.base_score == repeated.base_score
    for a, b in zip(weighted.trees, repeated.trees, strict=True):
        np.testing.assert_array_equal(a.feature, b.feature)
        np.testing.assert_array_equal(a.threshold, b.threshold)
        np.testing.assert_array_equal(a.default_left, b.default_left)
        np.testing.assert_allclose(a.value, b.value, rtol=0, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_fractional_weights_train_as_well_as_xgboost(scale):
    rng = np.random.default_rng(4)
    X, y = few_values("reg:squarederror", seed=2)
    weight = (rng.random(y.size) * scale).astype(np.float32)
    params = {"max_depth": 4, "min_child_weight": 0.0, "reg_lambda": 0.0}
    ours = train({**params, "device": TEST_DEVICE}, Dataset(X, y, weight), 10)
    matrix = xgboost.DMatrix(X, y, weight=weight)
    theirs = xgboost.train({**params, "tree_method": "hist"}, matrix, 10)
    mine, other = ours.predict(X, device=TEST_DEVICE), theirs.predict(xgboost.DMatrix(X))
    error = [np.average((p - y) ** 2, weights=weight) for p in (mine, other)]
    assert error[0] < error[1] * 1.01


def test_starting_score_is_xgboosts():
    for objective in ("reg:squarederror", "binary:logistic"):
        X, y = few_values(objective, seed=1)
        booster = xgboost.train({"objective": objective}, xgboost.DMatrix(X, y), 1)
        theirs = from_xgboost_json(bytes(booster.save_raw("json")))
        ours = train({"objective": objective, "device": TEST_DEVICE}, Dataset(X, y), 1).ensemble
        assert abs(ours.base_score - theirs.base_score) < 1e-6
        assert abs(ours.base_margin - theirs.base_margin) < 1e-5


def test_one_file_out_and_in(tmp_path):
    X, y = few_values("reg:squarederror", seed=6)
    model = train({"device": TEST_DEVICE}, Dataset(X, y), 3)
    model.save_model(tmp_path / "a.json")
    Model.load_model(tmp_path / "a.json").save_model(tmp_path / "b.json")
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert to_xgboost_json(model.ensemble) == (tmp_path / "a.json").read_text()


@pytest.mark.parametrize("factor", [1e-3, 0.25, 200.0, 1e5])
def test_equal_weights_scale_sums_not_trees(factor):
    X, y = few_values("reg:squarederror", seed=2)
    params = {"max_depth": 4, "reg_lambda": 5.0 * factor, "min_child_weight": 3.0 * factor}
    weight = np.full(y.size, factor, np.float32)
    theirs = xgboost.train(
        {**params, "tree_method": "hist"}, xgboost.DMatrix(X, y, weight=weight), 3
    )
    theirs = from_xgboost_json(bytes(theirs.save_raw("json"))).trees
    ours = train({**params, "device": TEST_DEVICE}, Dataset(X, y, weight), 3).ensemble.trees
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a.feature, b.feature)
        np.testing.assert_allclose(a.value, b.value, atol=1e-5)
        np.testing.assert_allclose(a.sum_hessian, b.sum_hessian, rtol=1e-4)
        np.testing.assert_allclose(a.gain, b.gain, rtol=2e-3, atol=1e-3 * factor)
