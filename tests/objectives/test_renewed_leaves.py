"""Whole fits with renewed leaves: twins, XGBoost's leaves, quantiles that cover their share."""

import json

import numpy as np
import pytest
import xgboost

from pyopencl_gbdt import Dataset, Model, train
from pyopencl_gbdt.callbacks import reset_parameter
from pyopencl_gbdt.errors import ModelFormatError, ParameterError
from pyopencl_gbdt.model import from_xgboost_json
from pyopencl_gbdt.objectives import OBJECTIVES, get_objective
from tests.beside_twin import trained_as_twin
from tests.conftest import TEST_DEVICE
from tests.objectives.quantile_leaves import MEDIAN, QUANTILE, train_xgboost
from tests.objectives.samples import few_values
from tests.reference.predict import leaf_of
from tests.training.test_reference_train import rows

RENEWED = [name for name, objective in OBJECTIVES.items() if objective.renews]
THOROUGH = {
    "test_fits_are_the_references": lambda name, weighted, depth: depth not in (2, 8),
    "test_a_tree_is_xgboosts": lambda alpha, depth, weighted: depth == 3,
}


def check_twin(params, X, label, weight=None, **more):
    return trained_as_twin(params, X, label, weight, **more).ensemble


def test_which_losses_renew_their_leaves():
    assert sorted(RENEWED) == ["mape", MEDIAN, QUANTILE]
    one = get_objective(QUANTILE, {"quantile_alpha": 0.2})
    assert one.leaf_alpha(0) == np.float32(0.2)
    both = get_objective(QUANTILE, {"quantile_alpha": "[0.25,0.5]"})
    assert [both.leaf_alpha(k) for k in range(both.n_outputs)] == [0.25, 0.5]


@pytest.mark.more(4)
@pytest.mark.parametrize("name", RENEWED)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("depth", [1, 2, 4, 8])
def test_fits_are_the_references(name, weighted, depth):
    X, label, weight = rows(600, weighted=weighted)
    params = {"objective": name, "max_depth": depth, "n_estimators": 3, "quantile_alpha": 0.8}
    check_twin(params, X, label, weight)
    if depth < 8:
        check_twin({**params, "max_bin": 300}, X, np.round(label), weight)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", RENEWED)
def test_edges(name):
    X, label, _ = rows(80)
    params = {"objective": name, "n_estimators": 2}
    for n in (1, 2, 3):
        check_twin({**params, "max_depth": 3, "min_child_weight": 0}, X[:n], label[:n])
    stump = check_twin({**params, "gamma": 1e9}, X, label)
    assert [tree.n_nodes for tree in stump.trees] == [1, 1]
    check_twin(params, X, np.full(80, 0.1, np.float32))
    check_twin(params, X, label * np.float32(1e30))
    heavy = np.exp(np.random.default_rng(1).normal(0, 12, 80)).astype(np.float32)
    check_twin({**params, "min_child_weight": 0}, X, label, heavy)


def test_rows_without_weight_count_nowhere():
    X, label, _ = rows(300)
    weight = np.ones(300, np.float32)
    weight[::3] = 0
    params = {"objective": MEDIAN, "max_depth": 3, "device": TEST_DEVICE}
    spoilt = np.where(weight == 0, np.float32(1e6), label)
    one, other = (train(params, Dataset(X, y, weight), 3).ensemble for y in (label, spoilt))
    for a, b in zip(one.trees, other.trees, strict=True):
        np.testing.assert_array_equal(a.value, b.value)


def test_a_schedule_changes_the_rate_of_renewed_leaves():
    X, label, _ = rows(300)
    params = {"objective": MEDIAN, "max_depth": 2, "device": TEST_DEVICE, "base_score": 0.0}
    first = train({**params, "learning_rate": 1.0}, Dataset(X, label), 1).ensemble.trees[0]
    schedule = reset_parameter(learning_rate=[0.5, 0.25])
    again = train(params, Dataset(X, label), 2, callbacks=[schedule]).ensemble.trees
    np.testing.assert_array_equal(again[0].value, first.value * np.float32(0.5))
    leaf = np.array([leaf_of(again[1], x) for x in X])
    before = again[0].value[[leaf_of(again[0], x) for x in X], 0]
    for node in np.unique(leaf):
        median = np.median((label - before)[leaf == node])
        assert again[1].value[node, 0] == pytest.approx(0.25 * median, abs=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("alpha", [0.05, 0.5, 0.8])
@pytest.mark.parametrize("depth", [1, 3, 6])
def test_a_tree_is_xgboosts(alpha, depth, weighted):
    X, y = few_values(QUANTILE, 11)
    weight = np.random.default_rng(3).uniform(0.5, 2, y.size).astype(np.float32)
    weight = weight if weighted else None
    params = {"objective": QUANTILE, "quantile_alpha": alpha, "max_depth": depth}
    if alpha == 0.5:
        params = {"objective": MEDIAN, "max_depth": depth}
    matrix = xgboost.DMatrix(X, y, weight=weight)
    booster = train_xgboost(params, matrix, 1)
    theirs = from_xgboost_json(bytes(booster.save_raw("json")))
    ours = train({**params, "device": TEST_DEVICE}, Dataset(X, y, weight), 1).ensemble
    assert ours.base_score == pytest.approx(theirs.base_score, rel=2e-7, abs=1e-7)
    a, b = ours.trees[0], theirs.trees[0]
    inner = ~a.is_leaf
    np.testing.assert_array_equal(a.feature[inner], b.feature[inner])
    np.testing.assert_allclose(a.value, b.value, rtol=0, atol=1e-6)
    np.testing.assert_allclose(a.weight[inner], b.weight[inner], rtol=1e-5, atol=1e-6)


def test_files_of_other_quantiles_than_outputs_are_refused(tmp_path):
    X, y = few_values(QUANTILE, 4, 200)
    booster = xgboost.train(
        {"objective": QUANTILE, "quantile_alpha": [0.3], "max_depth": 2}, xgboost.DMatrix(X, y), 2
    )
    text = booster.save_raw("json").decode()
    assert from_xgboost_json(text).objective_parameters == {
        "quantile_alpha": float(np.float32(0.3))
    }
    with pytest.raises(ModelFormatError, match="quantile_alpha"):
        from_xgboost_json(text.replace('"[3E-1]"', '"[3E-1,5E-1]"'))
    model = train({"objective": QUANTILE, "quantile_alpha": 0.3}, Dataset(X, y), 2)
    model.save_model(tmp_path / "ours.json")
    learner = json.loads((tmp_path / "ours.json").read_text())["learner"]
    assert learner["objective"]["quantile_loss_param"] == {"quantile_alpha": "0.300000012"}
    assert Model.load_model(tmp_path / "ours.json").objective.leaf_alpha(0) == np.float32(0.3)


@pytest.mark.parametrize("alpha", [-0.1, 1.5, float("nan"), "half"])
def test_refusals(alpha):
    X, y = few_values(QUANTILE, 4, 50)
    with pytest.raises(ParameterError, match=r"quantile_alpha=.*: expected 0\.\.1"):
        train({"objective": QUANTILE, "quantile_alpha": alpha}, Dataset(X, y), 1)


@pytest.mark.parametrize("alpha", [0, 1])
def test_extreme_quantiles(alpha):
    X, label, _ = rows(200)
    params = {"objective": QUANTILE, "quantile_alpha": alpha, "n_estimators": 2, "max_depth": 2}
    model = check_twin(params, X, label)
    assert model.base_score == (label.max() if alpha else label.min())
