"""What estimators refuse beside trainings: each row raises before a device is used."""

from __future__ import annotations

import numpy as np
import pytest

from pyopencl_gbdt import (
    GBDTClassifier,
    GBDTRandomForestRegressor,
    GBDTRanker,
    GBDTRegressor,
)
from pyopencl_gbdt.callbacks import EarlyStopping
from pyopencl_gbdt.device import DeviceArray
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.estimators.refusals import OF_ESTIMATORS
from tests.refusals.test_refusals import no_arrays

X = np.arange(12.0).reshape(6, 2)
TWO, THREE = [0, 1, 0, 1, 0, 1], [0, 1, 2, 0, 1, 2]
SEVERAL = np.array([[0, 1], [1, 0], [1, 1]] * 2)


def on_dask(name, **params):
    pytest.importorskip("dask.distributed", reason="needs dask")
    return getattr(__import__("pyopencl_gbdt.dask", fromlist=[name]), name)(**params)


#: For each row: the estimator, its labels, further arguments of ``fit``, how its error begins.
CASES = {
    "A loss of classes for a regressor": (
        lambda: GBDTRegressor(objective="multi:softprob"), TWO, {}, "objective='multi:softprob'",
    ),
    "A loss of numbers for a classifier": (
        lambda: GBDTClassifier(objective="huber"), TWO, {}, "objective='huber': expected one of",
    ),
    "Another loss than one of ranking for a ranker": (
        lambda: GBDTRanker(objective="huber"), TWO, {"group": [6]},
        "objective='huber': expected rank:ndcg",
    ),
    "A loss of several classes where y has several columns": (
        lambda: GBDTClassifier(objective="multi:softmax"), SEVERAL, {},
        "objective='multi:softmax': expected one of binary:logistic",
    ),
    "`class_weight` where y has several columns": (
        lambda: GBDTClassifier(class_weight="balanced"), SEVERAL, {},
        "class_weight='balanced': expected None where y",
    ),
    "A loss of two classes for more of them": (
        lambda: GBDTClassifier(objective="binary:logistic"), THREE, {},
        "objective='binary:logistic': expected multi:softprob or multi:softmax for the 3 classes",
    ),
    "Early stopping or `callbacks` of a forest": (
        lambda: GBDTRandomForestRegressor(early_stopping_rounds=2), TWO, {},
        "early_stopping_rounds: expected None",
    ),
    "A learning rate by rows of a forest": (
        lambda: GBDTRandomForestRegressor(learning_rate="auto"), TWO, {},
        "learning_rate='auto': expected a number for GBDTRandomForestRegressor",
    ),
    "`linear_tree` of a forest": (
        lambda: GBDTRandomForestRegressor(linear_tree=True), TWO, {},
        "linear_tree=True: expected False for GBDTRandomForestRegressor",
    ),
    "`warm_start` of a forest": (
        lambda: GBDTRandomForestRegressor(warm_start=True), TWO, {},
        "warm_start=True: expected False for GBDTRandomForestRegressor",
    ),
    "Rounds by rows with `warm_start`": (
        lambda: GBDTRegressor(warm_start=True, n_estimators="auto"), TWO, {},
        "n_estimators='auto': expected a number with warm_start=True",
    ),
    "A model to continue with `warm_start`": (
        lambda: GBDTRegressor(warm_start=True), TWO, {"init_model": "model.json"},
        "init_model: expected None with warm_start=True",
    ),
    "A preset of a forest or on Dask": (
        lambda: GBDTRandomForestRegressor(preset="balanced"), TWO, {},
        "preset='balanced': expected None or 'xgboost' for GBDTRandomForestRegressor",
    ),
    "A preset with `warm_start`, or with a model to continue": (
        lambda: GBDTRegressor(preset="balanced-1"), TWO, {"init_model": "model.json"},
        "preset='balanced-1': expected None or 'xgboost' where a training is continued",
    ),
    "`n_iter_no_change` with `early_stopping_rounds`": (
        lambda: GBDTRegressor(n_iter_no_change=3, early_stopping_rounds=5), TWO, {},
        "n_iter_no_change=3: expected None with early_stopping_rounds=5",
    ),
    "A function as the last metric beside `early_stopping` or `n_iter_no_change`": (
        lambda: GBDTRegressor(early_stopping=True, eval_metric=["mae", np.dot]), TWO, {},
        "eval_metric=dot: expected a named metric last",
    ),
    "`refit` with `callbacks`": (
        lambda: GBDTRegressor(refit=True, callbacks=[EarlyStopping(2)]), TWO, {},
        "refit=True: expected False with callbacks",
    ),
    "A bag of folds with `eval_set`, `callbacks`, `early_stopping_rounds`, `has_time`, "
    "`refit`, `validation_fraction` or `profile`": (
        lambda: GBDTRegressor(preset="best", has_time=True), TWO, {},
        "preset='best': expected no eval_set, callbacks, early_stopping_rounds, has_time, refit,",
    ),
    "A bag of folds with `booster='dart'`": (
        lambda: GBDTRegressor(preset="best", booster="dart"), TWO, {},
        "booster='dart': expected 'gbtree' with preset='best'",
    ),
    "Early stopping by itself on Dask": (
        lambda: on_dask("DaskGBDTRegressor", early_stopping="auto"), TWO, {},
        "early_stopping: expected to be left out on Dask",
    ),
    "`warm_start` on Dask": (
        lambda: on_dask("DaskGBDTRegressor", warm_start=True), TWO, {},
        "warm_start=True: expected False on Dask",
    ),
    "`class_weight` on Dask": (
        lambda: on_dask("DaskGBDTClassifier", class_weight="balanced"), TWO, {},
        "class_weight='balanced': expected None on Dask",
    ),
}  # fmt: skip


def test_each_row_has_a_case():
    assert list(CASES) == [row.name for row in OF_ESTIMATORS]


@pytest.mark.parametrize("row", OF_ESTIMATORS, ids=lambda row: row.name)
def test_a_row_raises_before_anything_is_allocated(row, monkeypatch):
    make, labels, arguments, says = CASES[row.name]
    estimator = make()
    monkeypatch.setattr(DeviceArray, "__init__", no_arrays)
    with pytest.raises(row.error) as error:
        estimator.fit(X, labels, **arguments)
    assert error.value.refusal == row.name
    assert str(error.value).startswith(says)
    assert str(error.value).endswith(f"; {row.way_out}")


@pytest.mark.parametrize(
    ("params", "arguments"),
    [
        ({"refit": True}, {}),
        ({"validation_fraction": 0.3}, {}),
        ({"validation_fraction": None}, {}),
        ({"early_stopping_rounds": 4}, {}),
        ({}, {"profile": True}),
        ({}, {"eval_set": (X, TWO)}),
    ],
)
def test_what_a_bag_of_folds_leaves_out(params, arguments):
    with pytest.raises(ParameterError, match="preset='best': expected no eval_set, callbacks"):
        GBDTRegressor(preset="best", **params).fit(X, TWO, **arguments)
