"""The same model file, byte for byte, whatever trains it."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.data import load_higgs7k
from pyopencl_gbdt.device import devices, open_device, runnable
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.objectives import OBJECTIVES

from .conftest import TEST_DEVICE

#: SHA-256 of the model files below; they were the same on PoCL, Intel's CPU runtime and an NVIDIA
#: H200 through OpenCL and CUDA. A change of the algorithm changes them: update with the reason.
EXPECTED = {
    "logistic": "d5555c17c251e5ee82efc250a5a89c7be76fb7720492d7ecfcc0a7d2dd230eb0",
    "squared": "9035f2db881ca2aa7dd9f6adecbc3fa51d586312c00e658a713d4a941a7b5cb2",
    "heavy": "850020732bf212ca8eaad0074c36110923bf5bf6ac43fc6f8a8e709d24f774ed",
}
#: Of every loss of ``objectives``; the same on PoCL and Intel's CPU runtime so far. ``OWN`` has
#: parameters of its own.
LOSSES = {
    "reg:squarederror": "34110f5eacfe0ba8c801acbdaa27a432f6849d1f30c1aebff0295791a772d562",
    "reg:squaredlogerror": "da4e86009d7038eba0ec8672339631b1d2f26c09ee55d1b62a815833f475e624",
    "reg:pseudohubererror": "89b933013815f162cdef4be48f99d863ae133a86622ff0187ae96aab75a9d393",
    "reg:gamma": "23d1d45ad7f6d4bc82cee0490dea38c777710793cfc657b9ca29a16c154716f7",
    "reg:tweedie": "743c7d409243a7c9cedec3a0c3b5166347c89c0c3c072cac00f39346c84a64a7",
    "reg:logistic": "58f5cad76b1ba27f886f9ad1c2e5ac15bb190607974e77e9cc9679eedfec94f3",
    "count:poisson": "c931b86719d39ff7b029f665c6f26a14c08f39920fc855e0fa976e5ffe2f78e8",
    "binary:logistic": "d5555c17c251e5ee82efc250a5a89c7be76fb7720492d7ecfcc0a7d2dd230eb0",
    "binary:logitraw": "bb7ef59378535782c137686fa46268d91e0c55a0e98eac837e6eddae826cf726",
    "binary:hinge": "6326b7aa1a226534a212dfe8006e4b25cecfef34bf4dabeaca3bfbd80a8a8b80",
    "rank:ndcg": "31e20b89bd88557263d422b9a792de660879d6278cdf6e90b0d2b15811faf1f9",
    "rank:map": "c2601d6b5e99f3de816bf9684df9b5cf8c96545953a724d096f585a1969fb52b",
    "rank:pairwise": "42a64705bad47d0faee9e9c101b2217680f6400be03e76d0b01be39b43c6e9f6",
    "survival:cox": "724153b9a17d7b13e7f842e0d9ba068f189553fd5e4e72dd0e6d4e3fd0c08565",
    "survival:aft": "d3ded3c17386dc72387f5e2325c569f57d718b08f0512957372cb944448ea6fa",
    "huber": "f21ed9f711cc034c832e5628f8af6fbb501244359774fa79d9d0bd01eb9c2b12",
    "fair": "677fa6e141794acd04acfb27c405296df33b75feeee810663c981f7d2239a479",
    "mape": "e4c3508a57ccb415ec4666d10bbe6adc294f62996aa4b94f40aecc3e5bfb8d73",
    "reg:absoluteerror": "a73e7977683bb6a9388b3bcbaa418476ebfdbbaa30c6756401ee3d8c4853a5f5",
    "reg:quantileerror": "d8e0af18fa8e0d7f4bc59d6992d3ea47677777c5597972b4f1e2f842262c4f82",
    "cross_entropy": "376365d3b55c8b800af9a193322c6fcb3d642d63029fc4348cd6a19ca60a0fcd",
    "multi:softprob": "55024c8829b6eb4a143c7d684c5bc4cb59567b265deaa42bfe4d9544044dd16e",
    "multi:softmax": "2f298c01fa77c73143b1c45e408c276d5669dcc2c378492b1c1a844d091300de",
}
OWN = {
    "multi:softprob": {"num_class": 4},
    "multi:softmax": {"num_class": 3},
    "reg:pseudohubererror": {"huber_slope": 2.5},
    "reg:tweedie": {"tweedie_variance_power": 1.3},
    "binary:logitraw": {"scale_pos_weight": 1.7},
    "rank:ndcg": {"lambdarank_unbiased": True},
    "rank:pairwise": {"lambdarank_pair_method": "mean", "lambdarank_num_pair_per_sample": 3},
    "huber": {"huber_alpha": 0.6},
    "fair": {"fair_c": 1.5},
    "reg:quantileerror": {"quantile_alpha": 0.3},
}
SIGNS = [1, -1, 0, 1] * 7
GROUPS = [[0, 1, 2, 3], [3, 4, 5, 6, 7, 8], [7, *range(9, 28)]]
#: Parameters of how rows and columns are drawn and trees grow; of several trees a round.
SETTINGS = {
    "uniform": {"subsample": 0.5},
    "gradient_based": {"subsample": 0.3, "sampling_method": "gradient_based"},
    "goss": {"sampling_method": "goss", "learning_rate": 0.6},
    "columns": {"colsample_bytree": 0.7, "colsample_bylevel": 0.6, "colsample_bynode": 0.5},
    "weighted columns": {"colsample_bytree": 0.6, "colsample_bynode": 0.5},
    "monotone": {"monotone_constraints": SIGNS},
    "interactions": {"interaction_constraints": GROUPS},
    "lossguide": {"grow_policy": "lossguide", "max_leaves": 21, "max_depth": 0},
    "max_leaves": {"max_leaves": 21},
    "forest": {"num_parallel_tree": 3, "subsample": 0.7, "colsample_bynode": 0.5},
    "targets": {"objective": "reg:squarederror"},
    "quantiles": {"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.5, 0.9]},
    "together": {
        "objective": "multi:softprob", "num_class": 4, "num_parallel_tree": 2, "subsample": 0.8,
        "grow_policy": "lossguide", "max_leaves": 12, "monotone_constraints": SIGNS,
        "interaction_constraints": GROUPS, "colsample_bylevel": 0.8,
    },
}  # fmt: skip
#: Of every one of ``SETTINGS``; the same on PoCL and Intel's CPU runtime so far.
GROWN = {
    "uniform": "1893c2fed93938b6163ed62fd0ccba326542d7f1668e84a883098551a6b00799",
    "gradient_based": "7dd106c7ce96a5119a31c9a16e4c99b3d86d8d6847a4d56681d375b9c344aba8",
    "goss": "1bbf664b82df80ca05c92a8110bf774883f9fd98bb48328ba04b222b919e4615",
    "columns": "cd887d3a5e7202349ddaf7ed73eb9f5af4bc44fdd86f562cd63beaaaa5edc5d2",
    "weighted columns": "7446c6a0ce88f10f2a70ec0a8cacda55dee107d3b6bcf7a276707f92acba9210",
    "monotone": "93c9bda1d3f9b4322a27475f5a26b5b1a72e02f91def7ae51c804a83533a1406",
    "interactions": "53ebd5e75be9599e496ebbb55e77f5946718254d34799a45b9580662c52601ae",
    "lossguide": "11794a95ed052d47eee0169e12d069ccf34b12eac496b39a354a627bf36ccc80",
    "max_leaves": "b01122d8ea9b2b5bba9cf0dc92b66d2087e2fe7ff508e63438bb4963ec567dbf",
    "forest": "ddfd9f277c6964060a8c5b936286066ed3e9d7995eca5d94a76ff1cad920a7a8",
    "targets": "77f643d4982e4d3c47af42c16f84aa0efec04068cf34dc871201adad9856ffd5",
    "quantiles": "2eae97d93832f76c81008ec65d02d0cec6f09d1a1e970f87c7bbc39d0a8fdcd8",
    "together": "d480fb5ae944a9c5c37c11e86c67da53588fff128bd1e994b067ab2688cdd5e4",
}


def loss_labels(name: str, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Labels that a loss takes, by sums, products and comparisons alone."""
    signal = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 3]) * np.float32(0.5) + y
    if name.startswith("binary:"):
        return y
    if name.startswith("multi:"):
        return np.clip(np.floor(np.abs(signal)), 0, OWN[name]["num_class"] - 1)
    if name in ("reg:logistic", "cross_entropy"):
        return np.clip(signal * np.float32(0.25), 0, 1)
    if name in ("rank:ndcg", "rank:pairwise"):
        return np.floor(np.minimum(np.abs(signal), 4))
    if name == "rank:map":
        return y
    if name == "count:poisson":
        return np.floor(np.abs(signal) * 2)
    if name == "reg:tweedie":
        return np.maximum(signal, 0)
    if name == "survival:cox":
        return np.rint(signal * 8)
    if name in ("survival:aft", "reg:gamma", "reg:squaredlogerror"):
        return np.abs(signal) + np.float32(0.25)
    return signal


def problem(name: str):
    X, y, _, _ = load_higgs7k()
    X = X[:3000].copy()
    rng = np.random.Generator(np.random.PCG64(0))
    X[rng.random(X.shape) < 0.1] = np.nan
    weight = rng.integers(0, 4, X.shape[0]).astype(np.float32)
    params = {"n_estimators": 5, "learning_rate": 0.1}
    if name in LOSSES:
        own = {"objective": name, **OWN.get(name, {})}
        qid = np.arange(3000) // 17 if name.startswith("rank:") else None
        weight = weight if qid is None else weight[::17]
        return {**params, **own}, Dataset(X, loss_labels(name, X, y[:3000]), weight, qid=qid)
    if name in SETTINGS:
        own = {"objective": "binary:logistic", "max_bin": 64, **SETTINGS[name]}
        label = loss_labels("multi:softprob" if name == "together" else "", X, y[:3000])
        if name == "targets":
            label = np.column_stack([label, np.nan_to_num(X[:, 1]), y[:3000]])
        elif own["objective"] == "binary:logistic":
            label = y[:3000]
        chance = rng.integers(1, 9, X.shape[1]) if name == "weighted columns" else None
        return {**params, **own}, Dataset(X, label, weight, feature_weights=chance)
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


@pytest.mark.parametrize("name", LOSSES)
def test_known_bytes_of_every_loss(name):
    assert digest(name, device=TEST_DEVICE) == LOSSES[name]
    assert digest(name, device=TEST_DEVICE, work_group_size=64) == LOSSES[name]


@pytest.mark.parametrize("name", SETTINGS)
def test_known_bytes_of_every_setting(name):
    assert digest(name, device=TEST_DEVICE) == GROWN[name]
    assert digest(name, device=TEST_DEVICE, work_group_size=64) == GROWN[name]


def test_settings_differ():
    assert len(set(GROWN.values())) == len(SETTINGS)


def test_every_loss_has_a_digest():
    assert LOSSES.keys() == OBJECTIVES.keys()


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
    names = [v.name for v in runnable("histogram", open_device("intel(r) opencl").caps)]
    histogram = "local_atomic" if "local_atomic" in names else "local_atomic_partials"
    more = {"device": "intel(r) opencl", "work_group_size": 64, "histogram": histogram}
    assert digest(name, **more) == EXPECTED[name]


@pytest.mark.intel
@pytest.mark.parametrize("name", LOSSES)
def test_intel_runtime_of_every_loss(name):
    if not any(d.usable and d.caps and d.caps.platform.startswith("Intel") for d in devices()):
        pytest.skip("Intel's CPU runtime is not installed: pip install 'pyopencl_gbdt[intel-cpu]'")
    assert digest(name, device="intel(r) opencl") == LOSSES[name]


@pytest.mark.intel
@pytest.mark.parametrize("name", SETTINGS)
def test_intel_runtime_of_every_setting(name):
    if not any(d.usable and d.caps and d.caps.platform.startswith("Intel") for d in devices()):
        pytest.skip("Intel's CPU runtime is not installed: pip install 'pyopencl_gbdt[intel-cpu]'")
    for size in (0, 64):
        more = {"device": "intel(r) opencl", "work_group_size": size}
        assert digest(name, **more) == GROWN[name]


def test_training_margins_are_predictions():
    params, data = problem("logistic")
    data.weight = None
    model = train({**params, "device": TEST_DEVICE}, data, evals=[(data, "train")])
    again = model.predict(data.values, device=TEST_DEVICE)
    from pyopencl_gbdt.metrics import logloss

    found = model.history["train"]["logloss"][-1]
    assert found == pytest.approx(logloss(data.label, again), rel=1e-7)
