"""Linear leaves: the model is the twin's, and its functions solve the leaves' equations."""

from __future__ import annotations

import numpy as np
import pytest

import pyopencl_gbdt as gbdt
from pyopencl_gbdt.callbacks import TrainingCheckPoint
from pyopencl_gbdt.model.leaf_kinds import LINEAR
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.parameters.table import MOST_TERMS
from tests.beside_twin import trained_as_twin
from tests.callbacks.test_checkpoint import Crash
from tests.conftest import TEST_DEVICE
from tests.reference.gradients import choose_scale, quantize
from tests.reference.linear_leaves import fitted

RNG = np.random.default_rng(8)
X = RNG.normal(size=(700, 6)).astype(np.float32)
X[:, 4] = np.exp(3 * X[:, 4])
X[:, 5] = 2000 + np.round(X[:, 5])
FILLED = X.copy()
X[RNG.random(X.shape) < 0.05] = np.nan
Y = (3 * FILLED[:, 0] + FILLED[:, 1] * FILLED[:, 2] + 0.1 * RNG.normal(size=700)).astype(np.float32)
WEIGHTS = RNG.choice([0, 0.5, 1, 3], 700).astype(np.float32)
OUTLIERS = np.where(np.arange(700) < 3, 1e6, np.abs(Y)).astype(np.float32)
CLASSES = np.digitize(Y, [-1, 1, 3]).astype(np.float32)
LOGISTIC = {"objective": "binary:logistic"}
PARAMS = {"linear_tree": True, "max_depth": 4, "n_estimators": 4, "max_bin": 32, "verbosity": 0}
#: Parameters, labels and weights.
KINDS = {
    "squares": ({}, Y, None),
    "ridge": ({"linear_lambda": 5.0}, Y, None),
    "weights": ({"linear_lambda": 0.01}, Y, WEIGHTS),
    "two classes": (LOGISTIC, (Y > 0).astype(np.float32), None),
    "four classes": ({"objective": "multi:softprob", "num_class": 4}, CLASSES, WEIGHTS),
    "counts": ({"objective": "count:poisson"}, np.round(np.abs(Y)), None),
    "high words": ({"objective": "reg:pseudohubererror", "huber_slope": 1e5}, OUTLIERS, None),
    "targets": ({"max_depth": 3}, np.stack([Y, 1e3 * Y[::-1]], 1), None),
    "leaves": ({"grow_policy": "lossguide", "max_leaves": 13, "max_depth": 0}, Y, None),
    "few leaves of a level": ({"max_leaves": 6}, Y, None),
    "symmetric": ({"grow_policy": "symmetric"}, Y, None),
    "a deep tree": ({"max_depth": 0, "min_child_weight": 0.0}, Y, None),
    "a forest": ({"num_parallel_tree": 2, "subsample": 0.5, "colsample_bynode": 0.5}, Y, None),
    "a sample": ({"subsample": 0.4, **LOGISTIC}, (Y > 0).astype(np.float32), None),
    "goss": ({"sampling_method": "goss", "learning_rate": 0.9}, Y, None),
    "least rows": ({"min_samples_leaf": 30, **LOGISTIC}, (Y > 0).astype(np.float32), None),
    "tiles": ({"page": "tiled"}, Y, None),
    "penalties": ({"reg_alpha": 2.0, "max_delta_step": 0.5, "gamma": 1.0}, Y, None),
}


@pytest.mark.few(2)
@pytest.mark.more(5)
@pytest.mark.parametrize("kind", KINDS)
def test_the_twin_has_the_same_model(kind):
    own, y, weight = KINDS[kind]
    model = trained_as_twin({**PARAMS, **own}, X, y, weight)
    first, *others = (tree.linear for tree in model.ensemble.trees)
    assert first is None
    assert any(terms is not None for terms in others)


@pytest.mark.few(1)
@pytest.mark.parametrize("policy", ["depthwise", "symmetric"])
def test_features_that_are_split_by_sets_have_no_terms(policy):
    rows = X.copy()
    rows[:, 1] = RNG.integers(0, 7, 700)
    y = (Y + (rows[:, 1] % 3)).astype(np.float32)
    params = {**PARAMS, "cat_method": "sets", "grow_policy": policy}
    model = trained_as_twin(params, rows, y, categorical_features=[1])
    terms = [tree.linear for tree in model.ensemble.trees if tree.linear is not None]
    assert terms
    assert not any(1 in own.features for own in terms)
    assert any(1 in tree.feature[tree.split_kind > 0] for tree in model.ensemble.trees)


def test_margins_of_training_and_of_other_rows_are_those_of_predict():
    """Training walks by codes, evaluation by values, and pieces of rows in batches alike."""
    params = {**PARAMS, "objective": "multi:softprob", "num_class": 4, "device": TEST_DEVICE}
    data, others = gbdt.Dataset(X, CLASSES), gbdt.Dataset(X[::-1].copy(), CLASSES[::-1].copy())
    batches = gbdt.Dataset.from_batches([X[:300], X[300:]], CLASSES)
    evals = [(data, "own"), (others, "others"), (batches, "batches")]
    model = gbdt.train(params, data, evals=evals)
    found = [model.history[name]["mlogloss"][-1] for _, name in evals]
    p = model.predict(X, device=TEST_DEVICE)[np.arange(700), CLASSES.astype(int)]
    assert found[0] == found[1] == found[2]
    assert abs(found[0] + np.log(p).mean()) < 1e-5


def solution(x, g, h, ridge=0.0):
    """Return coefficients and intercept in float64."""
    ones = np.column_stack([x.astype(float), np.ones(len(x))])
    matrix = ones.T @ (ones * h[:, None])
    matrix[np.arange(x.shape[1]), np.arange(x.shape[1])] += ridge
    return -np.linalg.solve(matrix, ones.T @ g)


def fit_of(x, g, h, ridge=0.0):
    params = Parameters.from_dict({"linear_lambda": ridge, "learning_rate": 1.0})
    scale = choose_scale(g, h, None, 0, 0, factors=None, counting=(0, 0))
    quanta = quantize(g, h, None, scale, None)
    features = tuple(range(x.shape[1]))
    return fitted(features, x, *quanta.T, int(quanta[:, 1].sum()), scale, params)


@pytest.mark.parametrize("ridge", [0.0, 0.3, 1e9])
@pytest.mark.parametrize("sizes", [[1], [1e-6, 1], [1e12, 1e-12, 1, 30], [1] * 16])
def test_functions_solve_the_equations(sizes, ridge):
    rng = np.random.default_rng(len(sizes))
    x = (rng.normal(size=(400, len(sizes))) * sizes).astype(np.float32)
    g, h = rng.normal(size=400).astype(np.float32), rng.uniform(0.1, 1, 400).astype(np.float32)
    terms = fit_of(x, g, h, ridge)
    found = np.zeros(len(sizes))
    found[list(terms.features)] = terms.coefficients
    wanted = solution(x, g, h, ridge)
    part = wanted[:-1] * x.std(axis=0)  # what a feature tells of rows; nearly nothing is left out
    error = np.abs(found * x.std(axis=0) - part)
    assert (error < 1e-3 * np.abs(part) + 1e-6).all()
    assert (found != 0)[np.abs(part) > 1e-5].all()
    assert abs(terms.intercept - wanted[-1]) < 1e-4


def test_features_that_others_explain_are_left_out():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 4)).astype(np.float32)
    x[:, 1], x[:, 3] = 7, 3 - 2 * x[:, 0]
    g, h = (x[:, 0] - 0.5 * x[:, 2]).astype(np.float32), np.ones(300, np.float32)
    terms = fit_of(x, g, h)
    assert terms.features == (0, 2)
    np.testing.assert_allclose(terms.coefficients, [-1, 0.5], atol=1e-4)
    assert fit_of(np.full_like(x, 3), g, h).features == ()


def test_a_leaf_of_few_rows_is_a_number():
    x, one = np.float32([[1, 2], [2, 5], [3, 4]]), np.ones(3, np.float32)
    g = np.float32([1, 5, 2])
    assert fit_of(x, g, one).features == (0, 1)
    assert fit_of(x[:2], g[:2], one[:2]).features == ()
    x[0, 1] = np.nan
    assert fit_of(x, g, one).features == ()


def test_special_values_leave_finite_functions():
    rng = np.random.default_rng(3)
    special = np.float32([0, -0.0, 1e-45, -1e-38, 3e38, -3e38, 1e-30, 1, np.nan])
    rows = rng.choice(special, (500, 4)).astype(np.float32)
    y = rng.normal(size=500).astype(np.float32)
    trained_as_twin({**PARAMS, "learning_rate": 4.0}, rows, y)


@pytest.mark.thorough
def test_of_a_long_path_the_nearest_features_count():
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(1 << 9, 40)).astype(np.float32)
    y = np.cumprod(rows > -2, axis=1).sum(axis=1).astype(np.float32)
    model = trained_as_twin({**PARAMS, "max_depth": 0, "n_estimators": 2}, rows, y)
    assert model.ensemble.trees[1].depth.max() > MOST_TERMS
    assert model.ensemble.trees[1].linear.sizes.max() == MOST_TERMS


def test_a_model_is_continued_by_linear_leaves_and_by_numbers(tmp_path):
    data, device = gbdt.Dataset(X, Y), {"device": TEST_DEVICE}
    whole = gbdt.train({**PARAMS, **device}, data)
    first = gbdt.train({**PARAMS, **device, "n_estimators": 2}, data)
    first.save_model(tmp_path / "first.gbdt")
    for before in (first, tmp_path / "first.gbdt"):
        both = gbdt.train({**PARAMS, **device, "n_estimators": 2}, data, model=before)
        assert both.ensemble == whole.ensemble
    plain = {**PARAMS, **device, "linear_tree": False, "n_estimators": 1}
    numbers = gbdt.train(plain, data, model=first).ensemble
    assert [tree.linear is None for tree in numbers.trees] == [True, False, True]
    after = gbdt.train({**PARAMS, **device, "n_estimators": 1}, data, model=gbdt.train(plain, data))
    assert after.ensemble.leaves is LINEAR


def test_training_resumes_from_a_checkpoint(tmp_path):
    data, params = gbdt.Dataset(X, Y), {**PARAMS, "device": TEST_DEVICE}
    whole = gbdt.train(params, data)
    with pytest.raises(KeyboardInterrupt):
        gbdt.train(params, data, callbacks=[TrainingCheckPoint(tmp_path, interval=2), Crash(2)])
    again = TrainingCheckPoint(tmp_path, interval=2)
    assert gbdt.train(params, data, callbacks=[again]).ensemble == whole.ensemble


def error(found, y):
    return float(np.sqrt(np.mean((found - y) ** 2)))


@pytest.mark.thorough
def test_errors_on_new_rows_are_lightgbms():
    """The mean of three data sets is within 5 %."""
    ours, plain, problems = [], [], []
    own = {"linear_tree": True, "linear_lambda": 1, "learning_rate": 0.1, "max_leaves": 15,
           "max_depth": 0, "grow_policy": "lossguide", "min_samples_leaf": 20, "reg_lambda": 0,
           "min_child_weight": 0, "n_estimators": 60, "device": TEST_DEVICE}  # fmt: skip
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-1, 1, (3000, 6)).astype(np.float32)
        y = np.where(X[:, 0] > 0, 3 * X[:, 1], X[:, 2]) + np.sin(3 * X[:, 3]) + X[:, 4] * X[:, 5]
        y = (y + rng.normal(size=3000) / 5).astype(np.float32)
        data = gbdt.Dataset(X[:2000], y[:2000])
        ours.append(error(gbdt.train(own, data).predict(X[2000:]), y[2000:]))
        numbers = gbdt.train({**own, "linear_tree": False}, data)
        plain.append(error(numbers.predict(X[2000:]), y[2000:]))
        problems.append((X, y))
    assert np.mean(ours) < 0.95 * np.mean(plain)
    lightgbm = pytest.importorskip("lightgbm", reason="the comparison needs lightgbm")
    given = {"objective": "regression", "linear_tree": True, "linear_lambda": 1, "num_leaves": 15,
             "verbose": -1, "num_threads": 1}  # fmt: skip
    theirs = []
    for X, y in problems:
        data = lightgbm.Dataset(X[:2000].astype(np.float64), y[:2000])
        model = lightgbm.train(given, data, 60)
        theirs.append(error(model.predict(X[2000:].astype(np.float64)), y[2000:]))
    assert abs(np.mean(ours) / np.mean(theirs) - 1) < 0.05, (ours, theirs)
