import pytest

from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.opencl import pocl as warm_up
from pyopencl_gbdt.device.opencl.source import POCL


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
    monkeypatch.setattr(warm_up, "_SOURCE", "no C")
    thread = warm_up.warm_up(device.context)
    assert thread is not None
    thread.join()  # pytest fails on an exception in a thread


def test_every_device_can_be_asked(folder, device):
    open_device(device.caps.device_id).warm_up()
