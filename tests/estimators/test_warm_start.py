"""``warm_start``: a fit that adds rounds to the former one, byte for byte as one fit."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from pyopencl_gbdt import (
    GBDTClassifier,
    GBDTRanker,
    GBDTRegressor,
)
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.model import to_xgboost_json
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(5)
X = RNG.standard_normal((300, 4)).astype(np.float32)
Y = X[:, 0] * X[:, 1] + RNG.standard_normal(300) / 2
KIND = np.array(["low", "middle", "top"])[np.digitize(Y, [-0.5, 0.5])]
LABELS = (X[:, :3] > 0).astype(int)
SMALL = {"preset": "xgboost", "max_depth": 3, "device": TEST_DEVICE}


def text_of(estimator):
    return to_xgboost_json(estimator.model_.ensemble)


CASES = [
    (GBDTRegressor, {}, Y, {}),
    (GBDTRegressor, {"subsample": 0.6, "random_state": 3}, Y, {"base_margin": Y / 2}),
    (GBDTRegressor, {"objective": "reg:absoluteerror"}, np.c_[Y, -Y], {}),
    (GBDTClassifier, {"colsample_bynode": 0.5}, KIND, {"sample_weight": np.arange(300)}),
    (GBDTClassifier, {}, KIND == "low", {}),
    (GBDTClassifier, {}, LABELS, {}),
    (GBDTClassifier, {}, np.full(300, "one"), {}),
    (GBDTRanker, {}, np.digitize(Y, [-0.5, 0.5]), {"group": [100, 200]}),
]


@pytest.mark.parametrize(("kind", "given", "y", "fit"), CASES, ids=lambda one: str(one)[:30])
def test_the_missing_rounds_are_added(kind, given, y, fit):
    whole = kind(n_estimators=9, **SMALL, **given).fit(X, y, **fit)
    steps = kind(n_estimators=3, warm_start=True, **SMALL, **given)
    for n_rounds in (3, 4, 9):
        found = steps.set_params(n_estimators=n_rounds).fit(X, y, **fit)
        assert found is steps
        assert steps.model_.num_boosted_rounds() == n_rounds
    assert text_of(steps) == text_of(whole)
    np.testing.assert_array_equal(steps.predict(X), whole.predict(X))


def test_as_many_estimators_as_before_add_nothing():
    steps = GBDTRegressor(n_estimators=3, warm_start=True, **SMALL).fit(X, Y)
    before = text_of(steps)
    assert text_of(steps.fit(X, Y + 1)) == before
    sets = {"eval_set": [(X[200:], Y[200:])]}
    own = X[:200], Y[:200]
    stopped = GBDTRegressor(n_estimators=40, early_stopping_rounds=3, **SMALL).fit(*own, **sets)
    n_rounds, log = stopped.model_.num_boosted_rounds(), stopped.evals_result()
    stopped.set_params(n_estimators=n_rounds, warm_start=True).fit(*own, **sets)
    assert stopped.best_iteration == n_rounds - 4 < 36
    assert stopped.evals_result() == log


def test_without_it_a_fit_begins_anew():
    plain = GBDTRegressor(n_estimators=3, **SMALL)
    assert text_of(plain.fit(X, Y).fit(X, Y)) == text_of(clone(plain).fit(X, Y))
    assert text_of(clone(plain.set_params(warm_start=True)).fit(X, Y)) == text_of(plain)


def test_metrics_of_all_rounds():
    sets = {"eval_set": [(X, Y), (X[:50], Y[:50])]}
    whole = GBDTRegressor(n_estimators=6, eval_metric=["mae", "rmse"], **SMALL).fit(X, Y, **sets)
    steps = clone(whole).set_params(n_estimators=2, warm_start=True).fit(X, Y, **sets)
    steps.set_params(n_estimators=6).fit(X, Y, **sets)
    assert steps.evals_result() == whole.evals_result()
    steps.set_params(n_estimators=8).fit(X, Y, eval_set=sets["eval_set"][:1])
    assert [len(m["rmse"]) for m in steps.evals_result().values()] == [2]


def test_early_stopping_goes_on_from_the_last_round():
    sets = {"eval_set": [(X[200:], Y[200:])]}
    steps = GBDTRegressor(n_estimators=40, early_stopping_rounds=3, warm_start=True, **SMALL)
    steps.fit(X[:200], Y[:200], **sets)
    best = steps.best_iteration
    assert steps.model_.num_boosted_rounds() == best + 4 < 40
    steps.fit(X[:200], Y[:200], **sets)
    scores = steps.evals_result()["validation_0"]["rmse"]
    assert steps.best_iteration > best
    assert scores[steps.best_iteration] == steps.best_score


@pytest.mark.parametrize("source", [np.random.RandomState, np.random.default_rng])
def test_a_generator_is_asked_for_one_seed(source):
    given = {"subsample": 0.5, **SMALL}
    whole = GBDTRegressor(n_estimators=6, random_state=source(1), **given).fit(X, Y)
    steps = GBDTRegressor(n_estimators=2, random_state=source(1), warm_start=True, **given)
    steps = pickle.loads(pickle.dumps(steps.fit(X, Y))).set_params(n_estimators=6).fit(X, Y)
    assert text_of(steps) == text_of(whole)


def test_a_model_that_was_read(tmp_path):
    whole = GBDTClassifier(n_estimators=5, **SMALL).fit(X, KIND)
    GBDTClassifier(n_estimators=2, **SMALL).fit(X, KIND).save_model(tmp_path / "m.json")
    steps = GBDTClassifier(n_estimators=5, warm_start=True, **SMALL)
    steps.load_model(tmp_path / "m.json").fit(X, KIND)
    assert text_of(steps) == text_of(whole)


def test_refusals():
    steps = GBDTRegressor(n_estimators=4, warm_start=True, **SMALL)
    with pytest.raises(ParameterError, match="xgb_model: expected None with warm_start=True"):
        steps.fit(X, Y, xgb_model=GBDTRegressor(**SMALL))
    before = text_of(steps.fit(X, Y))
    with pytest.raises(ParameterError, match="n_estimators=3: expected 4 or more, the rounds of"):
        steps.set_params(n_estimators=3).fit(X, Y)
    steps.set_params(n_estimators=6)
    with pytest.raises(DataError, match="one to continue has 4 features, the training data 3"):
        steps.fit(X[:, :3], Y)
    with pytest.raises(ParameterError, match="the model to continue was trained for reg:squared"):
        steps.set_params(objective="reg:gamma").fit(X, np.exp(Y))
    with pytest.raises(DataError, match="the model to continue has 1"):
        steps.set_params(objective=None).fit(X, np.c_[Y, Y])
    assert text_of(steps) == before
    named = GBDTRegressor(n_estimators=4, warm_start=True, **SMALL)
    named.fit(pd.DataFrame(X, columns=list("abcd")), Y).set_params(n_estimators=5)
    with pytest.raises(DataError, match="has 'a' as column 0, counted from 0: expected 'b'"):
        named.fit(pd.DataFrame(X, columns=list("bacd")), Y)


def test_other_classes_are_refused():
    steps = GBDTClassifier(n_estimators=2, warm_start=True, **SMALL)
    steps.fit(X, pd.Series(KIND, dtype="category")).set_params(n_estimators=4)
    with pytest.raises(DataError, match="the model to continue has the classes"):
        steps.fit(X, pd.Series(np.char.upper(KIND), dtype="category"))
    with pytest.raises(DataError, match="the model to continue has the classes"):
        steps.fit(X, LABELS)
    assert steps.classes_.tolist() == ["low", "middle", "top"]
