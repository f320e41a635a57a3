"""Launches that follow one another become one command buffer, where a driver has them."""

from types import SimpleNamespace

import numpy as np
import pyopencl as cl
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.opencl import command_buffers, program
from pyopencl_gbdt.device.opencl.command_buffers import EXTENSION, recorded
from pyopencl_gbdt.device.opencl.program import in_runs
from pyopencl_gbdt.device.program import Launch
from pyopencl_gbdt.device.render import header
from pyopencl_gbdt.device.switches import COMMAND_BUFFERS
from pyopencl_gbdt.errors import DeviceError
from pyopencl_gbdt.model import to_xgboost_json
from tests.conftest import TEST_DEVICE


class Driver:
    """The functions of the extension on the host; ``done`` has the kernels that have run."""

    refuses = fails = False

    def __init__(self):
        self.done, self.released = [], 0

    def create(self, queue):
        return []

    def add(self, buffer, kernel, size, group):
        if self.refuses:
            raise command_buffers._DriverError("clCommandNDRangeKernelKHR: INVALID_VALUE")
        buffer.append((kernel, tuple(size), tuple(group)))

    def finish(self, buffer):
        buffer.append("end")

    def enqueue(self, buffer):
        if self.fails:
            raise command_buffers._DriverError("clEnqueueCommandBufferKHR: DEVICE_NOT_FOUND")
        assert buffer[-1] == "end"
        self.done += [kernel for kernel, *_ in buffer[:-1]]

    def release(self, buffer):
        self.released += 1


class OnHost:
    """An action that is no launch."""

    name = "on the host"

    def __call__(self):
        pass


@pytest.fixture
def driver(monkeypatch):
    made = Driver()
    monkeypatch.setattr(command_buffers, "_calls", lambda device: made)
    monkeypatch.setattr(
        command_buffers, "bound_kernel", lambda action: getattr(action, "enqueue", None)
    )
    return made


def fake_device(**more):
    return SimpleNamespace(
        caps=SimpleNamespace(command_buffers=True, label="a GPU"), profiler=None, room=None,
        cl_device=SimpleNamespace(extensions=f"cl_khr_fp64 {EXTENSION}"), n_launches=0,
        send=lambda: None,
        lost=lambda doing, error: DeviceError(f"{doing} failed: {error}"), **more,
    )  # fmt: skip


def launch(driver, name):
    """Return a launch that notes its name in capital letters."""

    class Kernel:
        queue, size, group, empty = "queue", (64, 1), (64, 1), name == "none"

        def made(self):
            return name

        def __call__(self):
            driver.done.append(name.upper())

    return Launch(name, Kernel())


def test_they_run_one_by_one_first_and_then_by_one_call(driver):
    device = fake_device()
    given = [
        launch(driver, "a"),
        launch(driver, "none"),
        launch(driver, "b"),
        OnHost(),
        launch(driver, "c"),
    ]
    found = recorded(device, given)
    assert [action.name for action in found] == ["3 kernels", "on the host", "c"]
    for _ in range(3):
        found[0]()
    assert driver.done == ["A", "NONE", "B", "a", "b", "a", "b"]
    assert device.n_launches == 2
    del found
    assert driver.released == 1


def test_a_driver_that_refuses_them_goes_on_one_by_one(driver):
    driver.refuses = True
    (together,) = recorded(fake_device(), [launch(driver, "a"), launch(driver, "b")])
    for _ in range(3):
        together()
    assert driver.done == ["A", "B"] * 3
    assert driver.released == 1


def test_a_lost_device_is_named(driver):
    driver.fails = True
    (together,) = recorded(fake_device(), [launch(driver, "a"), launch(driver, "b")])
    together()
    with pytest.raises(
        DeviceError, match=r"enqueuing recorded kernels failed: clEnqueue.*NOT_FOUND"
    ):
        together()


@pytest.mark.parametrize(
    ("word", "offered", "extensions", "more", "n_actions"),
    [
        ("auto", True, EXTENSION, {}, 1),
        ("auto", False, EXTENSION, {}, 2),  # a CPU, or one that records wrongly
        ("on", False, EXTENSION, {}, 1),
        ("on", True, "cl_khr_fp64", {}, 2),
        ("off", True, EXTENSION, {}, 2),
        ("auto", True, EXTENSION, {"profiler": object()}, 2),
        ("auto", True, EXTENSION, {"room": object()}, 2),  # launches are joined with others'
    ],
)
def test_who_records(driver, monkeypatch, word, offered, extensions, more, n_actions):
    monkeypatch.setenv(COMMAND_BUFFERS, word)
    device = fake_device()
    device.caps.command_buffers = offered
    device.cl_device.extensions = extensions
    device.__dict__.update(more)
    assert len(recorded(device, [launch(driver, "a"), launch(driver, "b")])) == n_actions


@pytest.mark.parametrize("page", ["auto", "streamed"])
def test_models_are_the_same(monkeypatch, page):
    """Where the driver of the tests has no command buffers, both trainings are the same one."""
    monkeypatch.setenv("PYOPENCL_GBDT_PRETEND", "gpu")
    rng = np.random.default_rng(8)
    X = rng.standard_normal((400, 5)).astype(np.float32)
    params = {"device": TEST_DEVICE, "max_depth": 3, "page": page}

    def model(word):
        monkeypatch.setenv(COMMAND_BUFFERS, word)
        return to_xgboost_json(train(params, Dataset(X, X[:, 0] * X[:, 1]), 5).ensemble)

    assert model("on") == model("off")


# -- drivers without command buffers -----------------------------------------------------------
COUNTED = """
KERNEL(8) add(GLOBAL u32* values) { values[GLOBAL_ID] += 1; }
KERNEL(8) twice(GLOBAL u32* values) { values[GLOBAL_ID] *= 2; }
"""


@pytest.fixture
def counted():
    """Return a device, an array of eight numbers, and a function that returns launches."""
    device = open_device(TEST_DEVICE)
    if device.caps.api != "opencl":
        pytest.skip("graphs of CUDA have tests of their own")
    program = device.build_rendered("counted", header("dialect_opencl.h") + COUNTED, 8, {})
    values = device.zeros(8, np.uint32)
    return device, values, lambda name, groups=1: program.bind(name, groups, values)


def test_a_run_enqueues_what_its_launches_do(counted):
    device, values, bound = counted
    given = [bound("add"), bound("add", 0), bound("twice"), OnHost(), bound("add")]
    run, *others = in_runs(given)
    assert [run.name, *(other.name for other in others)] == ["3 kernels", "on the host", "add"]
    before = device.n_launches
    for _ in range(3):
        run()
    assert device.n_launches - before == 6  # one of the three has no groups
    assert set(values.get().tolist()) == {14}


def test_launches_of_two_devices_and_measured_ones_are_not_one_run(counted):
    _, _, bound = counted
    one, other = bound("add"), bound("twice")
    other.enqueue.device = open_device(TEST_DEVICE)
    assert in_runs([one, other]) == [one, other]
    other.enqueue.device, one.enqueue.profiler = one.enqueue.device, object()
    assert in_runs([one, other]) == [one, other]


def test_the_launch_of_a_run_that_fails_is_named(counted, monkeypatch):
    _, _, bound = counted
    (run,) = in_runs([bound("add"), bound("twice"), bound("add")])
    enqueue, seen = cl.enqueue_nd_range_kernel, []

    def fails(queue, kernel, *sizes):
        seen.append(kernel.function_name)
        if seen == ["add", "twice"]:
            raise cl.RuntimeError("clSomething failed: DEVICE_NOT_AVAILABLE")
        return enqueue(queue, kernel, *sizes)

    monkeypatch.setattr(cl, "enqueue_nd_range_kernel", fails)
    with pytest.raises(DeviceError, match=r"launching 'twice' failed.*DEVICE_NOT_AVAILABLE"):
        run()
    assert seen == ["add", "twice"]


@pytest.mark.parametrize("fails", [False, True])
def test_a_call_that_the_driver_refuses_is_made_by_pyopencl(fails, counted, monkeypatch):
    _, values, bound = counted
    (run,) = in_runs([bound("add"), bound("twice"), bound("add")])
    run()
    calls, enqueue = run.enqueue._calls, cl.enqueue_nd_range_kernel
    if not calls:
        pytest.skip("pyopencl's file does not lead to the driver's functions")
    call, refused = program._enqueue_function(), calls[1][0]
    monkeypatch.setattr(
        program, "_enqueue_function", lambda: lambda *args: -5 if args == refused else call(*args)
    )

    def refuses(queue, kernel, *sizes):
        if fails:
            raise cl.RuntimeError("clSomething failed: DEVICE_NOT_AVAILABLE")
        return enqueue(queue, kernel, *sizes)

    monkeypatch.setattr(cl, "enqueue_nd_range_kernel", refuses)
    if fails:
        with pytest.raises(DeviceError, match=r"launching 'twice' failed.*DEVICE_NOT_AVAILABLE"):
            run()
    else:
        run()
        assert set(values.get().tolist()) == {9}


def test_a_run_without_the_function_of_the_driver_does_the_same(counted, monkeypatch):
    _, values, bound = counted
    monkeypatch.setattr(program, "_enqueue_function", lambda: None)
    (run,) = in_runs([bound("add"), bound("twice"), bound("add")])
    for _ in range(3):
        run()
    assert set(values.get().tolist()) == {21}
