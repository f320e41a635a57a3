"""The shim that shows Intel's CPU runtime to the OpenCL loader."""

from __future__ import annotations

import importlib.metadata
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from pyopencl_gbdt.device import intel


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with Intel's library and a folder of system drivers, and nothing set."""
    vendors = tmp_path / "vendors"
    vendors.mkdir()
    (vendors / "nvidia.icd").write_text("libnvidia-opencl.so.1\n")
    (vendors / "README").write_text("not a driver")
    library = tmp_path / "lib" / "libintelocl.so"
    library.parent.mkdir()
    library.write_bytes(b"")
    # Set and removed, so that whatever make_visible sets is undone afterwards.
    monkeypatch.setenv(intel._VARIABLE, "")
    monkeypatch.delenv(intel._VARIABLE)
    monkeypatch.setenv("PYOPENCL_GBDT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(intel, "_SYSTEM_VENDORS", vendors)
    monkeypatch.setattr(intel, "find_library", lambda: library)
    return SimpleNamespace(
        vendors=vendors, library=library, icd=tmp_path / "cache" / "icd", folder=tmp_path
    )


def contents(folder):
    return {p.name: p.read_text() for p in sorted(folder.iterdir())}


def test_the_loader_is_shown_intel_and_the_systems_drivers(machine):
    intel.make_visible()
    assert os.environ[intel._VARIABLE] == str(machine.icd)
    assert contents(machine.icd) == {
        "intel-cpu-pip.icd": f"{machine.library}\n",
        "nvidia.icd": "libnvidia-opencl.so.1\n",
    }


def test_a_users_own_setting_is_left_alone(machine, monkeypatch):
    monkeypatch.setenv(intel._VARIABLE, "/somewhere/else")
    intel.make_visible()
    assert os.environ[intel._VARIABLE] == "/somewhere/else"
    assert not machine.icd.exists()


def test_nothing_happens_without_the_wheel(machine, monkeypatch):
    monkeypatch.setattr(intel, "find_library", lambda: None)
    intel.make_visible()
    assert intel._VARIABLE not in os.environ
    assert not machine.icd.exists()


def test_a_folder_that_is_right_is_not_written_again(machine, monkeypatch):
    intel.make_visible()
    before = (machine.icd / "nvidia.icd").stat().st_mtime_ns
    monkeypatch.delenv(intel._VARIABLE)
    intel.make_visible()
    assert (machine.icd / "nvidia.icd").stat().st_mtime_ns == before
    assert os.environ[intel._VARIABLE] == str(machine.icd)


def test_drivers_that_came_and_went(machine, monkeypatch):
    intel.make_visible()
    monkeypatch.delenv(intel._VARIABLE)
    (machine.vendors / "nvidia.icd").unlink()
    (machine.vendors / "amd.icd").write_text("libamdocl64.so\n")
    intel.make_visible()
    assert sorted(contents(machine.icd)) == ["amd.icd", "intel-cpu-pip.icd"]


def test_a_machine_without_system_drivers(machine, monkeypatch):
    monkeypatch.setattr(intel, "_SYSTEM_VENDORS", machine.folder / "absent")
    intel.make_visible()
    assert list(contents(machine.icd)) == ["intel-cpu-pip.icd"]


def test_a_cache_that_cannot_be_written_leads_to_a_temporary_folder(machine, monkeypatch):
    blocked = machine.folder / "a file"
    blocked.write_text("")
    monkeypatch.setenv("PYOPENCL_GBDT_CACHE", str(blocked / "cache"))
    monkeypatch.setattr(intel.tempfile, "gettempdir", lambda: str(machine.folder / "tmp"))
    intel.make_visible()
    folder = Path(os.environ[intel._VARIABLE])
    assert machine.folder / "tmp" in folder.parents
    assert "intel-cpu-pip.icd" in contents(folder)


class Wheel:
    """Stands for ``importlib.metadata``'s view of the wheel."""

    def __init__(self, place):
        self.name = place.name
        self.place = place

    def locate(self):
        return self.place


def test_the_library_is_found_in_the_wheels_file_list(tmp_path, monkeypatch):
    library = tmp_path / "libintelocl.so"
    library.write_bytes(b"")
    files = [Wheel(tmp_path / "intel.icd"), Wheel(library)]
    monkeypatch.setattr(importlib.metadata, "files", lambda name: files)
    assert intel.find_library() == library


def test_a_library_that_is_listed_but_gone(tmp_path, monkeypatch):
    listed = [Wheel(tmp_path / "libintelocl.so")]
    monkeypatch.setattr(importlib.metadata, "files", lambda name: listed)
    assert intel.find_library() is None


def test_no_wheel_and_no_file_list(monkeypatch):
    def absent(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "files", absent)
    assert intel.find_library() is None
    monkeypatch.setattr(importlib.metadata, "files", lambda name: None)
    assert intel.find_library() is None
