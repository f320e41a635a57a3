"""Splits that are given for the top of every tree: the model is the twin's."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.errors import ParameterError
from tests.beside_twin import trained_as_twin
from tests.conftest import TEST_DEVICE
from tests.training.test_min_samples_leaf import LOSSGUIDE, problem

#: Also a split that leaves one child without rows, with one below it that is then free.
FORCED = {
    "feature": 3, "threshold": 1.0,
    "left": {"feature": 8, "threshold": 0.7, "right": {"feature": 4, "threshold": 0}},
    "right": {"feature": 0, "threshold": 1e9, "left": {"feature": 1, "threshold": 0.0}},
}  # fmt: skip
GROWTH = {
    "levels": {"max_depth": 4},
    "leaves": LOSSGUIDE,
    "three leaves": {**LOSSGUIDE, "max_leaves": 3},
    "few leaves": {"max_depth": 6, "max_leaves": 6},
    "one split": {"max_depth": 1},
    "penalties": {"reg_alpha": 0.4, "max_delta_step": 0.5, "gamma": 0.2},
    "monotone": {"monotone_constraints": [0, 0, 0, -1, 0, 0, 0, 0, -1, 0]},
    "drawn columns": {**LOSSGUIDE, "colsample_bytree": 0.3, "colsample_bynode": 0.7},
    "drawn borders": {"extra_trees": True, "random_strength": 0.5},
    "counted": {"min_samples_leaf": 90, "objective": "binary:logistic"},
    "classes": {"objective": "multi:softprob", "num_class": 3, "max_depth": 3},
    "medians": {"objective": "reg:absoluteerror"},
    "samples": {"subsample": 0.6, "num_parallel_tree": 2},
    "dropped": {"booster": "dart", "rate_drop": 0.5},
}


def given(**params):
    return {"n_estimators": 2, "max_depth": 4, "min_child_weight": 0, "forced_splits": FORCED,
            **params}  # fmt: skip


def trained(X, y, **params):
    return train({**given(**params), "device": TEST_DEVICE}, Dataset(X, y))


@pytest.mark.few(2)
@pytest.mark.more(8)
@pytest.mark.parametrize("size", [0, 64])
@pytest.mark.parametrize("growth", GROWTH)
def test_models_are_the_twins(growth, size):
    X, y = problem()
    params = GROWTH[growth]
    if "objective" in params and growth != "medians":
        y = np.digitize(y, [0.5, 1.1][: params.get("num_class", 2) - 1]).astype(np.float32)
    model = trained_as_twin(given(work_group_size=size, **params), X, y)
    assert (model.ensemble.trees[0].feature[0], model.ensemble.trees[-1].gain[0] < 1e6) == (3, True)


def test_splits_come_first_and_values_up_to_the_threshold_go_left():
    X = np.arange(8.0).reshape(4, 2).astype(np.float32)  # 0, 2, 4, 6 and 1, 3, 5, 7
    y = np.array([0, 1, 5, 9], np.float32)
    forced = {"feature": "f0", "threshold": 2, "right": {"feature": "f1", "threshold": 5.5}}
    model = trained(X, y, forced_splits=json.dumps(forced), n_estimators=1, max_depth=0,
                    grow_policy="lossguide", max_leaves=3, learning_rate=1.0, reg_lambda=0,
                    base_score=0)  # fmt: skip
    np.testing.assert_allclose(model.predict(X), [0.5, 0.5, 5, 9], rtol=1e-6)
    assert model.ensemble.trees[0].feature.tolist()[:3:2] == [0, 1]
    np.testing.assert_allclose(model.ensemble.trees[0].gain[0], 98 + 0.5 - 225 / 4, rtol=1e-6)


def test_an_estimator_takes_them():
    pytest.importorskip("sklearn")
    from pyopencl_gbdt import GBDTRegressor

    X, y = problem(200, missing=0)
    forced = {"feature": 3, "threshold": 1.0}
    model = GBDTRegressor(n_estimators=2, forced_splits=forced, device=TEST_DEVICE).fit(X, y)
    assert {int(tree.feature[0]) for tree in model.model_.ensemble.trees} == {3}


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        ([1], "forced_splits holds \\[1\\]: expected a dict of feature, threshold, left and right"),
        ({"feature": 1}, "forced_splits holds .*give both of the first two"),
        ({"feature": 1, "threshold": "a"}, "forced_splits holds threshold='a': expected a number"),
        ({"feature": 1, "threshold": float("nan")}, "holds threshold=nan: expected a number"),
        ({"feature": 99, "threshold": 1}, "forced_splits names the column 99: expected one of"),
        ("{", "forced_splits='{': expected a dict of feature, threshold, left and right"),
    ],
)
def test_wrong_splits(splits, message):
    X, y = problem(50)
    with pytest.raises(ParameterError, match=message):
        trained(X, y, forced_splits=splits)


def test_too_many_splits():
    text = '{"feature": 0, "threshold": 0, "left": ' * 400 + "null" + "}" * 400
    X, y = problem(50)
    wide = {"feature": 0, "threshold": 0, "left": json.loads(text), "right": json.loads(text)}
    wide = {"feature": 0, "threshold": 0, "left": wide, "right": wide}
    with pytest.raises(ParameterError, match="more than 1024 splits: expected 1024 at most"):
        trained(X, y, forced_splits=wide)
