"""Drivers start in a thread while a first fit imports its modules."""

import ctypes
import os
import threading
from pathlib import Path

import numpy as np
import pytest

from pyopencl_gbdt.device import early_start
from pyopencl_gbdt.device.drivers import forked
from pyopencl_gbdt.device.opencl import device as opencl_device
from tests.device.fakes import FakeDevice


@pytest.fixture
def begun(monkeypatch):
    """The interfaces that were begun, as in a new process."""
    said = []
    monkeypatch.setattr(early_start, "_begun", 0)
    monkeypatch.setattr(early_start, "_opencl", lambda wanted: said.append("opencl"))
    monkeypatch.setattr(early_start, "_cuda", lambda wanted: said.append("cuda"))
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


def test_without_a_thread_the_fit_starts_drivers(begun, monkeypatch):
    def refused(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(early_start.threading.Thread, "start", refused)
    assert begun({}) == []


def test_another_fit_may_ask_before_the_thread_has_started(begun, monkeypatch):
    """It waits for a thread that runs, and for no other."""
    waited, start = [], threading.Thread.start

    def asked(thread):
        waited.append(early_start._thread)
        start(thread)

    monkeypatch.setattr(early_start, "_thread", None)
    monkeypatch.setattr(threading.Thread, "start", asked)
    assert begun({}) == ["opencl"]
    assert waited == [None]
    assert early_start._thread is not None


def test_a_process_that_may_not_use_drivers_begins_none(begun, monkeypatch):
    monkeypatch.setattr(forked, "_asked", -1)
    assert begun({}) == []


@pytest.mark.parametrize("start", [early_start._opencl, early_start._cuda])
def test_what_cannot_be_started_is_left_to_the_fit(monkeypatch, start):
    def absent(name):
        raise OSError(name)

    monkeypatch.setattr(early_start.ctypes, "CDLL", absent)
    start("auto")


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
            status = self.library.clGetPlatformIDs(*arguments)
            if arguments[1] is None:
                found.append((status, arguments[-1]._obj.value))
            return status

    monkeypatch.setattr(early_start.ctypes, "CDLL", Library)
    thread = threading.Thread(target=early_start._opencl, args=["opencl:0"])
    thread.start()
    thread.join()
    status, n_platforms = found[0]
    assert status == 0
    assert n_platforms > 0


def test_pyopencl_is_not_imported_for_it(monkeypatch):
    """Its import would hold up the others, and they the drivers."""
    pyopencl = pytest.importorskip("pyopencl")
    found = early_start._module_of_pyopencl()
    assert Path(found).samefile(pyopencl._cl.__file__)
    assert Path(os.environ["PYOPENCL_HOME"]) == Path(pyopencl.__file__).parent
    monkeypatch.setattr(early_start.machinery, "EXTENSION_SUFFIXES", [])  # where it lies elsewhere
    assert early_start._module_of_pyopencl() == pyopencl._cl.__file__


def test_the_context_of_the_only_gpu_is_the_fits(monkeypatch, device):
    if device.caps.api != "opencl":
        pytest.skip("a context of OpenCL")
    handle = device.cl_device
    _only_gpus(monkeypatch, [handle.int_ptr])
    monkeypatch.setattr(early_start, "_begun", 0)
    monkeypatch.setattr(opencl_device, "_contexts", {})
    monkeypatch.delenv(early_start.ENVIRONMENT, raising=False)
    monkeypatch.delenv("PYOPENCL_GBDT_DEVICE", raising=False)
    early_start.begin({"device": "gpu"}).join()
    (made,) = early_start._contexts.values()
    opened = opencl_device.OpenCLDevice(handle, device.caps)
    assert opened.context.int_ptr == made
    assert opened.upload(np.arange(5)).get().tolist() == [0, 1, 2, 3, 4]
    assert early_start.opencl_context(handle).int_ptr != made  # another one


@pytest.mark.parametrize(("wanted", "n_gpus"), [("gpu", 0), ("gpu", 2), ("gpu:1", 1), ("cpu", 1)])
def test_no_context_is_created_where_another_device_may_be_meant(monkeypatch, wanted, n_gpus):
    pytest.importorskip("pyopencl")
    _only_gpus(monkeypatch, [8] * n_gpus)
    monkeypatch.setattr(early_start.pocl, "context_that_loads", lambda opencl: {})
    monkeypatch.setattr(early_start, "_contexts", {})
    monkeypatch.delenv("PYOPENCL_GBDT_DEVICE", raising=False)
    early_start._opencl(wanted)
    assert early_start._contexts == {}


def _only_gpus(monkeypatch, handles):
    found = [ctypes.c_void_p(handle) for handle in handles]
    monkeypatch.setattr(early_start.Loader, "platforms", lambda self: ["the only one"])
    monkeypatch.setattr(early_start.Loader, "devices", lambda self, platform, kind: found)
