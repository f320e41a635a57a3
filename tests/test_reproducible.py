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

#: Kernels of CPUs as the compiler optimises them: what users get, and where it could change bits.
OPTIMISED = True
#: Of work-groups; 0 is the device's choice.
SIZES = [0, pytest.param(64, marks=pytest.mark.thorough)]
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
#: Of every loss of ``objectives``; the same on PoCL and Intel's CPU runtime so far. ``OWN`` has
#: parameters of its own.
LOSSES = {
    "reg:squarederror": "bc010b86c92c50158116b2f75ca6088e8c3473aad7d95d3f78f148f9194ca782",
    "reg:squaredlogerror": "d4b2c5ee43798847e4387369e66ba2bb4d7c1d1953f9a8ad2d42c4eb10b21d28",
    "reg:pseudohubererror": "97c53c4efc0374e43bcd6a9a585994f03ec1bb2a6e6429ae66a8781141ffba7e",
    "reg:gamma": "a62d8264a9da4b906813b0c934a9edfe8d604cc3dac6dd194a392c8b17137759",
    "reg:tweedie": "77de18091b9a8caa2e6a5f8ec394ba6b03736bbb79d3b963504615a5aee25249",
    "reg:logistic": "b94df8ccf5d2e41024d1a3f5edb39b30e3a4204796be064c946603a522313938",
    "count:poisson": "d6bda4ff34a31ed14ba04ea34de39cbbcb9988b30c5af108aa42417d9ef7408a",
    "binary:logistic": "b651aa0d97447693f51e23ffda455178ca8192cbbafda499b3352a79caa17584",
    "binary:logitraw": "3b6035203797063adc6f631747867827c94ff05c6c4aeb0d31895a55d3b7c08d",
    "binary:hinge": "c82c3c6bc76c068a60f0ef96c7094665c51813a3fc0553842633215006bfb448",
    "rank:ndcg": "87ba0f5cb428a69687352bb6c0819a8995a795d31fedf3ba6b7f029cf7e4689f",
    "rank:map": "2d0349add3ccaa8960cd11ea44e616f8ba88f99fd2bd0ce748d00675522dcb53",
    "rank:pairwise": "6ebb99d2180f03c6579cb9ad1b9bf13c82438b4cb03eb19e43e91651a018dc1e",
    "survival:cox": "f8d832add3f9d46fe507ed11782d757f1ec26fb17be1a6c1abb5a0f35ee59507",
    "survival:aft": "fb0057fb5b0626d60fb63d9d056984953e65e569553dd8052ca6b26d6ac2d3fe",
    "huber": "647ee02abd8cd258a65dd7789aab7cb8711266793799c515bd5732da029bacdf",
    "fair": "3c06e0bcdaba409ba49624a9cb8cd94c7680372b9e140c547508a73959b753b6",
    "mape": "faf9ec016e2abcf29988489faf7f34af5297c0ae87752fbb8f8043d45b08262a",
    "reg:absoluteerror": "92e602fc94e2a9fc6cd9a3ebd89b0f15b8b007c540d3c42f563b7a44316eb3e6",
    "reg:quantileerror": "f035a7489e5b25861aecadec3b8aa68086e1c9f9353bd4417eb6a61eedc22b63",
    "reg:expectileerror": "ed20de5cfa23fdf23b4f971278de6ec436302bc2cbf6490b9af63abfc51bceb7",
    "cross_entropy": "373e9f91f8d6da94a68ee9fd7cc044b74e746af6848d10902553ed0dce8a8e98",
    "dist:normal": "cb8b9bbad9f77b91ca1c562ca751fa4db774428b882f0fd788e6c00f5568a541",
    "dist:lognormal": "9036394199f0d3e3ce822b369195c875c631b47878cc62200ae094464396d8f6",
    "dist:gamma": "e772db7a64512d7d2b2ab36c6fbfcb9c8847005029849ff90e1b99fc2af4ccda",
    "dist:negative_binomial": "1f496a20575f8417bad899f26d43eb88acf173bca92ddfe52fba57060a167029",
    "multi:softprob": "00447dbdf2630622cf206eeb625615c9c01e1d83e739fd7ba04e155f05384304",
    "multi:softmax": "6de4019051f433ba9ebc429ee6c57ef9bf41876b63951cc57ea357bc6dd43687",
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
    "smoothed": {"path_smooth": 20.0, "subsample": 0.8},
    "forced splits": {
        "forced_splits": {"feature": 2, "threshold": 0.5, "left": {"feature": 5, "threshold": 1.0}},
        "grow_policy": "lossguide", "max_leaves": 12, "max_depth": 0,
    },
    "distributions": {"objective": "dist:normal", "multi_strategy": "multi_output_tree"},
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
#: Of each of ``SETTINGS``; the same on PoCL and Intel's CPU runtime so far (ordered, linear: PoCL).
GROWN = {
    "uniform": "bc17994e399e8ca372218aae91a146330972b25a26e2bc41732ea1402e8ce5de",
    "gradient_based": "88e4d3b0a29f8df211ca6a7a3acb020b2a0f7b0040c01f482c0e63f353fbadfc",
    "goss": "14fe79046bda15d87ed9417e8b320ff7bd5f08275db44ff73273381c1700254d",
    "random weights": "d8742d4cc5d8325b86ab91a6757fe4b8a2518174d3690d5f71eb8d5e2840928f",
    "kept sample": "eb589512bdcadc3c18284842722655019d5c91a9e7b237c91da3bdd4fbec07fa",
    "steps of classes": "90f9010168c42219c0bce5c2e57d6920daeee96c6a19f4ae426d795f3074a008",
    "steps": "a6de26fc2fc552d27e7cdebc4d2d1e3403c27355addd724b6d0cd34527e51d08",
    "columns": "28c68d23057fb0852922f162fb747596bfd3c9a50a330123409f0b3875e49740",
    "weighted columns": "9d5103e9f7431a95b122d0cf89be6e14320f8b97f27200dde6038fa406dcea2c",
    "monotone": "3899d8aae278e2eb8fcd813ff86e337b909f9d8b53bd9c3c32e12b281321cec7",
    "interactions": "4adce89d605115673994e2cde03ebf6f11803e859367e08bfcb9625558322503",
    "lossguide": "5eb17ba934bf8fa243de2555c75b103510b451d8ab84f2a0a321b6f13d675123",
    "max_leaves": "4ccc4e2d93d9353c01e91ce4463da7b1e6dd2e8c16c2d9b42cef4191df602565",
    "symmetric": "0371d12175246ecfa43ee2c2a6c283efe4627d025d6bb70745925d82afec0728",
    "dropped": "8e6927ef00b99f44a09a7dcdbd4d05a61fb843eaaf13e2f4589887f5e819ca4c",
    "dropped, sets": "eaf1fa6e3790cc123398307a6e8044f60cbd4652d224b37730a6998c1713ec84",
    "ordered": "ab93bf17b28395d30bdae6ef081218e78cb8a09405dd9d522d984a6e1831d411",
    "ordered classes": "102fc27347a7bd04d0c6f9c8e67d7c67dd1f98ccb8a79d4b7812ff9e1d94e3fc",
    "forest": "f2be3a2bac06c239e884440bb0c706ed002991110a4e5c87b2cd83d760c3a6f7",
    "targets": "458210e6ae9551e9c8cfa2632fc4285598564c11d107fed2a4b3aef680646e12",
    "quantiles": "d836d9bd3c4d3ebff3711b2ac8783804a4cbfebf8123a4a3779f93a27b28ec35",
    "vectors": "1e5a9e6d1607e080aeac0c551cef8c2780c8a86700384d29ae1872d5ce33cfe1",
    "symmetric vectors": "7226c3fd96e02206d46e83ba601280f00bc8abc2b871e071a6bfe80cccc6b9c7",
    "vectors, lossguide": "8707d0ff45509a78ba1f38ee6b04b0232666e2a2730dc57b9802ca1f08c5859d",
    "sketches, lossguide": "778f56601d53e7021b8f2f76291a1e33057bf39922674bde60b2346055482987",
    "dropped vectors": "ed2602a5ea441d1269d629db5f8d96c2b9ba3d20b7a2c197183c00c6e77abea8",
    "sketches, monotone": "b27261ad910450b1c8c99a09aed45596f31e2bb31465170ac02573a3dd3572ba",
    "vectors, sets": "936259bb63736478cfda8663f27119a987325f9ec586b61326db2f0896e74ce1",
    "smoothed": "d3dd496e8ce5abee06747bae15fe99bcb6d5c2393be0fbc02fa547bd86a5c6d8",
    "forced splits": "294f6f63103ca92f7067694c73192a5a7325bf200ebba114b51acfc3bce6425c",
    "drawn borders": "57c8f2d8f60601a1e310e350c6ab32a7f68a399de1f9c883d597fc3b1494cad1",
    "drawn borders, symmetric": "1342d33327e2274324abbb6b08c85d0b81d810ebd4c326df3ea22325f0ab4aa3",
    "sketches": "def8770f9c4a715c450e813ee696b2fb5d6726fd637ba40cda139c2c6e0b11e1",
    "symmetric sketches": "d706f8d2c4d4ce325dd5d6acb9784928381a23730ae27a2b52e3dcc68170f7e7",
    "distributions": "79e8bb1a717f949966fe4cc8630ccbd91db6d01d22493a28cac10828f12c4d22",
    "noise": "a818cd084318f64ae65fca64c4058b1eb5adb39c51c05ac9b4cd37b5e7914f63",
    "noise, lossguide": "a88e2cd7137adc8d1a3f7d32942ddffd1faf74ff082981ad066548ee4ea37ecb",
    "noise, symmetric": "f14f89e60728f20e2a97d680103f1d30b977512e44c1ac82233e3534baef6bb2",
    "linear leaves": "e6e2a04e7c33bc6633341692b7dd055c723e692e5be2b205adef6005d6ce6265",
    "linear leaves, symmetric": "b1fc7ea177516d03a8111e587d7c739f027a7524390a85c0effc131e4a9705fe",
    "together": "95fd8d4bc04de9f1b6faf0198c3b41225edbff3c3083f519b5c65e7ee0c701cd",
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
        elif name in ("vectors, sets", "dropped, sets"):
            X[:, :4], more["categorical_features"] = np.floor(X[:, :4] * 6), range(4)
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
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", LOSSES)
def test_known_bytes_of_every_loss(name, size):
    assert digest(name, device=TEST_DEVICE, work_group_size=size) == LOSSES[name]


@pytest.mark.few(6)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", SETTINGS)
def test_known_bytes_of_every_setting(name, size):
    assert digest(name, device=TEST_DEVICE, work_group_size=size) == GROWN[name]


def test_settings_differ():
    assert len(set(GROWN.values())) == len(SETTINGS)


def test_every_loss_has_a_digest():
    assert LOSSES.keys() == OBJECTIVES.keys()


@pytest.mark.few(6)
@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("histogram", HISTOGRAMS)
def test_every_histogram_variant(name, histogram):
    assert digest(name, device=TEST_DEVICE, histogram=histogram) == EXPECTED[name]


@pytest.mark.parametrize("size", [32, 64, 256])
def test_three_work_group_sizes(size):
    for histogram in ("auto", "local_atomic"):
        more = {"device": TEST_DEVICE, "work_group_size": size, "histogram": histogram}
        assert digest("logistic", **more) == EXPECTED["logistic"]


def test_repeats():
    assert {digest("squared", device=TEST_DEVICE) for _ in range(4)} == {EXPECTED["squared"]}


@pytest.mark.intel
@pytest.mark.parametrize("name", EXPECTED)
def test_intel_runtime(name):
    if not any(d.usable and d.caps and d.caps.platform.startswith("Intel") for d in devices()):
        pytest.skip(f"Intel's CPU runtime is not installed: {pip_install('intel-cpu')}")
    assert digest(name, device="intel(r) opencl") == EXPECTED[name]
    more = {"device": "intel(r) opencl", "work_group_size": 64, "histogram": "local_atomic"}
    assert digest(name, **more) == EXPECTED[name]


@pytest.mark.intel
@pytest.mark.parametrize("name", LOSSES)
def test_intel_runtime_of_every_loss(name):
    if not any(d.usable and d.caps and d.caps.platform.startswith("Intel") for d in devices()):
        pytest.skip(f"Intel's CPU runtime is not installed: {pip_install('intel-cpu')}")
    assert digest(name, device="intel(r) opencl") == LOSSES[name]


@pytest.mark.intel
@pytest.mark.parametrize("name", SETTINGS)
def test_intel_runtime_of_every_setting(name):
    if not any(d.usable and d.caps and d.caps.platform.startswith("Intel") for d in devices()):
        pytest.skip(f"Intel's CPU runtime is not installed: {pip_install('intel-cpu')}")
    for size in (0, 64):
        more = {"device": "intel(r) opencl", "work_group_size": size}
        assert digest(name, **more) == GROWN[name]


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
def test_intel_runtime_draws_the_same_rows_of_heavy_tails():
    if not any(d.usable and d.caps and d.caps.platform.startswith("Intel") for d in devices()):
        pytest.skip("Intel's CPU runtime is not installed: pip install 'pyopencl_gbdt[intel-cpu]'")
    for seed in range(5):
        assert heavy_tails(seed, "intel(r) opencl") == heavy_tails(seed, TEST_DEVICE)


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
