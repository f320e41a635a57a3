"""Ordered boosting: the device's model is the twin's, and what it does not work with is refused."""

from __future__ import annotations

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.errors import ParameterError
from tests.conftest import TEST_DEVICE
from tests.test_reference_train import LOGISTIC, SQUARED, check, rows

#: All combinations are ``thorough``, see tests/conftest.py.
ONCE_EACH = True
ORDERED = {"boosting_type": "ordered", "n_estimators": 4, "max_depth": 3, "max_bin": 32}


@pytest.mark.parametrize("objective", [SQUARED, LOGISTIC, "count:poisson"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("policy", ["depthwise", "symmetric", "lossguide"])
def test_equals_twin(objective, weighted, policy):
    X, score, weight = rows(300, weighted=weighted)
    more = {"max_leaves": 5} if policy == "lossguide" else {}
    params = {"objective": objective, "grow_policy": policy}
    check(X, score, weight, **ORDERED, **params, **more)


@pytest.mark.parametrize("n", [1, 16, 17, 32, 65])
def test_numbers_of_rows(n):
    X, score, _ = rows(n)
    check(X, score, None, **ORDERED, min_child_weight=0)


@pytest.mark.parametrize(
    "params",
    [
        {"subsample": 0.5},
        {"subsample": 0.5, "sampling_method": "gradient_based"},
        {"sampling_method": "goss", "learning_rate": 1},
        {"monotone_constraints": [1, 0, 0, -1, 0, 0], "objective": LOGISTIC},
        {"reg_alpha": 0.7, "max_delta_step": 0.2},
        {"has_time": True},
        {"permutation_count": 3},
        {"tree_method": "exact", "max_bin": 256},
        {"tree_method": "approx"},
        {"page": "tiled"},
        {"base_score": 0.25},
    ],
)
def test_parameters(params):
    X, score, weight = rows(200, weighted="base_score" in params)
    check(X, score, weight, **{**ORDERED, **params})


@pytest.mark.parametrize(
    ("params", "wrong", "move"),
    [
        ({"objective": "reg:absoluteerror"}, "objective='reg:absoluteerror'", "reg:squarederror"),
        ({"objective": "rank:ndcg"}, "objective='rank:ndcg'", "multi:softprob"),
        ({"objective": "survival:cox"}, "objective='survival:cox'", "kernels of its own"),
        ({"objective": lambda margins, data: (margins, margins)}, "objective='custom'", "change"),
        ({"num_parallel_tree": 2}, "num_parallel_tree=2", "expected 1"),
        ({"boosting_type": "orderd"}, "boosting_type='orderd'", "did you mean 'ordered'"),
    ],
)
def test_refusals(params, wrong, move):
    X, score, _ = rows(60)
    extra = {"group": [30, 30]} if params.get("objective") == "rank:ndcg" else {}
    data = Dataset(X, (score > 0).astype(np.float32), **extra)
    with pytest.raises(ParameterError) as error:
        train({"boosting_type": "ordered", **params}, data)
    assert wrong in str(error.value)
    assert move in str(error.value)


def test_models_cannot_be_continued():
    X, score, _ = rows(60)
    data = Dataset(X, score)
    params = {"device": TEST_DEVICE, "n_estimators": 1, "max_depth": 1}
    before = train(params, data)
    with pytest.raises(ParameterError, match="model: expected none to continue with ordered"):
        train({**params, "boosting_type": "Ordered"}, data, model=before)
    assert train({**params, "boosting_type": "Plain"}, data).ensemble.trees == before.ensemble.trees
