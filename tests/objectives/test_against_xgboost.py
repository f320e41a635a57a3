"""The losses that XGBoost has: starting score, trees, predictions, files, as XGBoost ``hist``."""

import json

import numpy as np
import pytest
import xgboost

from pyopencl_gbdt import Dataset, Model, train
from pyopencl_gbdt.model import from_xgboost_json
from pyopencl_gbdt.model.formats.xgboost_links import LINKS
from pyopencl_gbdt.objectives.distributions import DISTRIBUTIONS
from tests.conftest import TEST_DEVICE
from tests.objectives.quantile_leaves import train_xgboost
from tests.objectives.samples import (
    LIGHTGBM,
    NEEDED,
    OWN,
    WITH_PARAMETERS,
    XGBOOST,
    few_values,
    name_of,
)

THOROUGH = {
    f"test_same_{what}": lambda case, weighted: weighted and case in WITH_PARAMETERS
    for what in ("trees", "starting_score")
} | {"test_files_go_both_ways": lambda case: case in WITH_PARAMETERS[1::2]}


def both(case, seed, weighted=False, n_rounds=10, trainer=train_xgboost, **more):
    """Train ours and theirs; ``train_xgboost`` gives both the same definition of the leaves.

    Returns X, y, model, booster.
    """
    name, params = case
    X, y = few_values(name, seed)
    weight = np.random.default_rng(seed).uniform(0.5, 2, y.size).astype(np.float32)
    weight = weight if weighted else None
    params = {"objective": name, "max_depth": 4, **params, **more}
    matrix = xgboost.DMatrix(X, y, weight=weight)
    theirs = trainer({**params, "tree_method": "hist", "nthread": 1}, matrix, n_rounds)
    ours = train({**params, "device": TEST_DEVICE}, Dataset(X, y, weight), n_rounds)
    return X, y, ours, theirs


@pytest.mark.few(6)
@pytest.mark.more(16)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", XGBOOST, ids=name_of)
def test_same_trees(case, weighted):
    more, n_rounds = {}, 10
    if case[0] == "binary:hinge":
        # until margins reach 1: rows beyond weigh a quantum here, 1e-38 there, and break ties
        more, n_rounds, weighted = {"base_score": 0.0}, 3, True
    if case[0] == "reg:pseudohubererror":
        more = {"learning_rate": 0.05}  # or leaves grow to 50, and rounding errors with them
    _, _, ours, theirs = both(case, 1, weighted, n_rounds, **more)
    theirs = from_xgboost_json(bytes(theirs.save_raw("json")))
    for number, (a, b) in enumerate(zip(ours.ensemble.trees, theirs.trees, strict=True)):
        assert a.n_nodes == b.n_nodes, f"tree {number}"
        inner = ~a.is_leaf
        np.testing.assert_array_equal(a.feature[inner], b.feature[inner])
        np.testing.assert_allclose(a.value, b.value, rtol=0, atol=1e-5)
        np.testing.assert_allclose(a.sum_hessian, b.sum_hessian, rtol=1e-4)


@pytest.mark.few(6)
@pytest.mark.more(14)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", XGBOOST, ids=name_of)
def test_same_starting_score(case, weighted):
    for seed in (2, 3):
        _, _, ours, theirs = both(case, seed, weighted, 1)
        theirs = from_xgboost_json(bytes(theirs.save_raw("json")))
        near = {"rel": 2e-6, "abs": 1e-6}
        if case[0] in NEEDED:  # theirs are means of logarithms in float32
            near = {"rel": 1e-5}
        assert ours.ensemble.base_score == pytest.approx(theirs.base_score, **near)
        assert ours.ensemble.base_margin == pytest.approx(theirs.base_margin, rel=1e-5, abs=1e-5)


@pytest.mark.few(3)
@pytest.mark.parametrize("case", XGBOOST, ids=name_of)
def test_files_go_both_ways(case, tmp_path):
    name, _ = case
    X, _, ours, theirs = both(case, 4, trainer=xgboost.train)
    ours.save_model(tmp_path / "ours.json")
    booster = xgboost.Booster(model_file=tmp_path / "ours.json")
    mine = ours.predict(X, device=TEST_DEVICE)
    near = {"rtol": 3e-6, "atol": 3e-6}
    if name != "binary:hinge":
        np.testing.assert_allclose(mine, booster.predict(xgboost.DMatrix(X)), **near)
    margins = ours.predict(X, output_margin=True, device=TEST_DEVICE)
    other = booster.predict(xgboost.DMatrix(X), output_margin=True)
    np.testing.assert_allclose(margins, other, rtol=3e-6, atol=3e-6)

    def objective_of(model):
        return json.loads(bytes(model.save_raw("json")))["learner"]["objective"]

    assert objective_of(booster) == objective_of(theirs)
    theirs.save_model(tmp_path / "theirs.json")
    read = Model.load_model(tmp_path / "theirs.json")
    assert read.ensemble.objective_parameters == ours.ensemble.objective_parameters
    assert read.objective.parameters == ours.objective.parameters
    predicted = theirs.predict(xgboost.DMatrix(X))
    np.testing.assert_allclose(read.predict(X, device=TEST_DEVICE), predicted, **near)
    again = Model.load_model(tmp_path / "ours.json")
    assert again.ensemble == ours.ensemble


@pytest.mark.few(6)
@pytest.mark.parametrize("case", XGBOOST, ids=name_of)
def test_default_metric_is_xgboosts(case, tmp_path):
    name, params = case
    X, y = few_values(name, 6)
    matrix = xgboost.DMatrix(X, y)
    params = {"objective": name, "max_depth": 3, "base_score": 0.5, **params}
    data = Dataset(X, y)
    model = train({**params, "device": TEST_DEVICE}, data, 2, evals=[(data, "a")])
    if params.get("tweedie_variance_power") == 1:
        return  # XGBoost's metric is infinite there
    model.save_model(tmp_path / "ours.json")
    booster = xgboost.Booster(model_file=tmp_path / "ours.json")
    ((metric, values),) = model.history["a"].items()
    for n_rounds, value in enumerate(values, 1):
        theirs, _, expected = booster[:n_rounds].eval(matrix, "a").split("\ta-")[1].rpartition(":")
        assert metric == theirs
        if name != "binary:logitraw":  # XGBoost takes its margins for probabilities
            assert value == pytest.approx(float(expected), rel=1e-5)


@pytest.mark.parametrize("name", ["count:poisson", "reg:tweedie"])
def test_labels_of_zero_alone(name):
    X = np.arange(20, dtype=np.float32)[:, None]
    model = train({"objective": name, "device": TEST_DEVICE}, Dataset(X, np.zeros(20)), 2)
    predicted = model.predict(X, device=TEST_DEVICE)
    assert (predicted >= 0).all()
    assert (predicted < 1e-20).all()


@pytest.mark.parametrize(
    ("name", "label"),
    [("binary:logistic", 0), ("binary:logistic", 1), ("reg:logistic", 1), ("count:poisson", 0)],
)
def test_equal_labels_predict_what_xgboost_predicts(name, label):
    """Also after early stopping: 0, 1 and 0; its Poisson margins are infinite, ours are not."""
    X = np.arange(20, dtype=np.float32)[:, None]
    data = Dataset(X, np.full(20, label))
    params = {"objective": name, "device": TEST_DEVICE}
    model = train(params, data, 5, evals=[(data, "a")], early_stopping_rounds=2)
    theirs = xgboost.train({"objective": name}, xgboost.DMatrix(X, data.label), 5)
    found = model.predict(X, device=TEST_DEVICE)
    np.testing.assert_allclose(found, theirs.predict(xgboost.DMatrix(X)), rtol=0, atol=1e-8)
    np.testing.assert_allclose(found, label, rtol=0, atol=2e-6)
    assert np.isfinite(model.predict(X, device=TEST_DEVICE, output_margin=True)).all()
    assert all(np.isfinite(values).all() for values in model.history["a"].values())


def test_files_name_xgboosts_losses():
    lacks = {name for name, link in LINKS.items() if link.xgboost_name != name}
    distributions = {loss.name for loss in DISTRIBUTIONS}
    assert lacks == {*LIGHTGBM, *OWN, *distributions, "custom"}
