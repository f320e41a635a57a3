"""Drivers start in a thread while a first fit imports its modules."""

import threading

import pytest

from pyopencl_gbdt.device import early_start
from pyopencl_gbdt.device.drivers import forked
from tests.device.fakes import FakeDevice


@pytest.fixture
def begun(monkeypatch):
    """The interfaces that were begun, as in a new process."""
    said = []
    monkeypatch.setattr(early_start, "_begun", 0)
    monkeypatch.setattr(early_start, "_opencl", lambda: said.append("opencl"))
    monkeypatch.setattr(early_start, "_cuda", lambda: said.append("cuda"))
    monkeypatch.delenv(early_start.ENVIRONMENT, raising=False)

    def begin(params):
        thread = early_start.begin(params)
        if thread is not None:
            thread.join()
        return list(said)

    return begin


@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({}, ["opencl"]),
        ({"device": "gpu"}, ["opencl"]),
        ([("max_depth", 3), ("device", " CUDA:1")], ["cuda"]),
        ({"device": FakeDevice()}, []),
        ({"device": None}, []),
        (None, []),  # the fit says what is wrong
        ([1, 2], []),
    ],
)
def test_what_is_begun(begun, params, expected):
    assert begun(params) == expected


def test_a_process_begins_once(begun):
    assert begun({}) == begun({"device": "cuda"}) == ["opencl"]


def test_it_can_be_switched_off(begun, monkeypatch):
    monkeypatch.setenv(early_start.ENVIRONMENT, " OFF ")
    assert begun({}) == []


def test_a_process_that_may_not_use_drivers_begins_none(begun, monkeypatch):
    monkeypatch.setattr(forked, "_asked", -1)
    assert begun({}) == []


@pytest.mark.parametrize("start", [early_start._opencl, early_start._cuda])
def test_what_cannot_be_started_is_left_to_the_fit(monkeypatch, start):
    def absent(name):
        raise OSError(name)

    monkeypatch.setattr(early_start.ctypes, "CDLL", absent)
    start()


def test_the_loader_of_pyopencl_is_asked(monkeypatch, device):
    """By the library that pyopencl is linked to, which returns CL_SUCCESS."""
    if device.caps.api != "opencl":
        pytest.skip("asks OpenCL's loader")
    found = []
    own = early_start.ctypes.CDLL

    class Library:
        def __init__(self, path):
            self.library = own(path)

        def clGetPlatformIDs(self, *arguments):  # noqa: N802 - OpenCL's name
            found.append((self.library.clGetPlatformIDs(*arguments), arguments[-1]._obj.value))

    monkeypatch.setattr(early_start.ctypes, "CDLL", Library)
    thread = threading.Thread(target=early_start._opencl)
    thread.start()
    thread.join()
    ((status, n_platforms),) = found
    assert status == 0
    assert n_platforms > 0
