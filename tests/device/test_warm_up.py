import threading

import numpy as np
import pytest

from pyopencl_gbdt.device import early_start, open_device
from pyopencl_gbdt.device.opencl import build_ahead, loader
from pyopencl_gbdt.device.opencl import device as opencl_device
from pyopencl_gbdt.device.opencl import pocl as warm_up
from pyopencl_gbdt.device.opencl.pocl import POCL


@pytest.fixture
def folder(tmp_path, device, monkeypatch):
    """PoCL's folder, empty, in a process that has built nothing."""
    if device.caps.platform != POCL:
        pytest.skip("only PoCL's compiler loads slowly")
    monkeypatch.setattr(warm_up, "_loaded", 0)
    monkeypatch.setattr("pyopencl_gbdt.device.drivers.folders.pocl_folder", lambda: tmp_path)
    return tmp_path


def test_the_compiler_is_loaded_once_a_process(folder, device):
    (folder / "tempfile").touch()
    thread = warm_up.warm_up(device.context)
    assert thread is not None
    assert not thread.daemon
    thread.join()
    assert warm_up.warm_up(device.context) is None


def test_programs_on_disk_need_no_compiler(folder, device):
    (folder / "AB").mkdir()
    assert warm_up.warm_up(device.context) is None


def test_a_folder_that_is_absent_holds_no_programs(folder, device, monkeypatch):
    monkeypatch.setattr(
        "pyopencl_gbdt.device.drivers.folders.pocl_folder", lambda: folder / "absent"
    )
    thread = warm_up.warm_up(device.context)
    assert thread is not None
    thread.join()


def test_a_compiler_that_fails_is_left_to_the_fit(folder, device, monkeypatch):
    monkeypatch.setattr(warm_up, "LOAD", "no C")
    thread = warm_up.warm_up(device.context)
    assert thread is not None
    thread.join()  # pytest fails on an exception in a thread


def test_every_device_can_be_asked(folder, device):
    open_device(device.caps.device_id).warm_up()


class MadeUp:
    """OpenCL's loader with the CPUs of some platforms."""

    def __init__(self, cpus):
        self.cpus = cpus
        self.file, self.built = "a file", []

    def platforms(self):
        return list(self.cpus)

    def name(self, platform):
        return f"{platform} "

    def devices(self, platform, kind):
        return [loader.c_void_p(8 * n) for n in range(1, self.cpus[platform] + 1)]

    def version(self, device):
        return "OpenCL 3.0"

    def context(self, device):
        return loader.c_void_p(80)

    def build(self, context, device, source, options):
        self.built.append(source)


@pytest.mark.parametrize(
    ("cpus", "expected"),
    [
        ({POCL: 1}, {8: 80}),
        ({"Oclgrind": 1, POCL: 1, "NVIDIA CUDA": 0}, {8: 80}),
        ({POCL: 2}, {}),
        ({POCL: 1, "Intel(R) OpenCL": 1}, {}),
        ({"Intel(R) OpenCL": 1}, {}),
        ({}, {}),
    ],
)
def test_the_only_cpu_is_warmed_up_before_pyopencl_is_there(monkeypatch, cpus, expected):
    started = []
    monkeypatch.setattr(warm_up, "_loaded", 0)
    monkeypatch.setattr(warm_up, "_keeps_programs", lambda: False)
    monkeypatch.setattr(build_ahead, "start", lambda *arguments: started.append(arguments))
    made_up = MadeUp(cpus)
    assert warm_up.context_that_loads(made_up) == expected
    for thread in threading.enumerate():
        if thread.name == "warm_up":
            thread.join()
    assert started == ([("a file", 0)] if expected else [])
    assert made_up.built == ([warm_up.LOAD] if expected else [])


def test_its_context_is_the_fits(folder, device, monkeypatch):
    monkeypatch.setattr(build_ahead, "start", lambda *arguments: None)
    monkeypatch.setattr(early_start, "_begun", 0)
    monkeypatch.setattr(opencl_device, "_contexts", {})
    monkeypatch.delenv(early_start.ENVIRONMENT, raising=False)
    early_start.begin({"device": "cpu"}).join()
    (made,) = early_start._contexts.values()
    opened = opencl_device.OpenCLDevice(device.cl_device, device.caps)
    assert opened.context.int_ptr == made
    assert opened.upload(np.arange(5)).get().tolist() == [0, 1, 2, 3, 4]
    assert warm_up.warm_up(opened.context) is None  # it loads already


def test_a_folder_with_programs_needs_no_early_context(folder, monkeypatch):
    (folder / "AB").mkdir()
    monkeypatch.setattr(build_ahead, "start", None)
    assert warm_up.context_that_loads(MadeUp({POCL: 1})) == {}
