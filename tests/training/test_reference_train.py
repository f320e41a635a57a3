"""Whole training: the device's model is the reference's, bit by bit, and as a file."""

import numpy as np
import pytest

from pyopencl_gbdt.device import find
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.beside_twin import trained_as_twin
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE
from tests.reference.train import train_reference

#: All combinations are ``thorough``, see tests/conftest.py.
ONCE_EACH = True
CAPS = find(TEST_DEVICE).caps
SQUARED, LOGISTIC = "reg:squarederror", "binary:logistic"


def rows(n=400, n_features=6, *, missing=0.15, seed=3, weighted=False):
    """Columns of several kinds, a label that depends on them, and weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features)).astype(np.float32)
    X[:, 1] = np.round(X[:, 1] * 2)
    X[:, 2] = X[:, 0]  # ties between features
    score = X[:, 0] + (X[:, 1] > 0) - np.abs(X[:, 3 % n_features]) + rng.normal(size=n) / 3
    X[rng.random(X.shape) < missing] = np.nan
    X[:, -1] = rng.random(n)  # none missing
    weight = None
    if weighted:
        weight = (rng.uniform(0, 3, n) * (rng.random(n) < 0.8)).astype(np.float32)
        weight[0] = 1
    return X, score.astype(np.float32), weight


def check(X, score, weight, **params):
    """Train on both sides and compare; return the ensemble."""
    objective = params.setdefault("objective", SQUARED)
    label = score if objective == SQUARED else (score > np.median(score)).astype(np.float32)
    return trained_as_twin(params, X, label, weight).ensemble


@pytest.mark.few(2)
@pytest.mark.parametrize("objective", [SQUARED, LOGISTIC])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_bin", [16, 256])
@pytest.mark.parametrize("max_depth", [1, 2, 3, 4, 5, 6])
def test_depths_bins_and_weights(objective, weighted, max_bin, max_depth):
    X, score, weight = rows(weighted=weighted)
    params = {"max_depth": max_depth, "max_bin": max_bin, "n_estimators": 2, "reg_lambda": 0.5}
    model = check(X, score, weight, objective=objective, **params)
    assert all(tree.depth.max() == max_depth for tree in model.trees[:1])


@pytest.mark.few(3)
@pytest.mark.more(6)
@pytest.mark.parametrize("objective", [SQUARED, LOGISTIC])
@pytest.mark.parametrize(
    "params",
    [
        {"reg_alpha": 0.7},
        {"gamma": 1.5},
        {"max_delta_step": 0.1},
        {"min_child_weight": 12.5},
        {"min_child_weight": 0, "reg_lambda": 0},
        {"reg_alpha": 0.2, "gamma": 0.1, "max_delta_step": 0.4, "min_child_weight": 3},
        {"base_score": 0.25, "learning_rate": 1.0},
        {"reg_lambda": 1e30},
    ],
    ids="-".join,
)
def test_regularisation(objective, params):
    for weighted in (False, True):
        check(*rows(weighted=weighted), objective=objective, n_estimators=2, max_depth=5, **params)


@pytest.mark.skipif(CAPS.kind == "cpu", reason="minutes of building; tests/steps has the sizes")
@pytest.mark.parametrize("size", [16, 64, 256])
def test_every_work_group_size(size):
    X, score, weight = rows(1500, weighted=True)
    check(X, score, weight, work_group_size=size, n_estimators=3, max_depth=6)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 40])
@pytest.mark.parametrize("objective", [SQUARED, LOGISTIC])
def test_few_rows_and_many_levels(objective, n):
    params = {"max_depth": 12, "min_child_weight": 0, "reg_lambda": 0.1, "n_estimators": 2}
    check(*rows(n), objective=objective, **params)


@pytest.mark.parametrize("kind", ["all missing", "one value", "equal labels", "heavy", "huge"])
def test_unusual_data(kind):
    X, score, _ = rows(300)
    if kind == "all missing":
        X[:] = np.nan
    elif kind == "one value":
        X[:] = 7
        X[::3] = np.nan
    elif kind == "equal labels":
        score[:] = 0.1
    elif kind == "heavy":
        score[[3, 77]] = 1e9, -1e12
    else:
        score *= 1e30
    check(X, score, None, n_estimators=3, max_depth=4)


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", ["spread", "subnormal", "few", "small", "large"])
def test_unusual_weights(kind):
    X, score, _ = rows(500)
    rng = np.random.default_rng(5)
    weight = {
        "spread": np.exp(rng.normal(0, 15, 500)),
        "subnormal": np.full(500, 1e-40),
        "few": (np.arange(500) % 97 == 0) * 2.0,
        "small": rng.uniform(0, 1e-3, 500),
        "large": rng.uniform(0, 1e6, 500),
    }[kind].astype(np.float32)
    check(X, score, weight, n_estimators=3, max_depth=4, min_child_weight=0, reg_lambda=1e-3)


def test_more_than_255_codes():
    X, score, _ = rows(1500)
    check(X, score, None, n_estimators=2, max_depth=4, max_bin=1000)


def test_no_trees():
    assert check(*rows(50), n_estimators=0).trees == []


def test_law_weights_and_penalties_scale_together():
    """Four times the weights and the penalties: the same trees, four times the gains and sums."""
    X, score, _ = rows(300)
    rng = np.random.default_rng(2)
    weight = rng.uniform(0.1, 2, 300).astype(np.float32)
    penalties = {"reg_lambda": 2.0, "reg_alpha": 0.5, "gamma": 0.25, "min_child_weight": 1.5}
    models = []
    for factor in (1, 4):
        params = {name: factor * value for name, value in penalties.items()}
        label, weights = score, (factor * weight).astype(np.float32)
        parameters = Parameters.from_dict({"max_depth": 4, "n_estimators": 3, **params})
        models.append(train_reference(parameters, X, label, weights))
    for one, four in zip(*(model.trees for model in models), strict=True):
        for name in ("left", "feature", "threshold", "default_left"):
            assert_same_bits(getattr(one, name), getattr(four, name), name)
        np.testing.assert_allclose(four.value, one.value, rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(four.gain, 4 * one.gain, rtol=1e-3)
        np.testing.assert_allclose(four.sum_hessian, 4 * one.sum_hessian, rtol=1e-6)
