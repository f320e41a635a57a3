"""What differs on Windows and macOS, by fakes: open files, names, quoting, libraries, spawn."""

import configparser
import contextlib
import errno
import hashlib
import importlib.metadata
import multiprocessing
import os
import re
import shlex
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from packaging.markers import Marker

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.data.files import whole_file
from pyopencl_gbdt.device import cache, owner_only_files
from pyopencl_gbdt.doctor.findings import ANYWHERE, INSTALL
from pyopencl_gbdt.doctor.machine import installed_packages, killed_by
from pyopencl_gbdt.errors import FileWriteError
from pyopencl_gbdt.model import to_json
from pyopencl_gbdt.pages import disk_pages
from tests.device.fakes import make_caps
from tests.pages.test_disk_pages import CODES, layout_of

ROOT = Path(__file__).resolve().parents[1]


def _open_files():
    """Return the files that this process has open."""
    found = set()
    for number in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):  # the listing's own
            found.add(number.readlink())
    return found


def _refusing(call):
    """Return a call that fails as Windows's does for files that are open."""

    def refuse(*paths, dir_fd=None, **named):
        base = Path.cwd() if dir_fd is None else Path(f"/proc/self/fd/{dir_fd}").readlink()
        for path in paths:
            if (base / path).resolve() in _open_files():
                error = PermissionError(errno.EACCES, "The process cannot access the file", path)
                error.winerror = 32
                raise error
        return call(*paths, **({} if dir_fd is None else {"dir_fd": dir_fd}), **named)

    return refuse


@pytest.fixture
def windows(monkeypatch):
    """Windows as the library meets it: no locks, no user ids, and open files stay."""
    if sys.platform != "linux":
        pytest.skip("asks /proc for open files")
    for module in (whole_file, disk_pages):
        monkeypatch.setattr(module, "fcntl", None)
    monkeypatch.setattr(owner_only_files, "_BY_HANDLE", False)
    for name in ("geteuid", "fchmod", "statvfs"):
        monkeypatch.delattr(os, name)
    for name in ("unlink", "rename", "replace", "rmdir"):
        monkeypatch.setattr(os, name, _refusing(getattr(os, name)))


def _names(folder):
    return sorted(path.name for path in folder.iterdir())


# -- files that are open -------------------------------------------------------------------------
def test_the_fake_refuses_as_windows_does(windows, tmp_path):
    path = tmp_path / "a"
    with path.open("wb"), pytest.raises(PermissionError):
        path.unlink()
    with path.open("rb"), pytest.raises(PermissionError):
        shutil.rmtree(tmp_path)
    path.rename(tmp_path / "b")
    assert _names(tmp_path) == ["b"]


def test_a_file_is_replaced_unless_a_program_reads_it(windows, tmp_path):
    path = tmp_path / "model.json"
    whole_file.write_whole(path, b"one")
    whole_file.write_whole(path, b"two")
    words = (
        "cannot be written .*an existing file is unchanged; close the programs that have it open"
    )
    with path.open("rb"), pytest.raises(FileWriteError, match=words):
        whole_file.write_whole(path, b"three")
    assert path.read_bytes() == b"two"
    assert _names(tmp_path) == ["model.json"]


def test_a_kernel_that_another_process_reads_is_stored_later(windows, tmp_path, monkeypatch):
    monkeypatch.setenv("PYOPENCL_GBDT_CACHE", str(tmp_path / "kernels"))
    assert cache.store("k", b"one")
    with (tmp_path / "kernels" / "k.bin").open("rb"):
        assert not cache.store("k", b"two")
    assert cache.load("k") == b"one"
    assert cache.store("k", b"two")
    assert cache.load("k") == b"two"
    assert _names(tmp_path / "kernels") == ["k.bin"]


def test_pages_on_disk_go_with_their_fit(windows, tmp_path):
    pages = disk_pages.DiskPages(layout_of(CODES), [(0, 4)], [tmp_path], make_caps(kind="cpu"))
    assert _names(tmp_path) != []
    pages.close()
    assert _names(tmp_path) == []


def test_pages_of_a_process_that_was_killed_go_and_others_stay(windows, tmp_path):
    killed, alive = (tmp_path / f"pyopencl_gbdt-{digit * 16}" for digit in "ab")
    for folder in (killed, alive):
        folder.mkdir()
        (folder / "lock").touch()
        (folder / "0.codes").write_bytes(b"codes")
    with (alive / "lock").open("wb"):
        disk_pages.remove_stale(tmp_path)
    assert _names(tmp_path) == [alive.name]
    assert _names(alive) == ["0.codes", "lock"]


# -- names and folders ---------------------------------------------------------------------------
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)
#: Windows allows 260 characters in a path, with the NUL behind it.
_LONGEST = 259


def test_names_that_the_library_makes_are_names_on_windows(tmp_path, monkeypatch):
    monkeypatch.setenv("PYOPENCL_GBDT_CACHE", str(tmp_path / "kernels"))
    key = cache.cache_key("a program")
    assert cache.store(key, b"code")
    assert cache.store_log(key, "a log")
    pages = disk_pages.DiskPages(layout_of(CODES), [(0, 4)], [tmp_path], make_caps(kind="cpu"))
    made = [pages.path(0), *(tmp_path / "kernels").iterdir()]
    parts = {part for path in made for part in path.relative_to(tmp_path).parts}
    pages.close()
    for part in parts:
        assert re.fullmatch(r"[a-z0-9._-]+", part)  # two never differ by case alone
        assert not part.endswith(".")
        assert not _RESERVED.match(part)
    home = r"C:\Users\a-user-of-20-letters\AppData\Local\Packages\a-package-of-thirty-letters\cache"
    longest = max(len(str(path.relative_to(tmp_path))) for path in made)
    assert len(home) + 1 + longest + len(f"pyopencl_gbdt-{'0' * 16}") < _LONGEST


def test_kernels_are_kept_where_windows_keeps_a_users_files(monkeypatch):
    for name in cache.PLACES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LOCALAPPDATA", "/users/me/AppData/Local")
    assert cache.usual_folder() == Path("/users/me/AppData/Local/pyopencl_gbdt")


@pytest.mark.parametrize(("system", "has"), [("linux", True), ("darwin", False), ("win32", False)])
def test_shared_memory_is_a_folder_of_linux_alone(system, has, monkeypatch):
    monkeypatch.setattr(owner_only_files.sys, "platform", system)
    assert (Path("/dev/shm") in owner_only_files.temporary_bases()) == has


# -- commands and packages -----------------------------------------------------------------------
def _split_on_windows(line):
    """Split a command as programs of Windows split theirs: only double quotes are quotes."""
    return [word.replace('"', "") for word in re.findall(r'(?:"[^"]*"|[^\s"])+', line)]


def test_commands_for_every_system_are_quoted_for_every_shell():
    commands = [ways[ANYWHERE].split("  #")[0] for ways in INSTALL.values() if ANYWHERE in ways]
    assert len(commands) >= 2
    for command in commands:
        assert _split_on_windows(command) == shlex.split(command)
    assert _split_on_windows("pip install '.[cpu]'") != shlex.split("pip install '.[cpu]'")


@pytest.mark.parametrize(
    ("system", "machine", "packages"),
    [
        ("Linux", "x86_64", {"pocl-binary-distribution", "intel-opencl-rt", "intel-cmplr-lib-rt"}),
        ("Linux", "aarch64", set()),
        ("Windows", "AMD64", {"intel-opencl-rt", "intel-cmplr-lib-rt"}),
        ("Windows", "ARM64", set()),
        ("Windows", "x86", set()),
        ("Darwin", "arm64", set()),
        ("Darwin", "x86_64", set()),
    ],
)
def test_runtimes_for_processors_are_asked_for_where_they_exist(system, machine, packages):
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    here = {"platform_system": system, "platform_machine": machine}
    found = set()
    for extra in ("cpu", "intel-cpu"):
        for line in setup["options.extras_require"][extra].split("\n"):
            name, _, marker = line.partition(";")
            if name and Marker(marker.strip()).evaluate(here):
                found.add(re.split("[>=]", name)[0].strip())
    assert found == packages


@pytest.mark.parametrize("name", ["intelocl64.dll", "libpocl.2.dylib", "libintelocl.so"])
def test_a_library_that_is_gone_is_missed_on_every_system(name, tmp_path, monkeypatch):
    class File(type(Path())):
        def locate(self):
            return tmp_path / self.name

    distribution = type("Distribution", (), {"version": "1", "files": [File(name), File("a.py")]})
    monkeypatch.setattr(importlib.metadata, "distribution", lambda _: distribution)
    assert installed_packages()["intel-opencl-rt"].missing == (name,)


def test_how_a_process_ended_is_told_in_its_systems_words():
    assert killed_by(-11) == "by signal 11"
    assert killed_by(0xC0000005) == "by exception 0xC0000005"
    assert killed_by(0) == killed_by(1) == ""


# -- processes -----------------------------------------------------------------------------------
def _digest():
    values = np.arange(600, dtype=np.float32).reshape(200, 3) % 17
    params = {"max_depth": 3, "device": "portable"}
    model = train(params, Dataset(values, values[:, 0] * values[:, 1]), 3)
    return hashlib.sha256(to_json(model.ensemble).encode()).hexdigest()


def _send(pipe):
    pipe.send(_digest())


@pytest.mark.thorough
def test_a_process_that_is_spawned_trains_as_its_parent():
    """Windows and macOS start processes so: modules are imported anew, and nothing is inherited."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=_send, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    assert ours.poll(120)
    assert ours.recv() == _digest()
    process.join(20)
    assert process.exitcode == 0
