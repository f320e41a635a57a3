"""Fits where the home folder cannot be written, as in containers; damaged caches of others."""

import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pyopencl as cl
import pytest

from pyopencl_gbdt.device import devices, owner_only_files
from pyopencl_gbdt.device.drivers import folders as driver_folders
from pyopencl_gbdt.doctor.machine import installed_packages
from tests.device import strangers

pytestmark = pytest.mark.skipif(os.name == "nt", reason="other rules for folders")

#: Builds and runs a kernel on PoCL, and says where it is kept.
BUILD = """
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.drivers import folders as driver_folders
from tests.device.one_program import build_and_run
assert build_and_run(open_device("portable computing language"))
print("RUN", driver_folders.pocl_folder())
import os
assert not {"POCL_CACHE_DIR", "PYOPENCL_NO_CACHE", "OCL_ICD_VENDORS"} & os.environ.keys()
"""
FIT = """
import numpy as np
from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import cache
X = np.arange(40, dtype=np.float32).reshape(20, 2)
model = train({"max_depth": 1, "device": "portable computing language"}, Dataset(X, X[:, 0]), 1)
assert np.ptp(model.predict(X, device="portable computing language")) > 0
print("RUN", cache.cache_folder())
"""


@pytest.fixture(autouse=True)
def pocl():
    platforms = [info.caps.platform for info in devices() if info.caps]
    if "Portable Computing Language" not in platforms:
        pytest.skip("PoCL is not installed")


@pytest.fixture
def everybodys():
    """A folder for temporary files, as /tmp is; pytest's own are closed to other users."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name).resolve()
        place.chmod(0o1777)
        yield place


def ran_in(done):
    """Return the folder that a process named."""
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    assert done.stdout.startswith("RUN "), done.stdout
    return Path(done.stdout.removeprefix("RUN ").strip())


# -- home folders ------------------------------------------------------------------------------
@pytest.mark.thorough
def test_a_user_without_a_home_fits(everybodys):
    folder = ran_in(strangers.run(["-c", FIT], {"TMPDIR": str(everybodys)}, stranger=True))
    assert folder == everybodys / f"pyopencl_gbdt-{strangers.STRANGER}"
    assert (folder.stat().st_uid, folder.stat().st_mode & 0o777) == (strangers.STRANGER, 0o700)
    assert any((folder / "pocl").rglob("*.so"))  # for the next process


@pytest.mark.thorough
@pytest.mark.parametrize(
    "options", [pytest.param("ro,size=1m", marks=pytest.mark.thorough), "size=64k"]
)
def test_a_home_that_is_read_only_or_full(options, everybodys, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    done = strangers.run(
        ["-c", BUILD], {"HOME": str(home), "TMPDIR": str(everybodys)},
        mount=f"mount -t tmpfs -o {options},mode=700 tmpfs {home}",
    )  # fmt: skip
    assert ran_in(done) == everybodys / f"pyopencl_gbdt-{os.geteuid()}" / "pocl"


@pytest.mark.thorough
def test_where_temporary_files_do_not_fit_either(everybodys, tmp_path):
    home, runtime = tmp_path / "home", tmp_path / "runtime"
    home.mkdir()
    runtime.mkdir(mode=0o700)
    mounts = [f"mount -t tmpfs -o size=64k,mode=1777 tmpfs {p}" for p in (home, everybodys)]
    done = strangers.run(
        ["-c", BUILD],
        {"HOME": str(home), "TMPDIR": str(everybodys), "XDG_RUNTIME_DIR": str(runtime)},
        mount=" && ".join(mounts),
    )
    assert ran_in(done) == runtime / f"pyopencl_gbdt-{os.geteuid()}" / "pocl"


@pytest.mark.thorough
def test_a_named_cache_folder_serves_pocl_too(tmp_path):
    place = tmp_path / "cache"
    places = {"HOME": "/proc/nobody", "PYOPENCL_GBDT_CACHE": str(place)}  # nor may root write there
    assert ran_in(strangers.run(["-c", BUILD], places)) == place / "pocl"


@pytest.mark.thorough
def test_a_folder_that_another_user_made_first_holds_nothing_of_ours(everybodys):
    planted = everybodys / f"pyopencl_gbdt-{strangers.STRANGER}"
    planted.mkdir()
    planted.chmod(0o777)
    code = f"""
from pathlib import Path
from pyopencl_gbdt.device import owner_only_files
owner_only_files.temporary_bases = lambda: [Path({str(everybodys)!r})]
{BUILD}"""
    folder = ran_in(strangers.run(["-c", code], {"TMPDIR": str(everybodys)}, stranger=True))
    assert folder.parent == everybodys
    assert list(everybodys.iterdir()) == [planted]  # a folder for this process alone: it is gone
    assert list(planted.iterdir()) == []


@pytest.mark.thorough
def test_a_home_that_works_is_used(tmp_path):
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    done = strangers.run(["-c", BUILD], {"HOME": str(home)})
    assert ran_in(done) == home / ".cache" / "pocl" / "kcache"


@pytest.mark.thorough
# -- what the user set -------------------------------------------------------------------------
def test_a_folder_that_the_user_named_and_pocl_cannot_write_is_named_in_the_error(everybodys):
    places = {"TMPDIR": str(everybodys), "POCL_CACHE_DIR": "/proc/pocl"}
    done = strangers.run(["-c", BUILD], places)
    assert done.returncode
    assert "DeviceError" in done.stderr
    assert "POCL_CACHE_DIR=/proc/pocl: PoCL has no device where it cannot write" in done.stderr


def test_what_the_user_set_stays(monkeypatch, tmp_path):
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(
        driver_folders.owner_only_files, "why_unusable", lambda *_: "nothing is usable"
    )
    assert driver_folders.choose_pocl_folder() == ("", "")


def test_without_any_folder_the_note_says_what_to_set(monkeypatch):
    monkeypatch.delenv("POCL_CACHE_DIR", raising=False)
    monkeypatch.setattr(
        owner_only_files, "why_unusable", lambda *_: "/home/me: No space left on device"
    )
    monkeypatch.setattr(owner_only_files, "temporary_folder", lambda *_: None)
    folder, note = driver_folders.choose_pocl_folder()
    assert folder == ""
    assert "/home/me: No space left on device; set POCL_CACHE_DIR" in note


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "/x/pocl/kcache"),
        ({"HOME": "/h"}, "/h/.cache/pocl/kcache"),
        ({}, "/tmp/pocl/kcache"),
    ],
)
def test_pocls_own_rules(monkeypatch, variables, folder):
    for name in ("XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert driver_folders.usual_pocl_folder() == Path(folder)


def test_pocls_folder_that_everybody_could_make_is_never_used(monkeypatch, tmp_path):
    """Without a home PoCL takes /tmp/pocl/kcache, whoever made it."""
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("POCL_CACHE_DIR", raising=False)
    monkeypatch.setenv("PYOPENCL_GBDT_CACHE", str(tmp_path / "cache"))
    assert driver_folders.choose_pocl_folder() == (str(tmp_path / "cache" / "pocl"), "")


# -- pyopencl's cache --------------------------------------------------------------------------
def test_pyopencls_cache_that_others_can_write_is_not_read(monkeypatch, tmp_path):
    """It holds pickles, which run code when they are read."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert driver_folders.why_no_pyopencl_cache() == ""
    (tmp_path / "pytools").mkdir()
    (tmp_path / "pytools").chmod(0o777)
    assert "can be written by other users" in driver_folders.why_no_pyopencl_cache()


@pytest.mark.thorough
def test_a_damaged_cache_of_pyopencl(tmp_path):
    place = tmp_path / "caches" / "pytools"
    code = f"""
import pyopencl, pytools.persistent_dict as p, pathlib
place = pathlib.Path({str(place)!r})
name = "pyopencl-invoker-cache-v42-nano"
place.mkdir(parents=True, mode=0o700)
p.WriteOncePersistentDict(name, safe_sync=False)
for file in place.iterdir():
    file.write_bytes(b"no database" * 1000)
{BUILD}
"""
    done = strangers.run(["-c", code], {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(place.parent)})
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("RUN")


def test_a_disk_that_fills_in_the_middle(monkeypatch):
    monkeypatch.setattr(cl, "_PYOPENCL_NO_CACHE", False)
    calls = []

    def make():
        calls.append(cl._PYOPENCL_NO_CACHE)
        if not cl._PYOPENCL_NO_CACHE:
            raise sqlite3.OperationalError("database or disk is full")
        return "kernel"

    assert driver_folders.without_failing_cache(make) == "kernel"
    assert calls == [False, True]


def test_other_failures_are_not_tried_again(monkeypatch):
    monkeypatch.setattr(cl, "_PYOPENCL_NO_CACHE", True)
    calls = []

    def make():
        calls.append(1)
        raise OSError("no reason")

    with pytest.raises(OSError, match="no reason"):
        driver_folders.without_failing_cache(make)
    assert calls == [1]


# -- PoCL's cache ------------------------------------------------------------------------------
def build_below(place):
    """Build in a folder that the user named."""
    places = {"POCL_CACHE_DIR": str(place), "HOME": str(place)}
    return strangers.run(["-c", BUILD.replace("assert not", "assert 1 or")], places)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    place = tmp_path_factory.mktemp("built")
    ran_in(build_below(place))
    return place


@pytest.mark.thorough
@pytest.mark.parametrize("size", [pytest.param(0, marks=pytest.mark.exhaustive), 1000])
def test_a_damaged_program_of_pocl_is_built_again_and_the_folder_is_named(size, built, tmp_path):
    shutil.copytree(built, tmp_path, dirs_exist_ok=True)
    programs = list(tmp_path.rglob("program.bc"))
    assert programs
    for program in programs:
        with program.open("r+b") as file:
            file.truncate(size)
    done = build_below(tmp_path)
    if "Assertion `mod' failed" in done.stderr:
        pytest.skip("this PoCL, such as 5.0 with assertions, ends a process that reads such a file")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("RUN")
    assert f"a program in {tmp_path}, where PoCL keeps what it builds, is damaged" in done.stderr


# -- the doctor --------------------------------------------------------------------------------
@pytest.mark.thorough
def test_the_doctor_tells_where_kernels_are_kept(everybodys):
    arguments = ["-m", "pyopencl_gbdt", "doctor", "--device", "portable", "--no-self-test"]
    places = {"TMPDIR": str(everybodys), "HOME": "/nonexistent"}
    done = strangers.run(arguments, places, stranger=True)
    said = " ".join(done.stdout.split())
    assert done.returncode == 0, done.stderr
    assert f"are kept in {everybodys}/pyopencl_gbdt-{strangers.STRANGER} instead" in said
    if "pocl-binary-distribution" in installed_packages():
        assert f"lets PoCL use {everybodys}/pyopencl_gbdt-{strangers.STRANGER}/pocl" in said
    assert "a device can be used." in said
