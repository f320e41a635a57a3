"""Prediction intervals: split-conformal scores of rows that were not trained on."""

import json
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from pyopencl_gbdt import GBDTClassifier, GBDTRegressor, Model, train
from pyopencl_gbdt.errors import ArgumentError, DataError, ModelFormatError, ParameterError
from pyopencl_gbdt.estimators import intervals
from pyopencl_gbdt.estimators.intervals import SCORES, scores_of
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(12)
X = RNG.standard_normal((900, 3)).astype(np.float32)
Y = (X[:, 0] * X[:, 1] + RNG.standard_normal(900) * (0.2 + np.abs(X[:, 2]))).astype(np.float32)
SMALL = {"preset": "xgboost", "n_estimators": 20, "max_depth": 3, "device": TEST_DEVICE}
PAIR = {"objective": "reg:quantileerror", "quantile_alpha": [0.05, 0.95]}


def covered(ends, labels):
    return float(((ends[:, 0] <= labels) & (labels <= ends[:, 1])).mean())


@pytest.fixture(scope="module")
def fitted():
    return GBDTRegressor(**SMALL).fit(X[:300], Y[:300], eval_set=[(X[300:600], Y[300:600])])


def test_the_rank_is_that_of_the_paper():
    scores = np.arange(1, 10, dtype=np.float32)
    for coverage, wanted in ((0.9, 9), (0.5, 5), (0.1, 1), (0.11, 2), (0.89, 9)):
        assert scores[intervals._rank(coverage, 9) - 1] == wanted
    assert intervals._rank(0.95, 999) == 950


def test_an_interval_is_as_wide_as_the_score_of_that_rank(fitted):
    found = fitted.predict(X[300:600])
    scores = np.sort(np.abs(Y[300:600] - found))
    ends = fitted.predict_interval(X[:5], coverage=0.8)
    assert (ends.shape, ends.dtype) == ((5, 2), np.float32)
    width = scores[int(np.ceil(301 * 0.8)) - 1]
    plain = fitted.predict(X[:5])
    np.testing.assert_array_equal(ends, np.column_stack([plain - width, plain + width]))
    assert covered(fitted.predict_interval(X[300:600]), Y[300:600]) >= 0.9


@pytest.mark.parametrize("more", [{}, PAIR], ids=["mean", "quantiles"])
def test_rows_that_are_held_out_will_do(more):
    fitted = GBDTRegressor(
        **{**SMALL, **more}, early_stopping=True, validation_fraction=200, refit=True
    ).fit(X[:600], Y[:600])
    ends = fitted.predict_interval(X[600:])
    assert (ends[:, 0] <= ends[:, 1]).all()
    assert 0.84 < covered(ends, Y[600:]) < 0.96
    widths = np.unique(np.round(ends[:, 1] - ends[:, 0], 3))
    assert (widths.size > 5) == bool(more)


def test_quantiles_are_widened_on_both_sides_by_one_score():
    fitted = GBDTRegressor(**SMALL, **PAIR).fit(X[:300], Y[:300]).calibrate(X[300:600], Y[300:600])
    pairs = fitted.predict(X[300:600]).astype(np.float32)
    scores = np.sort(np.maximum(pairs[:, 0] - Y[300:600], Y[300:600] - pairs[:, 1]))
    np.testing.assert_array_equal(scores_of(pairs, Y[300:600]), scores)
    width = scores[270]  # ceil(301 * 0.9)
    pairs = fitted.predict(X[600:]).astype(np.float32)
    wanted = np.column_stack([pairs[:, 0] - width, pairs[:, 1] + width])
    np.testing.assert_array_equal(fitted.predict_interval(X[600:]), np.sort(wanted, axis=1))


def test_calibrate_replaces_what_fit_has_seen(fitted):
    own = pickle.loads(pickle.dumps(fitted))
    before = own.predict_interval(X[:1])
    own.calibrate(X[600:], 10 * Y[600:])
    after = own.predict_interval(X[:1])
    assert after[0, 1] - after[0, 0] > 3 * (before[0, 1] - before[0, 0])
    own.fit(X[:300], Y[:300])
    with pytest.raises(ParameterError, match="no rows to calibrate by"):
        own.predict_interval(X)


def test_a_few_of_many_rows_are_kept(monkeypatch):
    monkeypatch.setattr(intervals, "MOST_SCORES", 50)
    fitted = GBDTRegressor(**SMALL).fit(X[:300], Y[:300]).calibrate(X[300:], Y[300:])
    assert fitted._scores_of_rows.size == 50


@pytest.mark.parametrize("name", ["m.gbdt", "m.json", "m.ubj"])
def test_a_file_keeps_the_scores(fitted, tmp_path, name):
    fitted.save_model(tmp_path / name)
    read = GBDTRegressor(device=TEST_DEVICE).load_model(tmp_path / name)
    np.testing.assert_array_equal(read.predict_interval(X), fitted.predict_interval(X))
    assert SCORES not in read.model_.ensemble.attributes
    assert SCORES in Model.load_model(tmp_path / name).ensemble.attributes
    assert SCORES not in fitted.model_.ensemble.attributes
    with pytest.raises(ParameterError, match="no rows to calibrate by"):
        clone(read).fit(X[:50], Y[:50]).set_params(preset="xgboost").fit(
            X[:50], Y[:50]
        ).predict_interval(X)


@pytest.mark.parametrize("text", ["[2, 1]", "[]", "3", "{", '["a"]', "[[1]]", "[NaN, 1]"])
def test_wrong_scores_in_a_file(fitted, tmp_path, text):
    fitted.save_model(tmp_path / "m.json")
    tree = json.loads((tmp_path / "m.json").read_text(encoding="utf-8"))
    tree["learner"]["attributes"][SCORES] = text
    (tmp_path / "m.json").write_text(json.dumps(tree), encoding="utf-8")
    with pytest.raises(ModelFormatError, match="expected a JSON list of ascending numbers"):
        GBDTRegressor().load_model(tmp_path / "m.json")


@pytest.mark.parametrize("coverage", [0, 1, -0.5, 2, True, "0.9", None, float("nan")])
def test_wrong_coverages(fitted, coverage):
    with pytest.raises(ParameterError, match="expected a number above 0 and below 1"):
        fitted.predict_interval(X, coverage)


def test_what_has_no_intervals(fitted):
    with pytest.raises(ParameterError, match=r"coverage=0\.999: expected at most 0\.9967 with 300"):
        fitted.predict_interval(X, 0.999)
    two = GBDTRegressor(**SMALL).fit(X[:50], np.column_stack([Y, Y])[:50])
    with pytest.raises(ParameterError, match="predict_interval: the model has 2 targets: expected"):
        two.predict_interval(X)
    chances = GBDTRegressor(objective="binary:logistic", **SMALL).fit(X[:50], Y[:50] > 0)
    with pytest.raises(ParameterError, match="calibrate: objective='binary:logistic': expected a"):
        chances.calibrate(X, Y > 0)
    with pytest.raises(DataError, match="X has 2 features"):
        fitted.calibrate(X[:, :2], Y)
    assert not hasattr(GBDTClassifier, "predict_interval")


def test_a_refit_that_is_interrupted_leaves_the_intervals(monkeypatch):
    model = GBDTRegressor(**SMALL, early_stopping=True, validation_fraction=100, refit=True)
    before = model.fit(X[:300], Y[:300]).predict_interval(X[:5])
    calls = []

    def second_fails(*args, **given):
        calls.append(given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return train(*args, **given)

    monkeypatch.setattr("pyopencl_gbdt.estimators.trainings.train", second_fails)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:300], 100 * Y[:300])
    assert len(calls) == 2
    np.testing.assert_array_equal(model.predict_interval(X[:5]), before)


def test_alpha_is_answered_by_coverage(fitted):
    with pytest.raises(ArgumentError, match=r"alpha=0\.1: expected coverage, .* coverage=0\.9"):
        fitted.predict_interval(X, alpha=0.1)
