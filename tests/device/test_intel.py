"""The shim that shows Intel's CPU runtime to the OpenCL loader."""

import importlib.metadata
import os
import stat
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from pyopencl_gbdt.device import owner_only_files
from pyopencl_gbdt.device.drivers import intel
from tests.processes import IMPORT_PATH


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
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.delenv(intel._VARIABLE, raising=False)
    monkeypatch.setattr(intel, "_SYSTEM_VENDORS", vendors)
    monkeypatch.setattr(intel, "find_library", lambda: library)
    monkeypatch.setattr(owner_only_files, "temporary_bases", lambda: [temporary])
    return SimpleNamespace(vendors=vendors, library=library, temporary=temporary)


def contents(folder):
    return {p.name: p.read_text() for p in sorted(folder.iterdir())}


def shown():
    """Return what the loader is shown."""
    with intel.visible() as problem:
        assert problem == ""
        return contents(Path(os.environ[intel._VARIABLE]))


def test_the_loader_is_shown_intel_and_the_systems_drivers(machine):
    assert shown() == {
        "intel-cpu-pip.icd": f"{machine.library}\n",
        "nvidia.icd": "libnvidia-opencl.so.1\n",
    }


def test_nothing_stays_behind(machine):
    """Neither the folder, nor a variable that leads child processes to a folder that is gone."""
    shown()
    assert list(machine.temporary.iterdir()) == []
    assert intel._VARIABLE not in os.environ
    with pytest.raises(RuntimeError, match="driver"), intel.visible():
        raise RuntimeError("a driver throws")
    assert list(machine.temporary.iterdir()) == []
    assert intel._VARIABLE not in os.environ


def test_an_empty_setting_stays_one(machine, monkeypatch):
    monkeypatch.setenv(intel._VARIABLE, "")
    assert "intel-cpu-pip.icd" in shown()
    assert os.environ[intel._VARIABLE] == ""


@pytest.mark.skipif(os.name == "nt", reason="no modes of files")
def test_nobody_else_may_write_what_the_loader_loads(machine):
    before = os.umask(0)
    try:
        with intel.visible():
            folder = Path(os.environ[intel._VARIABLE])
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            assert {stat.S_IMODE(p.stat().st_mode) for p in folder.iterdir()} == {0o600}
    finally:
        os.umask(before)


def test_a_folder_that_somebody_made_first_is_not_used(machine, monkeypatch):
    """Neither in the cache folder nor at a name that can be guessed."""
    monkeypatch.setenv("PYOPENCL_GBDT_CACHE", str(machine.temporary / "cache"))
    for guess in ("cache", f"pyopencl_gbdt-{os.getpid()}"):
        planted = machine.temporary / guess / "icd"
        planted.mkdir(parents=True)
        (planted / "evil.icd").write_text("/evil.so\n")
    with intel.visible():
        folder = Path(os.environ[intel._VARIABLE])
        assert "evil.icd" not in contents(folder)
        assert folder != planted


@pytest.mark.skipif(os.name == "nt", reason="no modes of files")
def test_a_temporary_folder_where_others_may_rename_ours_is_not_used(machine):
    machine.temporary.chmod(0o777)
    with intel.visible() as problem:
        assert "set TMPDIR" in problem
        assert intel._VARIABLE not in os.environ
    machine.temporary.chmod(0o1777)
    assert "intel-cpu-pip.icd" in shown()


def test_a_users_own_setting_is_left_alone(machine, monkeypatch):
    monkeypatch.setenv(intel._VARIABLE, "/somewhere/else")
    with intel.visible() as problem:
        assert os.environ[intel._VARIABLE] == "/somewhere/else"
    assert (problem, os.environ[intel._VARIABLE]) == ("", "/somewhere/else")


def test_nothing_happens_without_the_wheel(machine, monkeypatch):
    monkeypatch.setattr(intel, "find_library", lambda: None)
    with intel.visible() as problem:
        assert problem == ""
        assert intel._VARIABLE not in os.environ


def test_a_machine_without_system_drivers(machine, monkeypatch):
    monkeypatch.setattr(intel, "_SYSTEM_VENDORS", machine.temporary / "absent")
    assert list(shown()) == ["intel-cpu-pip.icd"]


@pytest.fixture
def windows(machine, monkeypatch):
    """The same with Windows, whose loader reads another variable."""
    machine.administrator = False
    monkeypatch.delenv(intel._FILENAMES, raising=False)
    monkeypatch.setattr(intel, "_is_windows", lambda: True)
    monkeypatch.setattr(intel, "_is_administrator", lambda: machine.administrator)
    return machine


def test_the_loader_of_windows_is_told_the_library_itself(windows):
    with intel.visible() as problem:
        assert problem == ""
        assert os.environ[intel._FILENAMES] == str(windows.library)
        assert intel._VARIABLE not in os.environ
        assert list(windows.temporary.iterdir()) == []
    assert intel._FILENAMES not in os.environ


def test_an_administrator_of_windows_is_told_to_register_the_library(windows):
    windows.administrator = True
    with intel.visible() as problem:
        assert "in an administrator's process" in problem
        assert problem.endswith(f'/t REG_DWORD /d 0 /f /v "{windows.library}"')


def test_a_users_own_setting_on_windows_is_left_alone(windows, monkeypatch):
    monkeypatch.setenv(intel._FILENAMES, "C:\\other.dll")
    with intel.visible() as problem:
        assert (problem, os.environ[intel._FILENAMES]) == ("", "C:\\other.dll")


def test_without_a_temporary_folder_intel_stays_unseen_and_says_so(machine, monkeypatch):
    monkeypatch.setattr(owner_only_files, "temporary_bases", lambda: [machine.temporary / "absent"])
    with intel.visible() as problem:
        assert intel._VARIABLE not in os.environ
    assert "set TMPDIR" in problem


def test_the_loader_reads_the_folder_once(tmp_path):
    """The platform stays when the folder is gone, in a process that shows the loader PoCL so."""
    code = """
import os, pathlib, sys
import pyopencl as cl
from pyopencl_gbdt.device import discovery
from pyopencl_gbdt.device.drivers import intel
places = pathlib.Path(cl.__file__).parent / ".libs"
library = next(iter(places.glob("libpocl*.so*")), None)
if library is None:
    print("SKIP")
    sys.exit()
intel.find_library = lambda: library
intel._SYSTEM_VENDORS = pathlib.Path("/absent")
for _ in range(2):
    platforms = [info.caps.platform for info in discovery.devices()]
    assert "OCL_ICD_VENDORS" not in os.environ
    assert "Portable Computing Language" in platforms, platforms
print("SEEN")
"""
    environment = {k: v for k, v in os.environ.items() if k != intel._VARIABLE}
    environment |= {"TMPDIR": str(tmp_path), "PYTHONPATH": IMPORT_PATH}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    if "SKIP" in done.stdout:
        pytest.skip("PoCL's library does not lie beside pyopencl")
    assert done.stdout == "SEEN\n", done.stderr
    assert [p for p in tmp_path.iterdir() if p.name.startswith("pyopencl_gbdt-")] == []


class Wheel:
    """Stands for ``importlib.metadata``'s view of the wheel."""

    def __init__(self, place):
        self.name = place.name
        self.place = place

    def locate(self):
        return self.place


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """A folder of Python's path that has the wheel."""
    (tmp_path / "intel_opencl_rt-2025.1.0.dist-info").mkdir()
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])


def test_without_the_wheel_no_file_list_is_read(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", [str(tmp_path / "absent"), str(tmp_path)])
    monkeypatch.setattr(importlib.metadata, "files", lambda name: pytest.fail("reads it"))
    assert intel.find_library() is None


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("name", ["libintelocl.so", "intelocl64.dll"])
def test_the_library_is_found_in_the_wheels_file_list(name, tmp_path, monkeypatch):
    library = tmp_path / name
    library.write_bytes(b"")
    files = [Wheel(tmp_path / "intel.icd"), Wheel(library)]
    monkeypatch.setattr(importlib.metadata, "files", lambda name: files)
    assert intel.find_library() == library


@pytest.mark.usefixtures("installed")
def test_a_library_that_is_listed_but_gone(tmp_path, monkeypatch):
    listed = [Wheel(tmp_path / "libintelocl.so")]
    monkeypatch.setattr(importlib.metadata, "files", lambda name: listed)
    assert intel.find_library() is None


@pytest.mark.usefixtures("installed")
def test_no_wheel_and_no_file_list(monkeypatch):
    def absent(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "files", absent)
    assert intel.find_library() is None
    monkeypatch.setattr(importlib.metadata, "files", lambda name: None)
    assert intel.find_library() is None
