"""A fit that ends early: Ctrl-C, a kernel that is refused, a device that goes away in the middle.

Whatever happens, the device's memory is free again, the estimator stays as it was, and the next fit
gives the model that it always gives.
"""

from __future__ import annotations

import signal
import warnings

import numpy as np
import pyopencl as cl
import pytest

import pyopencl_gbdt.training
from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.cli import main
from pyopencl_gbdt.device import Launch, choose, fallback, open_device, variants
from pyopencl_gbdt.device import opencl as opencl_module
from pyopencl_gbdt.device.pace import LONG_ROUNDS, SHORT_ROUNDS, Pace
from pyopencl_gbdt.device.variants import fallbacks
from pyopencl_gbdt.errors import (
    DeviceError,
    KernelFallbackWarning,
    KernelLaunchError,
    MemoryPlanError,
)
from pyopencl_gbdt.frames import clear_frames
from pyopencl_gbdt.model import to_xgboost_json
from tests.cli_samples import SMALL, write_rows
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(4)
X = RNG.standard_normal((300, 4)).astype(np.float32)
Y = (X[:, 0] > 0).astype(np.float32)
PARAMS = {"device": TEST_DEVICE, "n_estimators": 4, "objective": "binary:logistic"}


def fit(data=None, **changes):
    return train({**PARAMS, **changes}, data or Dataset(X, Y))


def text_of(model):
    return to_xgboost_json(model.ensemble)


@pytest.fixture(scope="module")
def expected():
    return text_of(fit())


@pytest.fixture(autouse=True)
def _nothing_was_refused(monkeypatch):
    monkeypatch.setattr(variants, "REFUSED", set())
    monkeypatch.setattr(fallback, "REFUSED", variants.REFUSED)


@pytest.fixture
def opened(monkeypatch):
    """The devices that fits open from now on."""
    devices = []

    def remember(*arguments, **options):
        devices.append(open_device(*arguments, **options))
        return devices[-1]

    monkeypatch.setattr(pyopencl_gbdt.training, "open_device", remember)
    return devices


class Launches:
    """Counts launches; the one of number ``stop_at`` raises instead."""

    def __init__(self):
        self.count, self.stop_at, self.error = 0, -1, KeyboardInterrupt

    def fail(self, number, error=KeyboardInterrupt):
        self.count, self.stop_at, self.error = 0, number, error


@pytest.fixture
def launches(monkeypatch):
    counter = Launches()

    def call(launch):
        counter.count += 1
        if counter.count == counter.stop_at:
            launch = None  # this frame is not the library's: it keeps its variables
            raise counter.error
        launch.enqueue()

    monkeypatch.setattr(Launch, "__call__", call)
    return counter


# -- Ctrl-C ------------------------------------------------------------------------------------
@pytest.mark.parametrize("share", [0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0])
def test_an_interrupt_at_any_launch_frees_the_memory(expected, opened, launches, share):
    fit()
    launches.fail(1 + int(share * (launches.count - 1)))
    data = Dataset(X, Y)
    with pytest.raises(KeyboardInterrupt) as caught:
        fit(data)
    assert opened[-1].peak_bytes > 0
    assert opened[-1].allocated_bytes == 0  # although the traceback is alive, and the data are
    assert caught.value.__traceback__ is not None
    assert text_of(fit(data)) == expected


@pytest.mark.parametrize("method", ["_build", "_allocate", "write", "read", "copy", "finish"])
@pytest.mark.parametrize("weighted", [False, True])
def test_an_interrupt_anywhere_else_frees_it_too(opened, monkeypatch, method, weighted):
    kind = type(open_device(TEST_DEVICE))
    original = getattr(kind, method)
    counter = Launches()

    def interrupted(*arguments):
        counter.count += 1
        if counter.count == counter.stop_at:
            arguments = None  # this frame is not the library's: it keeps its variables
            raise counter.error
        return original(*arguments)

    monkeypatch.setattr(kind, method, interrupted)
    weight = np.arange(len(X)) % 3 if weighted else None
    fit(Dataset(X, Y, weight))
    total = counter.count
    for number in {1 + int(share * (total - 1)) for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)}:
        counter.fail(number)
        data = Dataset(X, Y, weight)
        with pytest.raises(KeyboardInterrupt) as caught:
            fit(data)
        assert opened[-1].allocated_bytes == 0, f"{method} {number} of {total}"
        assert caught.value.__traceback__ is not None


def test_an_interrupt_while_the_host_waits(expected, opened, monkeypatch):
    kind = type(open_device(TEST_DEVICE))
    mark = kind.mark

    def interrupted(self):
        def wait():
            raise KeyboardInterrupt

        mark(self)
        return wait

    monkeypatch.setattr(kind, "mark", interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        fit(n_estimators=40)
    assert opened[-1].allocated_bytes == 0
    assert caught.value is not None
    monkeypatch.setattr(kind, "mark", mark)
    assert text_of(fit()) == expected


def test_an_error_of_a_callback_keeps_its_variables_and_no_memory(opened):
    def report(line):
        where = line.upper()
        raise ZeroDivisionError(where)

    with pytest.raises(ZeroDivisionError) as caught:
        train(PARAMS, Dataset(X, Y), verbose=True, report=report)
    assert opened[-1].allocated_bytes == 0
    assert caught.traceback[-1].frame.f_locals["where"] == "[0]"


def test_an_estimator_stays_as_it_was(launches):
    pytest.importorskip("sklearn", reason="needs scikit-learn")
    from pyopencl_gbdt import GBDTClassifier

    estimator = GBDTClassifier(n_estimators=3, device=TEST_DEVICE)
    launches.fail(100)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(X, Y)
    assert not estimator.__sklearn_is_fitted__()
    assert not hasattr(estimator, "classes_")
    before = estimator.fit(X, Y).model_
    launches.fail(100)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(X, Y)
    assert estimator.model_ is before


def test_the_command_line_saves_nothing_after_ctrl_c(tmp_path, capsys, monkeypatch):
    data, saved = str(write_rows(tmp_path / "a.csv")), tmp_path / "m.json"
    sent = []

    def call(launch):
        launch.enqueue()
        sent.append(launch.name)
        if len(sent) == 60:
            signal.raise_signal(signal.SIGINT)  # as the terminal does

    monkeypatch.setattr(Launch, "__call__", call)
    assert main(["train", data, "--model", str(saved), *SMALL]) == 130
    assert "interrupted" in capsys.readouterr().err
    assert len(sent) == 60
    assert not saved.exists()


# -- how far the host runs ahead ---------------------------------------------------------------
class Marks:
    """A device that finishes a round only when it is waited for."""

    profiler = None

    def __init__(self, clock=None, seconds=0.0):
        self.under_way, self.most = 0, 0
        self.clock, self.seconds = clock, seconds

    def mark(self):
        self.under_way += 1
        self.most = max(self.most, self.under_way)

        def wait():
            self.under_way -= 1
            if self.clock is not None:
                self.clock[0] += self.seconds

        return wait


@pytest.mark.parametrize(("seconds", "most"), [(0.5, LONG_ROUNDS), (1e-4, SHORT_ROUNDS)])
def test_few_rounds_are_under_way(monkeypatch, seconds, most):
    clock = [0.0]
    monkeypatch.setattr("time.perf_counter", lambda: clock[0])
    device = Marks(clock, seconds)
    pace = Pace(device)
    for _ in range(50):
        pace.round_enqueued()
    assert device.under_way <= most
    assert device.most <= most + 1  # the last one is enqueued before an earlier one is waited for


def test_a_fit_waits_between_rounds_and_never_for_all(opened):
    fit(n_estimators=30)
    (device,) = opened
    assert 30 - SHORT_ROUNDS <= device.n_pauses <= 30 + X.shape[1]  # rounds, and columns cut


# -- a kernel that is refused when it is launched ----------------------------------------------
@pytest.fixture
def refusing(device, monkeypatch):
    """``refusing(kernel name, wg_size, status)``: such launches fail as a driver says it."""
    if device.caps.api != "opencl":
        pytest.skip("OpenCL only")
    enqueue = cl.enqueue_nd_range_kernel

    def plan(name, wg_size=None, status="OUT_OF_RESOURCES", after=0):
        seen = [0]

        def attempt(queue, kernel, size, group):
            if kernel.function_name == name and wg_size in (None, group[0]):
                seen[0] += 1
                if seen[0] > after:
                    raise cl.RuntimeError(f"clEnqueueNDRangeKernel failed: {status}")
            return enqueue(queue, kernel, size, group)

        monkeypatch.setattr(cl, "enqueue_nd_range_kernel", attempt)

    return plan


@pytest.mark.parametrize(
    ("kernel", "name"),
    [("split", "find"), ("plan", "decide"), ("leaf", "add_leaves"), ("radix_sort", "radix_count")],
)
def test_the_next_variant_takes_over(device, expected, opened, refusing, kernel, name):
    first, second = fallbacks(kernel, device.caps)[:2]
    refusing(name, min(first.params["wg_size"], device.caps.max_work_group), after=2)
    with pytest.warns(KernelFallbackWarning) as said:
        model = fit()
    text = str(said[0].message)
    assert f"{kernel}: {first.name!r} does not run" in text
    assert repr(second.name) in text
    assert "OUT_OF_RESOURCES" in text
    assert text_of(model) == expected
    assert model.variants.get(kernel, second.name) == second.name
    assert len(opened) == 2
    assert opened[0].allocated_bytes == 0
    with warnings.catch_warnings():  # it is not tried again
        warnings.simplefilter("error")
        assert text_of(fit()) == expected


def test_the_next_histogram_takes_over(device, expected, refusing):
    first, second = fallbacks("histogram", device.caps)[:2]
    if first.params["wg_size"] == second.params["wg_size"]:
        pytest.skip("both are launched alike")
    refusing("histogram", min(first.params["wg_size"], device.caps.max_work_group), after=3)
    with pytest.warns(KernelFallbackWarning, match=f"{first.name!r}.*{second.name!r}"):
        model = fit()
    assert model.variants["histogram"] == second.name
    assert text_of(model) == expected


def test_prediction_falls_back_too(device, refusing):
    model = fit()
    expected = model.predict(X, device=TEST_DEVICE)
    first = fallbacks("predict", device.caps)[0]
    refusing("predict", min(first.params["wg_size"], device.caps.max_work_group))
    with pytest.warns(KernelFallbackWarning, match=f"predict: {first.name!r}"):
        assert np.array_equal(model.predict(X, device=TEST_DEVICE), expected)


def test_where_no_variant_is_left_the_error_says_it(opened, refusing, expected, monkeypatch):
    refusing("find")
    with (
        pytest.warns(KernelFallbackWarning),
        pytest.raises(KernelLaunchError, match=r"launching 'find'.*work_group_size=") as caught,
    ):
        fit()
    assert isinstance(caught.value, DeviceError)
    assert [device.allocated_bytes for device in opened] == [0] * len(opened)
    monkeypatch.undo()
    assert text_of(fit()) == expected


def test_a_variant_that_was_asked_for_by_name_is_not_replaced(device, refusing):
    name = choose("histogram", device.caps).name
    refusing("histogram")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(KernelLaunchError):
            fit(histogram=name)


def test_memory_that_is_missing_at_a_launch_is_no_fault_of_the_variant(opened, refusing):
    refusing("decide", status="MEM_OBJECT_ALLOCATION_FAILURE", after=3)
    with pytest.raises(MemoryPlanError, match=r"no memory is left to launch 'decide'.*fewer rows"):
        fit()
    assert opened[-1].allocated_bytes == 0


# -- a device that is lost in the middle -------------------------------------------------------
def test_a_device_that_is_lost_in_the_middle(opened, refusing, expected, monkeypatch):
    monkeypatch.setattr(opencl_module, "_contexts", {})
    data = Dataset(X, Y)
    refusing("find", status="DEVICE_NOT_AVAILABLE", after=7)
    with pytest.raises(DeviceError, match=r"launching 'find' .*DEVICE_NOT_AVAILABLE") as caught:
        fit(data)
    assert "pyopencl-gbdt doctor" in str(caught.value)
    lost = opened[-1]
    assert lost.allocated_bytes == 0
    refusing("no such kernel")  # it is back
    assert text_of(fit(data)) == expected
    assert opened[-1].context.int_ptr != lost.context.int_ptr
    assert opened[-1].process_key != lost.process_key  # its arrays are of no use any more


def test_frames_of_causes_are_cleared_too():
    def inner(big):
        raise ValueError(big)

    def outer():
        other = [2]
        try:
            inner([1])
        except ValueError as error:
            raise KeyError(other) from error

    for function in (inner, outer):  # as if they were the library's
        function.__globals__["__name__"], before = "pyopencl_gbdt.test", __name__
    try:
        outer()
    except KeyError as error:
        clear_frames(error)
        tracebacks = [error.__traceback__.tb_next, error.__cause__.__traceback__.tb_next]
        assert all("other" not in t.tb_frame.f_locals for t in tracebacks)
        assert all("big" not in t.tb_frame.f_locals for t in tracebacks)
    finally:
        inner.__globals__["__name__"] = before
