"""The same model file, byte for byte, whatever trains it."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.data import load_higgs7k
from pyopencl_gbdt.device import devices, open_device, runnable
from pyopencl_gbdt.model import to_xgboost_json

from .conftest import TEST_DEVICE

#: SHA-256 of the model files below; they were the same on PoCL, Intel's CPU runtime and an NVIDIA
#: H200 through OpenCL and CUDA. A change of the algorithm changes them: update with the reason.
EXPECTED = {
    "logistic": "d5555c17c251e5ee82efc250a5a89c7be76fb7720492d7ecfcc0a7d2dd230eb0",
    "squared": "9035f2db881ca2aa7dd9f6adecbc3fa51d586312c00e658a713d4a941a7b5cb2",
    "heavy": "850020732bf212ca8eaad0074c36110923bf5bf6ac43fc6f8a8e709d24f774ed",
}


def problem(name: str):
    X, y, _, _ = load_higgs7k()
    X = X[:3000].copy()
    rng = np.random.Generator(np.random.PCG64(0))
    X[rng.random(X.shape) < 0.1] = np.nan
    weight = rng.integers(0, 4, X.shape[0]).astype(np.float32)
    params = {"n_estimators": 5, "learning_rate": 0.1}
    if name == "logistic":
        return {**params, "objective": "binary:logistic"}, Dataset(X, y[:3000], weight)
    target = np.nan_to_num(X[:, 0]) * 3 + y[:3000]
    if name == "heavy":
        target = target + rng.standard_cauchy(target.size)
        target[7] = 1e9
        return {**params, "reg_alpha": 0.5, "max_delta_step": 1e6}, Dataset(X, target)
    return {**params, "max_bin": 64, "max_depth": 8}, Dataset(X, target, weight)


def digest(name: str, **more) -> str:
    params, data = problem(name)
    ensemble = train({**params, **more}, data).ensemble
    return hashlib.sha256(to_xgboost_json(ensemble).encode()).hexdigest()


HISTOGRAMS = [v.name for v in runnable("histogram", open_device(TEST_DEVICE).caps)]


@pytest.mark.parametrize("name", EXPECTED)
def test_known_bytes(name):
    assert digest(name, device=TEST_DEVICE) == EXPECTED[name]


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("histogram", HISTOGRAMS)
def test_every_histogram_variant(name, histogram):
    assert digest(name, device=TEST_DEVICE, histogram=histogram) == EXPECTED[name]


@pytest.mark.parametrize("size", [32, 64, 256])
def test_three_work_group_sizes(size):
    for histogram in ("auto", "local_atomic_partials"):
        more = {"device": TEST_DEVICE, "work_group_size": size, "histogram": histogram}
        assert digest("logistic", **more) == EXPECTED["logistic"]


def test_ten_repeats():
    assert {digest("squared", device=TEST_DEVICE) for _ in range(10)} == {EXPECTED["squared"]}


@pytest.mark.intel
@pytest.mark.parametrize("name", EXPECTED)
def test_intel_runtime(name):
    if not any(d.usable and d.caps and d.caps.platform.startswith("Intel") for d in devices()):
        pytest.skip("Intel's CPU runtime is not installed: pip install 'pyopencl_gbdt[intel-cpu]'")
    assert digest(name, device="intel(r) opencl") == EXPECTED[name]
    more = {"device": "intel(r) opencl", "work_group_size": 64, "histogram": "local_atomic"}
    assert digest(name, **more) == EXPECTED[name]


def test_training_margins_are_predictions():
    params, data = problem("logistic")
    data.weight = None
    model = train({**params, "device": TEST_DEVICE}, data, evals=[(data, "train")])
    again = model.predict(data.values, device=TEST_DEVICE)
    from pyopencl_gbdt.metrics import logloss

    assert model.history["train"]["logloss"][-1] == logloss(data.label, again)
