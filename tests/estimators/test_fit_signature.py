"""What editors and scikit-learn see of ``fit``, ``predict`` and ``score``: every argument."""

import inspect

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pyopencl_gbdt import (
    GBDTClassifier,
    GBDTRandomForestClassifier,
    GBDTRandomForestRegressor,
    GBDTRanker,
    GBDTRegressor,
)
from pyopencl_gbdt.model import to_xgboost_json
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(6)
X = RNG.standard_normal((200, 4)).astype(np.float32)
Y = X[:, 0] * X[:, 1] + RNG.standard_normal(200) / 2
WEIGHT = RNG.integers(1, 4, 200)
SMALL = {"n_estimators": 3, "max_depth": 3, "device": TEST_DEVICE}
ESTIMATORS = [
    GBDTRegressor,
    GBDTClassifier,
    GBDTRanker,
    GBDTRandomForestRegressor,
    GBDTRandomForestClassifier,
]
#: XGBoost's arguments of ``fit``, but for the one that it has in the constructor too.
FIT = {
    "X", "y", "sample_weight", "base_margin", "eval_set", "verbose", "xgb_model",
    "sample_weight_eval_set", "base_margin_eval_set",
}  # fmt: skip
PREDICT = {"output_margin", "base_margin", "iteration_range"}


@pytest.fixture
def routed():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def parameters(method):
    return inspect.signature(method).parameters


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("method", ["fit", "predict", "predict_proba", "score"])
def test_every_argument_is_named(kind, method):
    if not hasattr(kind, method):
        return
    found = parameters(getattr(kind, method))
    kinds = {parameter.kind for parameter in found.values()}
    assert not kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
    own = {"fit": FIT, "predict": PREDICT, "predict_proba": PREDICT - {"output_margin"}}
    assert own.get(method, {"sample_weight"}) <= found.keys()
    if method == "fit":
        assert list(found)[:4] == ["self", "X", "y", "sample_weight"]
        assert found["eval_set"].kind is inspect.Parameter.KEYWORD_ONLY
        for name in found.keys() - {"self"}:
            assert name in inspect.getdoc(kind.fit), name


def test_a_ranker_has_xgboosts_queries():
    assert parameters(GBDTRanker.fit).keys() >= {*FIT, "group", "qid", "eval_group", "eval_qid"}


def test_weights_may_be_given_by_position():
    one = GBDTRegressor(**SMALL).fit(X, Y, WEIGHT)
    other = GBDTRegressor(**SMALL).fit(X, Y, sample_weight=WEIGHT)
    assert to_xgboost_json(one.model_.ensemble) == to_xgboost_json(other.model_.ensemble)


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("method", ["fit", "predict", "predict_proba", "score"])
def test_every_argument_can_be_asked_for(kind, method, routed):
    if not hasattr(kind, method):
        return
    names = [n for n in parameters(getattr(kind, method)) if n not in ("self", "X", "y")]
    estimator = kind(**SMALL)
    asked = getattr(estimator, f"set_{method}_request")(**dict.fromkeys(names, True))
    assert asked is estimator
    found = getattr(estimator.get_metadata_routing(), method).requests
    assert found == dict.fromkeys(names, True)


@pytest.mark.parametrize("kind", [GBDTRegressor, GBDTClassifier])
def test_arguments_reach_fit_and_predict(kind, routed):
    y = Y if kind is GBDTRegressor else Y > 0
    own = kind(**SMALL).set_fit_request(base_margin=True, sample_weight=True)
    own.set_predict_request(base_margin=True)
    whole = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), own)
    whole.fit(X, y, sample_weight=WEIGHT, base_margin=Y / 2)
    scaled = StandardScaler().fit_transform(X)
    alone = kind(**SMALL).fit(scaled, y, WEIGHT, base_margin=Y / 2)
    np.testing.assert_array_equal(
        whole.predict(X, base_margin=Y / 2), alone.predict(scaled, base_margin=Y / 2)
    )


def test_arguments_in_cross_validation(routed):
    own = GBDTRegressor(**SMALL).set_fit_request(sample_weight=True, eval_set=True)
    own.set_score_request(sample_weight=True)
    given = {"sample_weight": WEIGHT, "eval_set": [(X[:50], Y[:50])]}
    found = cross_validate(own, X, Y, params=given, cv=2, return_estimator=True)
    halves = [np.arange(100, 200), np.arange(100)]
    for one, rows, score in zip(found["estimator"], halves, found["test_score"], strict=True):
        alone = GBDTRegressor(**SMALL).fit(X[rows], Y[rows], WEIGHT[rows])
        np.testing.assert_array_equal(one.predict(X), alone.predict(X))
        others = np.setdiff1d(np.arange(200), rows)
        assert score == alone.score(X[others], Y[others], WEIGHT[others])
        assert len(one.evals_result()["validation_0"]["rmse"]) == 3


def test_early_stopping_in_a_search(routed):
    own = GBDTClassifier(**SMALL, early_stopping_rounds=2)
    own.set_fit_request(eval_set=True, sample_weight=True).set_score_request(sample_weight=True)
    search = GridSearchCV(own, {"max_depth": [1, 2]}, cv=2)
    search.fit(X, Y > 0, eval_set=[(X[:50], Y[:50] > 0)], sample_weight=WEIGHT)
    assert search.best_estimator_.best_iteration >= 0


def test_queries_in_cross_validation(routed):
    qid = np.repeat(np.arange(20), 10)
    y = np.digitize(Y, [-0.5, 0.5])
    own = GBDTRanker(**SMALL).set_fit_request(qid=True).set_score_request(qid=True)
    found = cross_validate(
        own, X, y, params={"qid": qid, "groups": qid}, cv=GroupKFold(2), error_score="raise"
    )
    assert (found["test_score"] > 0.3).all()
