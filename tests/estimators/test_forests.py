"""Random forests: one round of many trees, XGBoost's defaults, and what they refuse."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone

from pyopencl_gbdt import (
    Dataset,
    GBDTClassifier,
    GBDTRandomForestClassifier,
    GBDTRandomForestRegressor,
    GBDTRegressor,
    train,
)
from pyopencl_gbdt.callbacks import EvaluationMonitor
from pyopencl_gbdt.errors import DataError, ParameterError
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(4)
X = RNG.standard_normal((400, 5)).astype(np.float32)
Y = (X[:, 0] * X[:, 1] + X[:, 2] + RNG.standard_normal(400) / 4).astype(np.float32)
KIND = np.array(["low", "middle", "top"])[np.digitize(Y, [-0.5, 0.5])]
SMALL = {"n_estimators": 12, "max_depth": 4, "device": TEST_DEVICE}
PAIRS = [
    (GBDTRandomForestRegressor, GBDTRegressor),
    (GBDTRandomForestClassifier, GBDTClassifier),
]


def regressor(**more):
    return GBDTRandomForestRegressor(**{**SMALL, **more})


def classifier(**more):
    return GBDTRandomForestClassifier(**{**SMALL, **more})


def test_one_round_of_parallel_trees():
    forest = regressor(random_state=3).fit(X, Y)
    assert (len(forest.model_.ensemble.trees), forest.model_.num_boosted_rounds()) == (12, 1)
    params = {
        "num_parallel_tree": 12, "learning_rate": 1, "subsample": 0.8, "colsample_bynode": 0.8,
        "reg_lambda": 1e-5, "max_depth": 4, "random_state": 3, "device": TEST_DEVICE,
    }  # fmt: skip
    assert train(params, Dataset(X, Y), 1).ensemble == forest.model_.ensemble


def test_a_prediction_is_the_mean_of_trees():
    forest = regressor(subsample=1.0, colsample_bynode=1.0, n_estimators=3).fit(X, Y)
    one = GBDTRegressor(
        **{**SMALL, "n_estimators": 1}, preset="xgboost", learning_rate=1, reg_lambda=1e-5
    )
    np.testing.assert_allclose(forest.predict(X), one.fit(X, Y).predict(X), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("forest", "boosted"), PAIRS)
def test_parameters(forest, boosted):
    ours, theirs = forest().get_params(), boosted().get_params()
    assert theirs.keys() - ours.keys() == {"num_parallel_tree"}
    changed = {name: value for name, value in ours.items() if value is not theirs[name]}
    assert changed == {
        "learning_rate": 1.0, "subsample": 0.8, "colsample_bynode": 0.8, "reg_lambda": 1e-5
    }  # fmt: skip
    assert list(inspect.signature(forest).parameters) == [
        name for name in inspect.signature(boosted).parameters if name != "num_parallel_tree"
    ]
    copy = clone(forest(subsample=0.5, n_estimators=7))
    assert (copy.subsample, copy.n_estimators, copy.reg_lambda) == (0.5, 7, 1e-5)
    assert "n_estimators=7" in repr(copy)


def test_defaults_are_xgboosts():
    xgboost = pytest.importorskip("xgboost")
    names = ("learning_rate", "subsample", "colsample_bynode", "reg_lambda")
    for ours, theirs in (
        (regressor(), xgboost.XGBRFRegressor()),
        (classifier(), xgboost.XGBRFClassifier()),
    ):
        for name in names:
            assert ours.get_params()[name] == theirs.get_params()[name]


def test_classes(tmp_path):
    forest = classifier(class_weight="balanced").fit(X, KIND, eval_set=[(X, KIND)])
    assert list(forest.classes_) == ["low", "middle", "top"]
    assert len(forest.model_.ensemble.trees) == 36
    assert forest.score(X, KIND) > 0.8
    np.testing.assert_allclose(forest.predict_proba(X).sum(axis=1), 1, atol=1e-6)
    assert len(forest.evals_result()["validation_0"]["mlogloss"]) == 1
    forest.save_model(tmp_path / "m.json")
    again = classifier().load_model(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict(X), forest.predict(X))


def test_boosted_forests():
    """A forest may follow another one; its random numbers go on."""
    first = regressor().fit(X, Y)
    more = regressor().fit(X, Y, xgb_model=first)
    assert more.model_.num_boosted_rounds() == 2
    assert more.model_.ensemble.trees[:12] == first.model_.ensemble.trees
    with pytest.raises(ParameterError, match="=5: the model to continue has rounds of 12"):
        regressor(n_estimators=5).fit(X, Y, xgb_model=first)
    with pytest.raises(DataError, match="y has 2 targets or classes: the model to continue has 1"):
        regressor().fit(X, np.c_[Y, Y], xgb_model=first)


@pytest.mark.parametrize("make", [regressor, classifier])
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"early_stopping_rounds": 5}, "early_stopping_rounds: expected None for GBDTRandomFor"),
        ({"callbacks": [EvaluationMonitor()]}, "callbacks: expected None .* one round"),
        ({"n_estimators": 0}, "n_estimators=0: expected 1..65536; raise n_estimators"),
        ({"n_estimators": 2**16 + 1}, "n_estimators=65537: .* lower n_estimators"),
        ({"subsample": 1.5}, r"subsample=1\.5: expected"),
    ],
)
def test_refusals(make, given, words):
    forest = make(**given)
    with pytest.raises(ParameterError, match=words):
        forest.fit(X, KIND if make is classifier else Y)
    assert not hasattr(forest, "model_")
