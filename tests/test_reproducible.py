"""The same model file, byte for byte, whatever trains it."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import devices, open_device, runnable
from pyopencl_gbdt.messages import pip_install
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.model.formats.own_json import to_own_json
from pyopencl_gbdt.model.leaf_kinds import LINEAR
from pyopencl_gbdt.objectives import OBJECTIVES

from .conftest import TEST_DEVICE
from .higgs import load_higgs7k
from .known_digests import GROWN, LOSSES

#: Kernels of CPUs as the compiler optimises them: what users get, and where it could change bits.
OPTIMISED = True
THOROUGH = {"test_every_histogram_variant": lambda name, histogram: name != "heavy"}

#: SHA-256 of the model files below; they were the same on PoCL, Intel's CPU runtime and an NVIDIA
#: H200 through OpenCL and CUDA. A change of the algorithm changes them: update with the reason.
EXPECTED = {
    "logistic": "b651aa0d97447693f51e23ffda455178ca8192cbbafda499b3352a79caa17584",
    "squared": "0f429d4a72bd692bca4a3064268c703a7a5391c3a12687850a02a49c97d135ba",
    "heavy": "aca20b3266eaff2c43c651284dd2259e6c1e5e53bbd524c3820ba58d35d6d36c",
}
#: Of gradient-based sampling on data with heavy tails; the same on PoCL and Intel's CPU runtime.
HEAVY_TAILS = "f1c7eb1e2b1ac890055bb1245a6d1a77d1325a89258745ab7e6425f8f3bc8d9d"
#: Of contributions and interactions of 300 rows; the same on PoCL and on the host.
EXPLAINED = {
    "logistic": "b169dafd1949994fa681878d4af706a6e972376c026c1f0fc01d5bc7887c8eb5",
    "squared": "14728404755eeb57879e9cc749feedf273fb872fb357aa8c4b7a01364bea0ebc",
    "symmetric": "d3a331ebf5c39f3e238ad356750b4e3968233b5827d4adb1b7d3f798dae01ca9",
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
    "reg:expectileerror": {"expectile_alpha": 0.2},
}
POSITIVE = ("dist:gamma", "dist:lognormal")
SIGNS = [1, -1, 0, 1] * 7
GROUPS = [[0, 1, 2, 3], [3, 4, 5, 6, 7, 8], [7, *range(9, 28)]]
#: Parameters of how rows and columns are drawn and trees grow; of several trees a round.
SETTINGS = {
    "uniform": {"subsample": 0.5},
    "gradient_based": {"subsample": 0.3, "sampling_method": "gradient_based"},
    "goss": {"sampling_method": "goss", "learning_rate": 0.6},
    "random weights": {
        "bootstrap_type": "Bayesian", "bagging_temperature": 0.7, "subsample": 0.8,
        "num_parallel_tree": 2,
    },
    "kept sample": {"subsample": 0.6, "bagging_freq": 3},
    "steps of classes": {
        "leaf_estimation_iterations": 3, "objective": "multi:softprob", "num_class": 4,
        "subsample": 0.8,
    },
    "steps": {"leaf_estimation_iterations": 4, "reg_alpha": 0.2, "subsample": 0.8},
    "columns": {"colsample_bytree": 0.7, "colsample_bylevel": 0.6, "colsample_bynode": 0.5},
    "weighted columns": {"colsample_bytree": 0.6, "colsample_bynode": 0.5},
    "drawn borders": {"extra_trees": True, "min_child_weight": 5.0},
    "drawn borders, symmetric": {
        "extra_trees": True, "grow_policy": "symmetric", "num_parallel_tree": 2, "subsample": 0.8,
    },
    "noise": {"random_strength": 1.5, "min_child_weight": 5.0},
    "noise, lossguide": {
        "random_strength": 0.7, "grow_policy": "lossguide", "max_leaves": 21, "extra_trees": True,
    },
    "noise, symmetric": {
        "random_strength": 1.0, "grow_policy": "symmetric", "num_class": 4, "subsample": 0.8,
        "objective": "multi:softprob",
    },
    "monotone": {"monotone_constraints": SIGNS},
    "interactions": {"interaction_constraints": GROUPS},
    "lossguide": {"grow_policy": "lossguide", "max_leaves": 21, "max_depth": 0},
    "max_leaves": {"max_leaves": 21},
    "symmetric": {"grow_policy": "symmetric", "min_child_weight": 20.0},
    "dropped": {
        "booster": "dart", "rate_drop": 0.4, "one_drop": True, "num_class": 5,
        "objective": "multi:softprob", "num_parallel_tree": 2, "sample_type": "weighted",
    },
    "dropped, sets": {
        "booster": "dart", "rate_drop": 0.5, "cat_method": "sets", "num_parallel_tree": 2,
        "subsample": 0.8,
    },
    "ordered": {
        "boosting_type": "ordered", "permutation_count": 3, "subsample": 0.8,
        "monotone_constraints": SIGNS,
    },
    "ordered classes": {"boosting_type": "ordered", "objective": "multi:softprob", "num_class": 4},
    "forest": {"num_parallel_tree": 3, "subsample": 0.7, "colsample_bynode": 0.5},
    "targets": {"objective": "reg:squarederror"},
    "quantiles": {"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.5, 0.9]},
    "vectors": {
        "objective": "multi:softprob", "num_class": 4, "multi_strategy": "multi_output_tree",
        "num_parallel_tree": 2, "subsample": 0.8, "colsample_bylevel": 0.8, "reg_alpha": 0.5,
    },
    "symmetric vectors": {
        "objective": "multi:softprob", "num_class": 4, "multi_strategy": "multi_output_tree",
        "grow_policy": "symmetric", "min_child_weight": 20.0,
    },
    "sketches": {
        "objective": "multi:softprob", "num_class": 4, "multi_strategy": "multi_output_tree",
        "sketch": 2, "num_parallel_tree": 2, "subsample": 0.8, "gamma": 0.1,
    },
    "symmetric sketches": {
        "objective": "multi:softprob", "num_class": 4, "multi_strategy": "multi_output_tree",
        "sketch": 3, "grow_policy": "symmetric", "min_child_weight": 20.0,
    },
    "vectors, lossguide": {
        "objective": "multi:softprob", "num_class": 4, "multi_strategy": "multi_output_tree",
        "grow_policy": "lossguide", "max_leaves": 12, "max_depth": 0, "monotone_constraints": SIGNS,
        "sampling_method": "gradient_based", "subsample": 0.6,
    },
    "sketches, lossguide": {
        "objective": "multi:softprob", "num_class": 4, "multi_strategy": "multi_output_tree",
        "sketch": 2, "grow_policy": "lossguide", "max_leaves": 12, "max_depth": 0,
        "num_parallel_tree": 2, "subsample": 0.8, "gamma": 0.1,
    },
    "dropped vectors": {
        "booster": "dart", "rate_drop": 0.4, "one_drop": True, "num_class": 5,
        "objective": "multi:softprob", "multi_strategy": "multi_output_tree",
    },
    "sketches, monotone": {
        "objective": "multi:softprob", "num_class": 4, "multi_strategy": "multi_output_tree",
        "sketch": 2, "monotone_constraints": SIGNS, "reg_alpha": 0.5, "subsample": 0.8,
    },
    "vectors, sets": {
        "objective": "multi:softprob", "num_class": 4, "multi_strategy": "multi_output_tree",
        "cat_method": "sets", "grow_policy": "lossguide", "max_leaves": 12, "subsample": 0.8,
    },
    "sketches, sets": {
        "objective": "multi:softprob", "num_class": 4, "multi_strategy": "multi_output_tree",
        "sketch": 2, "cat_method": "sets", "subsample": 0.8,
    },
    "sketches, steps": {
        "objective": "multi:softprob", "num_class": 4, "multi_strategy": "multi_output_tree",
        "sketch": 2, "leaf_estimation_iterations": 3, "monotone_constraints": SIGNS,
    },
    "sketches, quantiles": {
        "objective": "reg:quantileerror", "quantile_alpha": [0.2, 0.5, 0.9], "sketch": 2,
        "multi_strategy": "multi_output_tree", "subsample": 0.8,
    },
    "sketches, ordered": {
        "objective": "multi:softprob", "num_class": 4, "multi_strategy": "multi_output_tree",
        "sketch": 2, "boosting_type": "ordered",
    },
    "smoothed": {"path_smooth": 20.0, "subsample": 0.8},
    "smoothed, sets": {
        "path_smooth": 20.0, "cat_method": "sets", "grow_policy": "lossguide", "max_leaves": 12,
    },
    "forced splits": {
        "forced_splits": {"feature": 2, "threshold": 0.5, "left": {"feature": 5, "threshold": 1.0}},
        "grow_policy": "lossguide", "max_leaves": 12, "max_depth": 0,
    },
    "distributions": {"objective": "dist:normal", "multi_strategy": "multi_output_tree"},
    "XGBoost's bins": {"cut_rule": "xgboost", "max_bin": 256},
    "linear leaves": {"linear_tree": True, "linear_lambda": 0.5, "subsample": 0.8},
    "linear leaves, symmetric": {
        "linear_tree": True, "grow_policy": "symmetric", "num_class": 4,
        "objective": "multi:softprob",
    },
    "together": {
        "objective": "multi:softprob", "num_class": 4, "num_parallel_tree": 2, "subsample": 0.8,
        "grow_policy": "lossguide", "max_leaves": 12, "monotone_constraints": SIGNS,
        "interaction_constraints": GROUPS, "colsample_bylevel": 0.8,
    },
}  # fmt: skip


def larger_groups(names):
    """Each name with groups of 64 work-items; every sixth is no more than thorough."""
    for place, name in enumerate(names):
        mark = pytest.mark.exhaustive if place % 6 else pytest.mark.thorough
        yield pytest.param(name, 64, marks=mark)


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
    if name in ("count:poisson", "dist:negative_binomial"):
        return np.floor(np.abs(signal) * 2)
    if name == "reg:tweedie":
        return np.maximum(signal, 0)
    if name == "survival:cox":
        return np.rint(signal * 8)
    if name in ("survival:aft", "reg:gamma", "reg:squaredlogerror", *POSITIVE):
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
        label = loss_labels("multi:softprob" if "num_class" in own else "", X, y[:3000])
        if name == "targets":
            label = np.column_stack([label, np.nan_to_num(X[:, 1]), y[:3000]])
        elif own["objective"] == "binary:logistic":
            label = y[:3000]
        more = {}
        if name == "weighted columns":
            more["feature_weights"] = rng.integers(1, 9, X.shape[1])
        elif name.endswith(", sets"):
            X[:, :4], more["categorical_features"] = np.floor(X[:, :4] * 6), range(4)
        elif name == "XGBoost's bins":  # of more or fewer values than bins
            X[:, ::2] = np.floor(X[:, ::2] * 128) / 128
            X[:, 1::2] = np.floor(X[:, 1::2] * 32) / 32
        return {**params, **own}, Dataset(X, label, weight, **more)
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
    text = to_own_json(ensemble) if ensemble.leaves is LINEAR else to_xgboost_json(ensemble)
    return hashlib.sha256(text.encode()).hexdigest()


HISTOGRAMS = [v.name for v in runnable("histogram", open_device(TEST_DEVICE).caps)]


@pytest.mark.parametrize("name", EXPECTED)
def test_known_bytes(name):
    assert digest(name, device=TEST_DEVICE) == EXPECTED[name]


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("name", "size"), [*((name, 0) for name in LOSSES), *larger_groups(LOSSES)]
)
def test_known_bytes_of_every_loss(name, size):
    assert digest(name, device=TEST_DEVICE, work_group_size=size) == LOSSES[name]


@pytest.mark.few(3)
@pytest.mark.more(13)
@pytest.mark.parametrize(
    ("name", "size"), [*((name, 0) for name in SETTINGS), *larger_groups(SETTINGS)]
)
def test_known_bytes_of_every_setting(name, size):
    assert digest(name, device=TEST_DEVICE, work_group_size=size) == GROWN[name]


def test_settings_differ():
    assert len(set(GROWN.values())) == len(SETTINGS)


def test_every_loss_has_a_digest():
    assert LOSSES.keys() == OBJECTIVES.keys()


@pytest.mark.few(6)
@pytest.mark.more(3)
@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("histogram", HISTOGRAMS)
def test_every_histogram_variant(name, histogram):
    assert digest(name, device=TEST_DEVICE, histogram=histogram) == EXPECTED[name]


@pytest.mark.few(2)
@pytest.mark.parametrize("size", [32, 64, 256])
def test_three_work_group_sizes(size):
    for histogram in ("auto", "local_atomic"):
        more = {"device": TEST_DEVICE, "work_group_size": size, "histogram": histogram}
        assert digest("logistic", **more) == EXPECTED["logistic"]


def test_repeats():
    assert {digest("squared", device=TEST_DEVICE) for _ in range(2)} == {EXPECTED["squared"]}


@pytest.fixture(scope="module")
def intel():
    """Return the name of Intel's CPU runtime, if it is here."""
    if not any(d.usable and d.caps and d.caps.platform.startswith("Intel") for d in devices()):
        pytest.skip(f"Intel's CPU runtime is not installed: {pip_install('intel-cpu')}")
    return "intel(r) opencl"


@pytest.mark.intel
@pytest.mark.parametrize("name", EXPECTED)
def test_intel_runtime(name, intel):
    assert digest(name, device=intel) == EXPECTED[name]


@pytest.mark.intel(vectorised=True)
@pytest.mark.parametrize("name", EXPECTED)
def test_intel_runtime_with_local_atomics(name, intel):
    more = {"device": intel, "work_group_size": 64, "histogram": "local_atomic"}
    assert digest(name, **more) == EXPECTED[name]


@pytest.mark.intel
@pytest.mark.parametrize("name", LOSSES)
def test_intel_runtime_of_every_loss(name, intel):
    assert digest(name, device=intel) == LOSSES[name]


@pytest.mark.intel
@pytest.mark.parametrize("name", SETTINGS)
def test_intel_runtime_of_every_setting(name, intel):
    assert digest(name, device=intel) == GROWN[name]


@pytest.mark.intel(vectorised=True)
@pytest.mark.parametrize("name", list(SETTINGS)[::8])
def test_intel_runtime_in_groups_of_64(name, intel):
    """PoCL trains every setting in such groups, ``tests.portability`` others in those of 256."""
    assert digest(name, device=intel, work_group_size=64) == GROWN[name]


def heavy_tails(seed, device):
    """Return the model's JSON where sums of importances need more bits than a float has."""
    rng = np.random.default_rng(seed)
    X = rng.standard_t(1.5, (2000, 4)).astype(np.float32)
    y = (X[:, 0] * np.sign(X[:, 1]) + rng.standard_t(1.2, 2000) > 0).astype(np.float32)
    params = {"objective": "binary:logistic", "sampling_method": "gradient_based"}
    more = {"subsample": 0.2, "random_state": seed, "device": device}
    return to_xgboost_json(train({**params, **more}, Dataset(X, y), 60).ensemble)


def test_known_bytes_of_heavy_tails():
    assert hashlib.sha256(heavy_tails(0, TEST_DEVICE).encode()).hexdigest() == HEAVY_TAILS


@pytest.mark.intel
def test_intel_runtime_draws_the_same_rows_of_heavy_tails(intel):
    for seed in range(5):
        assert heavy_tails(seed, intel) == heavy_tails(seed, TEST_DEVICE)


@pytest.mark.few(2)
@pytest.mark.parametrize("name", EXPLAINED)
def test_known_bytes_of_contributions(name):
    """The host has the bits of the device; 3000 rows of symmetric trees take tables of patterns."""
    more = {"grow_policy": "symmetric"} if name == "symmetric" else {}
    params, data = problem("logistic" if more else name)
    model = train({**params, **more, "device": TEST_DEVICE}, data)
    found = [
        model.predict(data.values, pred_contribs=True, device=TEST_DEVICE)[:300],
        model.predict(data.values[:300], pred_interactions=True, device=TEST_DEVICE),
    ]
    content = b"".join(np.ascontiguousarray(one, "<f8").tobytes() for one in found)
    assert hashlib.sha256(content).hexdigest() == EXPLAINED[name]
    few = [model.predict(data.values[i : i + 9], pred_contribs=True) for i in range(0, 18, 9)]
    assert np.concatenate(few).tobytes() == found[0][:18].tobytes()


def test_training_margins_are_predictions():
    params, data = problem("logistic")
    data.weight = None
    model = train({**params, "device": TEST_DEVICE}, data, evals=[(data, "train")])
    again = model.predict(data.values, device=TEST_DEVICE)
    from pyopencl_gbdt.metrics import logloss

    found = model.history["train"]["logloss"][-1]
    assert found == pytest.approx(logloss(data.label, again), rel=1e-7)
