"""PoCL compiles for a processor that its LLVM does not know."""

import ctypes
import struct
import sys
from types import SimpleNamespace

import pytest

from pyopencl_gbdt.device.opencl import pocl as pocl_target

V2 = "cx16 popcnt sse4_1 sse4_2 ssse3"
V3 = f"{V2} avx2 bmi1 bmi2 fma f16c movbe abm"
V4 = f"{V3} avx512f avx512bw avx512cd avx512dq avx512vl"


@pytest.fixture(autouse=True)
def none_seen(monkeypatch):
    """Made-up records may lie where others lay before."""
    monkeypatch.setattr(pocl_target, "_SEEN", set())


linux_only = pytest.mark.skipif(sys.platform != "linux", reason="PoCL's wheel is for Linux")


@pytest.mark.parametrize(
    ("flags", "name"),
    [("", b"x86-64"), (V2, b"x86-64-v2"), (V3, b"x86-64-v3"), (V4, b"x86-64-v4"),
     (V4.replace("bmi2 ", ""), b"x86-64-v2")],
)  # fmt: skip
def test_the_best_instruction_set_is_named(flags, name):
    assert pocl_target.instruction_set(f"model\t: 1\nflags\t\t: fpu {flags}\n") == name
    assert pocl_target.instruction_set("") == b"x86-64"


def device_with(version, words):
    """A made-up record of a device: words, some of which are addresses."""
    record = ctypes.create_string_buffer(struct.pack(f"<{len(words)}Q", *words) + bytes(1024))
    fields = {"version": version, "int_ptr": ctypes.addressof(record)}
    return SimpleNamespace(**fields), record


@linux_only
@pytest.mark.parametrize("name", [b"generic", b"znver3"])
def test_only_an_unknown_processor_is_named_anew(monkeypatch, name):
    monkeypatch.setattr(pocl_target.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(pocl_target, "instruction_set", lambda cpuinfo: b"x86-64-v3")
    text = ctypes.create_string_buffer(name)
    words = [0, 8, 2**63, ctypes.addressof(text), 5]
    version = f"OpenCL 3.0 PoCL HSTR: pthread-x86_64-unknown-linux-gnu-{name.decode()}"
    device, record = device_with(version, words)
    assert pocl_target.mend(device) == (name == b"generic")
    now = list(struct.unpack_from("<5Q", record.raw))
    assert now[:3] + now[4:] == words[:3] + words[4:]
    expected = b"x86-64-v3" if name == b"generic" else name
    assert ctypes.string_at(now[3]) == expected
    monkeypatch.setattr(pocl_target, "_read", None)  # a record is searched once
    assert not pocl_target.mend(device)


@linux_only
def test_other_drivers_are_left_alone():
    text = ctypes.create_string_buffer(b"generic")
    device, record = device_with("OpenCL 3.0 CUDA-generic", [ctypes.addressof(text)])
    before = record.raw
    assert not pocl_target.mend(device)
    assert record.raw == before
