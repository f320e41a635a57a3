"""Rounds of fewer launches, with fewer arguments, have the same trees."""

from itertools import chain

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, cv, train
from pyopencl_gbdt.device import joined_launches, open_device
from pyopencl_gbdt.device.launching import LAST_GROUP, PACKED_ARGUMENTS, Launching
from pyopencl_gbdt.device.program import Launch, Program
from pyopencl_gbdt.errors import KernelFallbackWarning, ParameterError
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.fit import Fit
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(45)
X = RNG.standard_normal((700, 6)).astype(np.float32)
X[::7, 2] = np.nan
SCORE = np.nan_to_num(X) @ RNG.standard_normal((6, 3)) + RNG.gumbel(size=(700, 3))
LEVELS = np.column_stack([RNG.integers(0, 9, 700), X[:, 1]]).astype(np.float32)
#: Data and parameters.
CASES = {
    "logistic": (Dataset(X, SCORE[:, 0] > 0), {"objective": "binary:logistic"}),
    "limited": (
        Dataset(X, SCORE[:, 1]),
        {"max_leaves": 6, "min_samples_leaf": 9, "path_smooth": 2.0},
    ),
    "classes": (
        Dataset(X, SCORE.argmax(1)),
        {
            "objective": "multi:softprob", "num_class": 3, "subsample": 0.7,
            "colsample_bynode": 0.6, "monotone_constraints": [1, -1],
        },
    ),
    "sets": (
        Dataset(LEVELS, SCORE[:, 2], categorical_features=[0]),
        {"cat_method": "sets", "reg_alpha": 0.1},
    ),
}  # fmt: skip


@pytest.fixture
def _gpu(monkeypatch):
    """Let the device have the kernels of GPUs."""
    monkeypatch.setenv("PYOPENCL_GBDT_PRETEND", "gpu")
    for data, _ in CASES.values():
        data.forget()
    yield
    for data, _ in CASES.values():
        data.forget()


def model(case, word, monkeypatch, packed="off"):
    """Return a model's bytes, and the launches of its batches of trees."""
    seen = []
    actions = Launching.actions

    def noted(own, given):
        found = actions(own, given)
        seen.append(found)
        return found

    data, params = CASES[case]
    with monkeypatch.context() as patch:
        patch.setenv(LAST_GROUP, word)
        patch.setenv(PACKED_ARGUMENTS, packed)
        patch.setattr(Launching, "actions", noted)
        own = {"device": TEST_DEVICE, "max_depth": 3, **params}
        return to_xgboost_json(train(own, data, 4).ensemble), list(chain(*seen))


def n_arguments(actions):
    return [len(one.enqueue.args) for one in actions if hasattr(one, "enqueue")]


@pytest.mark.thorough
@pytest.mark.more(3)
@pytest.mark.parametrize(
    ("case", "packed"),
    [
        ("logistic", "on"),
        ("limited", "on"),
        ("classes", "off"),
        ("logistic", "off"),
        ("sets", "on"),
    ],
)
@pytest.mark.usefixtures("_gpu")
def test_the_model_is_that_of_a_launch_for_each_kernel(case, packed, device, monkeypatch):
    """PoCL takes 10 s and more to build ``find_decide``."""
    apart, every = model(case, "off", monkeypatch)
    joined, fewer = model(case, "on", monkeypatch, packed)
    assert joined == apart
    names = [one.name for one in fewer]
    assert len(names) < len(every)
    assert len([name for name in names if name in ("find_decide", "move_place")]) >= 2
    packs = packed == "on" and device.caps.api == "opencl"
    assert (max(n_arguments(fewer)) < 12) == packs


@pytest.mark.usefixtures("_gpu")
def test_launches_with_few_arguments_grow_the_same_trees(device, monkeypatch):
    apart, every = model("logistic", "off", monkeypatch)
    few, packed = model("logistic", "off", monkeypatch, "on")
    assert few == apart
    assert [one.name for one in packed] == [one.name for one in every]
    if device.caps.api == "opencl":  # the fit's arrays lie in one allocation, codes do not
        assert max(n_arguments(packed)) <= 4


@pytest.mark.usefixtures("_gpu", "nothing_refused")
def test_launches_of_a_round(monkeypatch):
    """XGBoost launches several times as many."""
    monkeypatch.setenv(LAST_GROUP, "on")
    data, params = CASES["logistic"]
    found = Parameters.from_dict({"max_depth": 6, **params})
    fit = Fit(open_device(TEST_DEVICE), found, get_objective(found.objective, found), data, 0.0)
    (actions,) = fit.kernels.batches(joined=False)
    assert [action.name for action in actions] == [
        "quantize_gradients_begin_tree",
        *["histogram", "find_decide", "move_place"] * 5,
        "histogram", "find_decide", "finish_tree_keep", "add_leaves",
    ]  # fmt: skip


def test_a_program_that_waits_is_built_for_one_kernel(device, monkeypatch):
    """The first count of exponents has a program whose other kernels are launched by others."""
    data, params = CASES["logistic"]
    found = Parameters.from_dict({"max_depth": 6, **params})
    fit = Fit(device, found, get_objective(found.objective, found), data, 0.0)
    gradients = fit.kernels.gradients
    (count,) = gradients._counts(fit.parts.nodes.batches[0])
    assert fit.kernels.launching.alone(count) is count
    if device.caps.api != "opencl":
        return
    monkeypatch.setattr(gradients.program, "is_waiting", True)
    alone = fit.kernels.launching.alone(count)
    source = alone.enqueue.program.source
    assert "gradients(" in source
    assert "quantize_gradients(" not in source
    exponents, found = fit.parts.arena["exponents"], []
    for one in (count, alone):
        exponents.set(np.zeros(exponents.shape, exponents.dtype))  # GPUs have counted ahead
        one()
        found.append(exponents.get())
    np.testing.assert_array_equal(*found)
    assert found[0].any()


@pytest.mark.usefixtures("_gpu")
def test_only_folds_in_queues_of_their_own_pack_arguments(device, monkeypatch):
    calls = []
    monkeypatch.setattr(
        joined_launches, "packed", lambda actions, _: calls.append(actions) or actions
    )
    monkeypatch.setenv(PACKED_ARGUMENTS, "on")
    data, params = CASES["logistic"]
    for way, n_calls in ("joined", 0), ("queues", 2 * (device.caps.api == "opencl")):
        monkeypatch.setenv("PYOPENCL_GBDT_CONCURRENT_FITS", way)
        cv({"device": TEST_DEVICE, "max_depth": 3, **params}, data, 2, nfold=2, seed=5)
        assert len(calls) == n_calls, way


@pytest.mark.usefixtures("_gpu", "nothing_refused")
def test_a_launch_that_fails_is_two_again(monkeypatch):
    apart, _ = model("logistic", "off", monkeypatch)
    bind = Program.bind_checked

    def fails(program, name, groups, args):
        launch = bind(program, name, groups, args)
        return Launch(name, lambda: refused(program)) if name == "find_decide" else launch

    def refused(program):
        raise program.launch_error("no registers are left")

    monkeypatch.setattr(Program, "bind_checked", fails)
    with pytest.warns(KernelFallbackWarning, match=r"last_group: 'joined'.*'launches'"):
        again, names = model("logistic", "on", monkeypatch)
    assert again == apart
    # that was the first try; the second joins none
    assert "find_decide" in [one.name for one in names]


@pytest.mark.usefixtures("_gpu", "nothing_refused")
def test_a_launch_with_few_arguments_that_fails_has_many_again(device, monkeypatch):
    if device.caps.api != "opencl":
        pytest.skip("CUDA's launches keep their arguments")
    apart, _ = model("logistic", "off", monkeypatch)
    bind = Program.bind_fits

    def refused(program, name, groups, args, n_fits):
        def fails():
            raise program.launch_error("no registers are left")

        return Launch(name, fails) if name == "move" else bind(program, name, groups, args, n_fits)

    monkeypatch.setattr(Program, "bind_fits", refused)
    with pytest.warns(KernelFallbackWarning, match=r"arguments: 'packed'.*'each'"):
        again, _ = model("logistic", "off", monkeypatch, packed="on")
    assert again == apart


@pytest.mark.parametrize("environment", [LAST_GROUP, PACKED_ARGUMENTS])
def test_a_word_that_is_none(environment, monkeypatch):
    monkeypatch.setenv(environment, "yes")
    data, params = CASES["logistic"]
    with pytest.raises(ParameterError, match=f"{environment}='yes'"):
        train({"device": TEST_DEVICE, **params}, data, 1)
