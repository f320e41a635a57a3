"""``profile=True``: every kernel with its time and bytes, and the same model as without."""

import pickle

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.cli import main
from pyopencl_gbdt.cli.output import WIDTH
from pyopencl_gbdt.device import bandwidth, open_device, runnable
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.profiling.profile import ROUNDS, SET_UP, KernelTime, Profile
from pyopencl_gbdt.training.fit import Fit
from tests.cli_samples import LOGISTIC, SMALL, write_rows
from tests.conftest import TEST_DEVICE
from tests.training.test_work import round_launches

RNG = np.random.default_rng(8)
N_ROWS, N_ROUNDS = 700, 3
X = RNG.standard_normal((N_ROWS, 5)).astype(np.float32)
X[RNG.random(X.shape) < 0.1] = np.nan
Y = (np.nan_to_num(X[:, 0]) > 0).astype(np.float32)
#: More than all that a fit of these data has on a device.
MOST_BYTES = 4_000_000
PARAMS = {"objective": "binary:logistic", "device": TEST_DEVICE, "max_depth": 4}


@pytest.fixture(autouse=True)
def _small_yardstick(monkeypatch):
    sizes = dict.fromkeys(("cpu", "gpu", "accelerator"), 8_000_000)
    monkeypatch.setattr(bandwidth, "_MOST_BYTES", sizes)


@pytest.mark.usefixtures("cut_by_kernels")
@pytest.mark.parametrize("weight", [None, RNG.integers(0, 3, N_ROWS)])
def test_every_kernel_is_listed_with_its_bytes_and_the_model_is_the_same(device, weight):
    for variant in runnable("histogram", device.caps):
        params = {**PARAMS, "histogram": variant.name}
        evals = [(Dataset(X[:99], Y[:99]), "e")]
        plain = train(params, Dataset(X, Y, weight), N_ROUNDS, evals=evals)
        model = train(params, Dataset(X, Y, weight), N_ROUNDS, evals=evals, profile=True)
        assert to_xgboost_json(model.ensemble) == to_xgboost_json(plain.ensemble)
        assert model.history == plain.history
        assert plain.profile is None
        unknown = [k.kernel for k in model.profile if k.bytes is None]
        assert unknown == [], "write a formula in pyopencl_gbdt/profiling/"
        kernels = {(k.phase, k.kernel) for k in model.profile}
        assert len(kernels) == len(model.profile)
        assert {(SET_UP, "quantize.encode"), (ROUNDS, "histogram"), (ROUNDS, "predict")} <= kernels


SIGNAL = np.nan_to_num(X[:, 0])
GRADES = np.clip(np.floor(SIGNAL + 1.5), 0, 2)
QUERIES = [20] * (N_ROWS // 20)
TIMES = np.exp(SIGNAL) * np.where(Y > 0, 1, -1)
LEAF_WISE = {"grow_policy": "lossguide", "max_leaves": 9, "max_depth": 0}
CLASSES = {"objective": "multi:softprob", "num_class": 3}
QUANTILES = {"objective": "reg:quantileerror", "quantile_alpha": [0.2, 0.8]}
FOREST = {"num_parallel_tree": 5, "subsample": 0.7, "colsample_bynode": 0.5}
GOSS = {"sampling_method": "goss", "learning_rate": 0.5}
CLICKS = {
    "objective": "rank:map", "lambdarank_pair_method": "mean", "lambdarank_unbiased": True
}  # fmt: skip
TARGETS = np.stack([SIGNAL, Y], 1)
#: (parameters, data, a kernel that is among those listed)
WAYS = {
    "classes": (CLASSES, {"label": GRADES}, "gradients.softmax"),
    "targets": ({"objective": "reg:squarederror"}, {"label": TARGETS}, "gradients"),
    "quantiles": (QUANTILES, {}, "renew_leaves.renew"),
    "forest": (FOREST, {}, "plan.choose_columns"),
    "goss": (GOSS, {}, "gradients.count_classes"),
    "leaf-wise": ({**LEAF_WISE, "reg_alpha": 0.1}, {}, "plan.decide_picked"),
    "leaf-wise in one launch": (LEAF_WISE, {}, "whole_trees.grow_leaves"),
    "columns": ({**LEAF_WISE, "colsample_bytree": 0.5}, {}, "plan.finish_tree"),
    "symmetric": ({"grow_policy": "symmetric"}, {}, "plan.finish_tree"),
    "symmetric steps": (
        {"grow_policy": "symmetric", "reg_alpha": 0.1},
        {},
        "symmetric.find_roughly",
    ),
    "exact": ({"tree_method": "exact"}, {}, "exact.find"),
    "exact leaf-wise": ({"tree_method": "exact", **LEAF_WISE}, {}, "columns.move_entries"),
    "exact quantiles": ({"tree_method": "exact", **QUANTILES}, {}, "renew_leaves.renew"),
    "approx": ({"tree_method": "approx", "max_bin": 8}, {}, "approx.cut_roots"),
    "approx by node": (
        {"tree_method": "approx", "proposal": "local", "max_bin": 8},
        {},
        "approx.mark_ends",
    ),
    "ordered": ({"boosting_type": "ordered"}, {}, "ordered_leaves.sum_entries"),
    "steps": ({"leaf_estimation_iterations": 3}, {}, "newton_leaves.sum_rows"),
    "dropped": ({"booster": "dart", "rate_drop": 0.5}, {}, "dropout.change"),
    "max_leaves": ({"max_leaves": 7}, {}, "plan.decide"),
    "top": ({"objective": "rank:ndcg"}, {"label": GRADES, "group": QUERIES}, "gradients.lambdas"),
    "clicks": (CLICKS, {"group": QUERIES}, "gradients.update_bias"),
    "cox": ({"objective": "survival:cox"}, {"label": TIMES}, "cox.cox_gradients"),
    "aft": ({"objective": "survival:aft"}, {"label": np.abs(TIMES)}, "aft.aft_gradients"),
}


@pytest.mark.few(3)
@pytest.mark.more(6)
@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_training_has_sensible_bytes(way):
    own, data, kernel = WAYS[way]
    rows = Dataset(X, **{"label": Y, **data})
    evals = [(Dataset(X[:100], **{"label": Y[:100]}), "e")] if way == "forest" else []
    profile = train({**PARAMS, **own}, rows, N_ROUNDS, evals=evals, profile=True).profile
    assert kernel in {k.kernel for k in profile}
    for k in profile:
        assert k.bytes is not None, f"register the bytes of {k.kernel} in tree_traffic.py"
        # of these data in memory, each launch moves everything once at most
        assert 0 <= k.bytes <= k.launches * MOST_BYTES, k.kernel


def test_times_and_rates_belong_together():
    profile = train(PARAMS, Dataset(X, Y), N_ROUNDS, profile=True).profile
    for k in profile:
        assert isinstance(k, KernelTime)
        assert k.launches > 0
        assert k.seconds > 0
        assert k.gigabytes_per_second == pytest.approx(k.bytes / k.seconds / 1e9)
        if k.kernel in ("upload", "download"):
            assert k.share_of_copy is None
        else:
            rate = 1e9 * k.gigabytes_per_second
            assert k.share_of_copy == pytest.approx(rate / profile.copy_bandwidth)
    for phase in (SET_UP, ROUNDS):
        seconds = [k.seconds for k in profile if k.phase == phase]
        assert seconds == sorted(seconds, reverse=True)
        assert profile.seconds(phase) == pytest.approx(sum(seconds))
        assert profile.wall_seconds[phase] > 0
    assert profile.rounds == N_ROUNDS


def test_launches_are_those_of_the_rounds(monkeypatch):
    monkeypatch.setenv("PYOPENCL_GBDT_LAST_GROUP", "off")  # as a profile does without
    opened = open_device(TEST_DEVICE)
    parameters = Parameters.from_dict(PARAMS)
    fit = Fit(opened, parameters, get_objective(parameters.objective), Dataset(X, Y), 0.0)
    profile = train(PARAMS, Dataset(X, Y), N_ROUNDS, profile=True).profile
    copies = {"copy", "download", "upload", "fill"}
    kernels = [k for k in profile if k.phase == ROUNDS and k.kernel not in copies]
    assert sum(k.launches for k in kernels) == N_ROUNDS * len(round_launches(fit))


def test_profiling_waits_between_phases_only():
    waits = {}
    for profile in (False, True):
        opened = open_device(TEST_DEVICE, profile=profile)
        parameters = Parameters.from_dict(PARAMS)
        fit = Fit(opened, parameters, get_objective(parameters.objective), Dataset(X, Y), 0.0)
        before = opened.n_waits
        fit.run(N_ROUNDS)
        waits[profile] = opened.n_waits - before
    assert waits[True] == waits[False] == 4  # two looks at high words, trees are read once


def test_data_that_were_quantised_before_have_no_set_up_kernels():
    data = Dataset(X, Y)
    train(PARAMS, data, 1)
    profile = train(PARAMS, data, 1, profile=True).profile
    assert not any(k.kernel.startswith(("quantize", "radix_sort")) for k in profile)


def test_no_rounds():
    profile = train(PARAMS, Dataset(X, Y), 0, profile=True).profile
    assert "0 rounds" in profile.table()


def test_the_table_fits_a_terminal_and_the_profile_pickles():
    profile = train(PARAMS, Dataset(X, Y), N_ROUNDS, profile=True).profile
    text = profile.table()
    assert all(len(line) <= WIDTH for line in text.splitlines())
    assert all(k.kernel in text for k in profile)
    again = pickle.loads(pickle.dumps(profile))
    assert isinstance(again, Profile)
    assert again == profile
    assert again.table() == text


def test_a_kernel_without_bytes_has_a_line_too():
    kernel = KernelTime("new.kernel", ROUNDS, 3, 0.5, None, None, None)
    profile = Profile([kernel], device="d", rounds=1, wall_seconds={}, copy_bandwidth=1e9)
    (line,) = [line for line in profile.table().splitlines() if "new.kernel" in line]
    assert line.split() == ["new.kernel", "3", "500.000", "100.0%"]


def test_estimators_take_it_too():
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    from pyopencl_gbdt import GBDTClassifier

    fitted = GBDTClassifier(n_estimators=2, device=TEST_DEVICE).fit(X, Y, profile=True)
    assert fitted.model_.profile.rounds == 2
    assert fitted.fit(X, Y).model_.profile is None


@pytest.mark.usefixtures("step_by_step")
def test_command_line(tmp_path, capsys):
    data, saved = str(write_rows(tmp_path / "a.csv")), tmp_path / "m.json"
    assert main(["train", data, "--model", str(saved), *SMALL, *LOGISTIC]) == 0
    assert "histogram  " not in capsys.readouterr().out
    plain = saved.read_bytes()
    assert main(["train", data, "--model", str(saved), *SMALL, *LOGISTIC, "--profile"]) == 0
    said = capsys.readouterr().out
    assert saved.read_bytes() == plain
    assert "3 rounds" in said
    assert "split.find" in said
    assert "GB/s" in said
