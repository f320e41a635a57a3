"""Values that XGBoost takes: learning rate 0, no limit of depth, several scores, equal metrics."""

import json

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, GBDTClassifier, GBDTRegressor, cv, train
from pyopencl_gbdt.callbacks import LearningRateScheduler
from pyopencl_gbdt.errors import MemoryPlanError
from pyopencl_gbdt.model import from_xgboost_json, to_xgboost_json
from tests.beside_twin import trained_as_twin
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 4)).astype(np.float32)
Y = (X[:, 0] + X[:, 1] / 2).astype(np.float32)
TWO = np.column_stack([Y, -Y])
CLASSES = np.digitize(Y, [-0.5, 0.5]).astype(np.float32)
DATA = Dataset(X, Y)
SMALL = {"device": TEST_DEVICE, "n_estimators": 2}
GOSS = {"sampling_method": "goss", "top_rate": 0.3}
GROWTH = [
    {},
    {"objective": "reg:absoluteerror"},
    {"grow_policy": "lossguide", "max_leaves": 5},
    {"num_parallel_tree": 2, "subsample": 0.5},
    GOSS,
]


def trained_as_its_twin(params, label=Y):
    return trained_as_twin({**SMALL, **params}, X, label).ensemble


@pytest.mark.few(3)
@pytest.mark.parametrize("growth", GROWTH, ids=str)
def test_a_learning_rate_of_0(growth):
    ensemble = trained_as_its_twin({"eta": 0, **growth})
    assert all((tree.value[tree.is_leaf] == 0).all() for tree in ensemble.trees)
    assert all(tree.n_nodes > 1 for tree in ensemble.trees)
    assert from_xgboost_json(to_xgboost_json(ensemble)) == ensemble


def test_a_learning_rate_of_0_later():
    rates = [0.0, 0.0]
    model = train(SMALL, DATA, 2, callbacks=[LearningRateScheduler(rates)])
    first, last = model.ensemble.trees
    assert first.value.any()
    assert not last.value[last.is_leaf].any()


def test_a_learning_rate_of_0_in_xgboost():
    xgb = pytest.importorskip("xgboost", reason="needs XGBoost")
    ours = train({**SMALL, "eta": 0}, DATA)
    booster = xgb.Booster(model_file=bytearray(to_xgboost_json(ours.ensemble).encode()))
    np.testing.assert_array_equal(booster.predict(xgb.DMatrix(X)), ours.predict(X))
    theirs = xgb.train({"eta": 0}, xgb.DMatrix(X, Y), 2).predict(xgb.DMatrix(X))
    np.testing.assert_allclose(ours.predict(X), theirs, atol=1e-6)


@pytest.mark.parametrize(
    "limit", [{}, {"max_leaves": 8}, {"max_leaves": 8, "grow_policy": "lossguide"}], ids=str
)
def test_no_limit_of_depth(limit):
    ensemble = trained_as_its_twin({"max_depth": 0, **limit})
    leaves = [int(tree.is_leaf.sum()) for tree in ensemble.trees]
    assert leaves == [8, 8] if limit else min(leaves) > 30
    estimator = GBDTRegressor(preset="xgboost", max_depth=0, **SMALL, **limit).fit(X, Y)
    assert estimator.model_.ensemble == ensemble


def test_no_limit_of_depth_that_does_not_fit():
    rows = np.repeat(np.arange(2000, dtype=np.float32)[:, None], 50, axis=1)
    with pytest.raises(MemoryPlanError, match=r"max_depth \(0 is no limit\) .*give max_leaves"):
        train({**SMALL, "max_depth": 0, "device_memory": "20MB"}, Dataset(rows, rows[:, 0]))


SCORES = [
    ({"base_score": [0.5, 0.75]}, TWO),
    ({"base_score": np.array([0.5, 0.75])}, TWO),
    ({"base_score": 0.25}, TWO),
    ({"base_score": "[5E-1,7.5E-1]"}, TWO),
    (
        {"base_score": (0.5, 0.25, 0.125), "objective": "multi:softprob", "num_class": 3},
        CLASSES,
    ),
    (
        {"base_score": [0.5, 0.75], "objective": "reg:quantileerror",
         "quantile_alpha": [0.1, 0.9]},
        Y,
    ),
    ({"base_score": [0.3], "objective": "binary:logistic"}, (Y > 0).astype(np.float32)),
    ({"base_score": [0.3, 0.6], "objective": "binary:logistic"}, (TWO > 0).astype(np.float32)),
]  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize(("params", "label"), SCORES, ids=[str(p) for p, _ in SCORES])
def test_a_starting_score_for_each_output(params, label):
    ensemble = trained_as_its_twin(params, label)
    assert from_xgboost_json(to_xgboost_json(ensemble)) == ensemble
    again = train({**SMALL, **params}, Dataset(X, label), model=ensemble).ensemble
    assert again.trees[: len(ensemble.trees)] == ensemble.trees


@pytest.mark.parametrize(("params", "label"), SCORES, ids=[str(p) for p, _ in SCORES])
def test_as_xgboost_has_them(params, label):
    xgb = pytest.importorskip("xgboost", "3.1", reason="needs XGBoost 3.1")
    ours = train({**SMALL, **params}, Dataset(X, label))
    text = to_xgboost_json(ours.ensemble)
    theirs = xgb.train(params, xgb.DMatrix(X, label), 2)
    written = [json.loads(t)["learner"]["learner_model_param"]["base_score"]
               for t in (text, theirs.save_raw("json"))]  # fmt: skip
    assert written[0] == written[1]
    loaded = xgb.Booster(model_file=bytearray(text.encode())).predict(xgb.DMatrix(X))
    if "quantile_alpha" in params:
        loaded.sort(axis=1)  # as predictions here, and those of the newest XGBoost
    np.testing.assert_allclose(loaded, ours.predict(X), atol=1e-6)


def test_starting_scores_of_estimators():
    two = GBDTRegressor(base_score=[0.5, 0.75], **SMALL).fit(X, TWO)
    assert two.model_.ensemble.base_score == (0.5, 0.75)
    three = GBDTClassifier(base_score=np.array([0.5, 0.25, 0.125]), **SMALL).fit(X, CLASSES)
    assert three.model_.ensemble.base_score == (0.5, 0.25, 0.125)


def mine(prediction, dataset):
    return "rmse", 7.0


def other(prediction, dataset):
    return "rmse", 8.0


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        (["rmse", "rmse"], ["rmse"]),
        (["rmse", "mae", "rmse"], ["rmse", "mae"]),
        (["rmse", mine], ["rmse", "rmse-2"]),
        ([mine, "rmse"], ["rmse-2", "rmse"]),
        ([mine, mine, other], ["rmse", "rmse-2"]),
        (["rmse", mine, other, mine], ["rmse", "rmse-2", "rmse-3"]),
    ],
)
def test_metrics_of_one_name(asked, names):
    model = train(SMALL, DATA, evals=[(DATA, "a")], eval_metric=asked)
    assert list(model.history["a"]) == names
    assert {len(values) for values in model.history["a"].values()} == {2}
    table = cv(SMALL, DATA, 2, nfold=2, metrics=asked, as_pandas=False)
    assert [f"test-{name}-mean" for name in names] == [n for n in table if "test" in n][::2]


def test_one_more_metric_of_a_known_name():
    model = train(SMALL, DATA, evals=[(DATA, "a")], custom_metric=mine)
    assert model.history["a"]["rmse-2"] == [7.0, 7.0]
    assert model.history["a"]["rmse"][0] < 2
    stopped = train(
        SMALL, DATA, 20, evals=[(DATA, "a")], custom_metric=mine, early_stopping_rounds=2
    )
    assert stopped.best_iteration == 0


def test_metrics_of_one_name_of_estimators():
    def loss(y_true, y_pred):
        return 1.0

    one = GBDTRegressor(eval_metric=[loss, loss, lambda y, p: 2.0], **SMALL)
    one.fit(X, Y, eval_set=[(X, Y)])
    assert list(one.evals_result()["validation_0"]) == ["loss", "<lambda>"]
