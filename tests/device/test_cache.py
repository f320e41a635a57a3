"""Built programs on disk: hits, damage, folders that cannot be written, processes at once."""

import os
import subprocess
import sys

import pytest

from pyopencl_gbdt.device import cache, open_device
from tests.device.one_program import build_and_run
from tests.processes import IMPORT_PATH, QUICK_BUILDS


@pytest.fixture
def folder(tmp_path, monkeypatch):
    place = tmp_path / "cache"
    monkeypatch.setenv("PYOPENCL_GBDT_CACHE", str(place))
    return place


# -- bytes -------------------------------------------------------------------------------------
def test_what_is_stored_is_loaded(folder):
    assert cache.load("key") is None
    assert cache.store("key", b"payload")
    assert cache.load("key") == b"payload"
    assert cache.store("key", b"other")
    assert cache.load("key") == b"other"
    assert [p.name for p in folder.iterdir()] == ["key.bin"]


def test_an_empty_payload(folder):
    assert cache.store("key", b"")
    assert cache.load("key") == b""


def test_a_program_of_other_options_is_another_one(opened, monkeypatch):
    """Devices of one context may differ in options: one pretends to be less than it is."""
    other = open_device(opened.caps.device_id)
    options = [*other._options(1), "-DOF_A_LESSER_DEVICE"]
    monkeypatch.setattr(other, "_options", lambda wg_size: options)
    given = {"wg_size": 1, "items": 1, "rows": 0, "categories": False}
    first, second = (own.build("predict", **given).program for own in (opened, other))
    assert opened.context == other.context
    assert first is not second
    assert [own.build("predict", **given).program for own in (opened, other)] == [first, second]


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:10],
        lambda data: data[:32],
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: bytes([data[0] ^ 1]) + data[1:],
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: b"\0" * len(data),
    ],
)
def test_damaged_files_are_ignored_and_replaced(folder, damage):
    cache.store("key", b"payload")
    file = folder / "key.bin"
    file.write_bytes(damage(file.read_bytes()))
    assert cache.load("key") is None
    assert cache.store("key", b"payload")
    assert cache.load("key") == b"payload"


def test_a_folder_in_the_files_place(folder):
    (folder / "key.bin").mkdir(parents=True)
    assert cache.load("key") is None
    assert not cache.store("key", b"payload")
    assert [p.name for p in folder.iterdir()] == ["key.bin"]  # no half-written file stays


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    blocked = tmp_path / "a file"
    blocked.write_text("")
    monkeypatch.setenv("PYOPENCL_GBDT_CACHE", str(blocked / "cache"))
    assert not cache.store("key", b"payload")
    assert cache.load("key") is None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write all")
def test_a_folder_without_permission(folder):
    folder.mkdir()
    folder.chmod(0o500)
    assert not cache.store("key", b"payload")
    folder.chmod(0o700)


def test_keys_tell_facts_apart():
    keys = [
        cache.cache_key(*facts) for facts in [("a",), ("b",), ("a", "b"), ("ab",), ("a", "", "b")]
    ]
    assert len(set(keys)) == len(keys)
    assert cache.cache_key("a", "b") == cache.cache_key("a", "b")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="no users with numbers")
def test_where_the_folder_lies(monkeypatch, tmp_path):
    monkeypatch.delenv("PYOPENCL_GBDT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.cache_folder() == tmp_path / "pyopencl_gbdt"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("LOCALAPPDATA", raising=False)

    def homeless():
        raise RuntimeError("no home")

    monkeypatch.setattr(cache.Path, "home", homeless)
    monkeypatch.setattr(cache.owner_only_files, "temporary_bases", lambda: [tmp_path])
    assert cache.cache_folder() == tmp_path / f"pyopencl_gbdt-{os.geteuid()}"


@pytest.mark.thorough
def test_two_processes_write_and_read_at_once(folder):
    """Whatever the other does, a reader sees a whole payload or none."""
    code = """
import sys
from pyopencl_gbdt.device import cache
mine = sys.argv[1].encode() * 20000
for _ in range(300):
    assert cache.store("key", mine)
    got = cache.load("key")
    assert got in (b"a" * 20000, b"b" * 20000), len(got or b"")
"""
    run_at_once(code, ["a"], ["b"])
    assert [p.name for p in folder.iterdir()] == ["key.bin"]


# -- programs ----------------------------------------------------------------------------------
@pytest.fixture
def opened(device, folder, monkeypatch):
    """The device of the tests with an empty cache on disk and none in memory."""
    if device.caps.api != "opencl":
        pytest.skip("counts how often pyopencl builds; CUDA stores through the same functions")
    from pyopencl_gbdt.device.opencl import device as opencl

    fresh = open_device(device.caps.device_id)
    monkeypatch.setattr(opencl, "_programs", {})
    monkeypatch.setattr(opencl, "_KEEP_THEIR_OWN", ())  # PoCL too can give its binaries
    fresh.forget = opencl._programs.clear
    if not build_and_run(fresh) or not list(folder.glob("*.bin")):
        pytest.skip("the driver gives no binaries")
    fresh.forget()
    return fresh


def count_source_builds(monkeypatch):
    """Count how often the compiler is given source."""
    import pyopencl as cl

    seen = []
    original = cl.Program.__init__

    def counting(self, context, arg1, *rest):
        if isinstance(arg1, str):
            seen.append(arg1)
        original(self, context, arg1, *rest)

    monkeypatch.setattr(cl.Program, "__init__", counting)
    return seen


def test_a_second_build_takes_the_binary(opened, folder, monkeypatch):
    built = count_source_builds(monkeypatch)
    assert build_and_run(opened)
    assert built == []


def test_a_program_is_built_once_a_process(opened, folder, monkeypatch):
    build_and_run(opened)
    for file in folder.glob("*.bin"):
        file.unlink()
    built = count_source_builds(monkeypatch)
    assert build_and_run(opened)
    assert built == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b"garbage",
        None,  # whole by its digest, but nothing that the driver has written
    ],
)
def test_a_damaged_or_foreign_binary_is_built_from_source_and_replaced(
    opened, folder, monkeypatch, damage
):
    (file,) = folder.glob("*.bin")
    if damage is None:
        assert cache.store(file.stem, b"no binary")
    else:
        file.write_bytes(damage(file.read_bytes()))
    built = count_source_builds(monkeypatch)
    assert build_and_run(opened)
    assert len(built) == 1
    opened.forget()
    assert build_and_run(opened)
    assert len(built) == 1, "the damaged file was not replaced"


def test_a_binary_of_another_source_is_not_mistaken(opened, folder):
    names = {file.name for file in folder.glob("*.bin")}
    opened.build("predict", wg_size=1, items=2, rows=0, categories=False)
    assert len({file.name for file in folder.glob("*.bin")} - names) == 1


def test_without_a_writable_folder_everything_works(opened, tmp_path, monkeypatch):
    blocked = tmp_path / "a file"
    blocked.write_text("")
    monkeypatch.setenv("PYOPENCL_GBDT_CACHE", str(blocked / "cache"))
    assert build_and_run(opened)


@pytest.mark.thorough
def test_two_processes_build_at_once(opened, folder):
    for file in folder.glob("*.bin"):
        file.unlink()
    code = """
import sys
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.opencl import device as opencl
from tests.device.one_program import build_and_run
opencl._KEEP_THEIR_OWN = ()
assert build_and_run(open_device(sys.argv[1]))
"""
    name = opened.caps.device_id
    run_at_once(code, [name], [name])
    assert len(list(folder.glob("*.bin"))) == 1
    assert not list(folder.glob(".writing-*"))


def run_at_once(code, *arguments):
    """Run Python code in several processes at once; all must succeed."""
    environment = {**os.environ, **QUICK_BUILDS, "PYTHONPATH": IMPORT_PATH}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", code, *given],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        for given in arguments
    ]  # fmt: skip
    for process in processes:
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0, output


def test_options_of_the_compiler_from_outside_are_part_of_the_key(monkeypatch):
    before = cache.compiler_settings()
    monkeypatch.setenv("PYOPENCL_BUILD_OPTIONS", "-cl-opt-disable")
    assert set(cache.compiler_settings()) - set(before) == {
        "PYOPENCL_BUILD_OPTIONS=-cl-opt-disable"
    }
