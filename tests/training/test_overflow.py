"""Targets at the end of float32: differences overflow, and every device gives the same bytes."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, GBDTRegressor, devices, train
from pyopencl_gbdt.numerics.portable_math import finite
from pyopencl_gbdt.parameters import Parameters
from tests.beside_twin import trained_as_twin
from tests.conftest import TEST_DEVICE
from tests.reference.train import train_reference

#: All combinations are ``thorough``, see tests/conftest.py.
ONCE_EACH = True
LARGEST = np.finfo(np.float32).max
RNG = np.random.default_rng(1)
N = 60
X = RNG.standard_normal((N, 2)).astype(np.float32)
WEIGHT = np.exp(RNG.uniform(-40, 40, N)).astype(np.float32)
SIGN = RNG.choice([-1, 1], N).astype(np.float32)
LABELS = {
    "near the end": RNG.uniform(1e38, 3.4e38, N).astype(np.float32) * SIGN,
    "the end": LARGEST * SIGN,
    "all sizes": (np.exp(RNG.uniform(-85, 88.7, N)) * SIGN).astype(np.float32),
}
#: What may overflow: differences, leaves, sums of margins, products with weights and factors.
GROWTH = [
    {},
    {"learning_rate": 3e38, "reg_lambda": 0},
    {"subsample": 0.3, "sampling_method": "gradient_based"},
    {"sampling_method": "goss", "learning_rate": 1.0, "top_rate": 0.2, "other_rate": 1e-3},
    {"grow_policy": "lossguide", "max_leaves": 4, "max_depth": 0},
]
LOSSES = [
    "reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror", "huber", "fair", "mape",
]  # fmt: skip
ALL = [d.device_id for d in devices() if not d.problem]


def ensemble_of(params, label, weight=None, **more):
    return train({"device": TEST_DEVICE, **params, **more}, Dataset(X, label, weight)).ensemble


@pytest.mark.parametrize("name", ALL)
def test_a_difference_that_overflows(name):
    rows = np.arange(8, dtype=np.float32)[:, None]
    label = np.array([-3e38] * 5 + [3e38] * 3, np.float32)
    params = {"max_depth": 1, "n_estimators": 1}
    wanted = train_reference(Parameters.from_dict(params), rows, label)
    assert train({**params, "device": name}, Dataset(rows, label)).ensemble == wanted
    left, right = wanted.trees[0].value[1:, 0]
    assert left < -5e37
    assert right > 7e37


@pytest.mark.more(8)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize("growth", GROWTH, ids=str)
def test_as_the_twin(growth, label, weighted):
    params = {"n_estimators": 3, "max_depth": 3, "max_bin": 16, **growth}
    found = trained_as_twin(params, X, LABELS[label], WEIGHT if weighted else None).ensemble
    assert all(np.isfinite(tree.value).all() for tree in found.trees)


@pytest.mark.few(2)
@pytest.mark.more(3)
@pytest.mark.parametrize("name", [name for name in ALL if name != TEST_DEVICE])
@pytest.mark.parametrize(
    "loss", [*LOSSES[:2], *(pytest.param(loss, marks=pytest.mark.thorough) for loss in LOSSES[2:])]
)
def test_every_device(loss, name):
    for label, growth in zip(LABELS.values(), (GROWTH[0], GROWTH[1], GROWTH[3]), strict=True):
        params = {"n_estimators": 2, "max_depth": 2, "max_bin": 16, "objective": loss, **growth}
        wanted = ensemble_of(params, label, WEIGHT)
        assert ensemble_of(params, label, WEIGHT, device=name) == wanted


@pytest.mark.parametrize("name", ALL)
def test_metrics_and_predictions(name):
    params = {"n_estimators": 3, "max_depth": 2, "learning_rate": 1e38}
    evals = [(Dataset(X, LABELS["the end"], WEIGHT), "a")]
    asked = ["rmse", "mae", "mape", "mphe", "quantile"]
    models = [
        train({**params, "device": d}, evals[0][0], evals=evals, eval_metric=asked)
        for d in (TEST_DEVICE, name)
    ]
    assert models[0].ensemble == models[1].ensemble
    assert repr(models[0].history) == repr(models[1].history)
    margins = [m.predict(X, device=d) for m, d in zip(models, (TEST_DEVICE, name), strict=True)]
    np.testing.assert_array_equal(*margins)


def test_rounds_come_nearer():
    """A gradient that is cut to the largest number still points the right way."""
    label = np.float32(2.5e38) * SIGN
    far = [GBDTRegressor(n_estimators=n, max_depth=4, device=TEST_DEVICE).fit(X, label).predict(X)
           for n in (1, 40)]  # fmt: skip
    error = [np.abs(found / label - 1).mean() for found in far]
    assert error[1] < 0.5 * error[0]


def test_what_is_finite():
    given = np.array([np.nan, np.inf, -np.inf, 1.5, -LARGEST, LARGEST, 0, -0.0], np.float32)
    wanted = np.array([LARGEST, LARGEST, -LARGEST, 1.5, -LARGEST, LARGEST, 0, -0.0], np.float32)
    assert finite(given).tobytes() == wanted.tobytes()
