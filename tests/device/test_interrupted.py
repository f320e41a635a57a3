"""A fit that ends early by Ctrl-C or an error of a callback.

The device's memory is free again, the estimator stays as it was, and the next fit gives the model
that it always gives.
"""

import signal

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.cli import main
from pyopencl_gbdt.device import Launch, open_device
from pyopencl_gbdt.device.run_ahead import LONG_ROUNDS, SHORT_ROUNDS, Pace, clear_frames
from tests.cli_samples import SMALL, write_rows
from tests.conftest import TEST_DEVICE
from tests.device.fits import PARAMS, X, Y, fit, text_of


class Launches:
    """Counts launches; the one of number ``stop_at`` raises instead."""

    def __init__(self):
        self.count, self.stop_at, self.error = 0, -1, KeyboardInterrupt

    def fail(self, number, error=KeyboardInterrupt):
        self.count, self.stop_at, self.error = 0, number, error


def replace_launches(monkeypatch, call):
    """Let every launch call a function; none is one of a run or a graph."""
    monkeypatch.setattr(Launch, "__call__", call)
    own = type(open_device(TEST_DEVICE))
    monkeypatch.setattr(own, "together", lambda device, actions: list(actions))


@pytest.fixture
def launches(monkeypatch):
    counter = Launches()

    def call(launch):
        counter.count += 1
        if counter.count == counter.stop_at:
            launch = None  # this frame is not the library's: it keeps its variables
            raise counter.error
        launch.enqueue()

    replace_launches(monkeypatch, call)
    return counter


# -- Ctrl-C ------------------------------------------------------------------------------------
@pytest.mark.few(4)
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


@pytest.mark.usefixtures("cut_by_kernels")
@pytest.mark.parametrize("method", ["_build", "_allocate", "write", "read", "borrow", "finish"])
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
    launches.fail(20)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(X, Y)
    assert not estimator.__sklearn_is_fitted__()
    assert not hasattr(estimator, "classes_")
    before = estimator.fit(X, Y).model_
    launches.fail(20)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(X, Y)
    assert estimator.model_ is before


def test_the_command_line_saves_nothing_after_ctrl_c(tmp_path, capsys, monkeypatch):
    data, saved = str(write_rows(tmp_path / "a.csv")), tmp_path / "m.json"
    sent = []

    def call(launch):
        launch.enqueue()
        sent.append(launch.name)
        if len(sent) == 10:
            signal.raise_signal(signal.SIGINT)  # as the terminal does

    replace_launches(monkeypatch, call)
    # where the tests run in a shell's background it is ignored
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert main(["train", data, "--model", str(saved), *SMALL]) == 130
    finally:
        signal.signal(signal.SIGINT, before)
    assert "interrupted" in capsys.readouterr().err
    assert len(sent) == 10
    assert not saved.exists()


# -- how far the host runs ahead ---------------------------------------------------------------
class Slow:
    """A device whose every round takes so many seconds."""

    profiler = None

    def __init__(self, monkeypatch, seconds):
        self.now, self.seconds = 0.0, seconds
        self.enqueued, self.done, self.idle_from = 0, [], 0.0
        monkeypatch.setattr("time.perf_counter", lambda: self.now)

    def enqueue(self):
        self.enqueued += 1
        self.idle_from = max(self.idle_from, self.now) + self.seconds
        self.done.append(self.idle_from)

    def under_way(self):
        return sum(moment > self.now for moment in self.done)

    def mark(self):
        moment = self.idle_from

        def wait():
            self.now = max(self.now, moment)

        return wait


@pytest.mark.parametrize(("seconds", "most"), [(0.5, LONG_ROUNDS), (1e-4, SHORT_ROUNDS)])
def test_few_rounds_are_under_way_and_the_device_never_idles(monkeypatch, seconds, most):
    device = Slow(monkeypatch, seconds)
    pace = Pace(device)
    for _ in range(100):
        device.enqueue()
        pace.round_enqueued()
        assert 1 <= device.under_way() <= most + most // 2
    assert device.idle_from == pytest.approx(100 * seconds)


def test_a_fit_waits_between_rounds_and_never_for_all(opened):
    fit(n_estimators=30)
    (device,) = opened
    assert 3 <= device.n_pauses <= 30 + X.shape[1]  # rounds, and columns that were sorted


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
