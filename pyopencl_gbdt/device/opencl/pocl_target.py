"""Tell PoCL which processor to compile for, where its LLVM does not know the machine's.

LLVM calls processors that are newer than itself ``generic``. PoCL hands that name to its own
compiler, which refuses it on x86-64 ("unknown target CPU 'generic'", PoCL's issue 1049): no kernel
builds. PoCL 3.0, the latest wheel, has LLVM 14, which does not know AMD's Zen 5, for one. No build
option or variable of the environment names another processor. So this module puts the name of an
instruction set that the machine has into PoCL's record of the device, in place of ``generic``.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
from pathlib import Path
from typing import Any

#: Bytes of the record that are searched; PoCL 1.8 to 3.0 keep the name within the first 700.
_SEARCHED = 1024
_UNKNOWN = b"generic\0"
#: Instruction sets that LLVM has known since 2020, best first, and what Linux calls their parts.
_LEVELS = (
    (b"x86-64-v4", {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}),
    (b"x86-64-v3", {"avx2", "bmi1", "bmi2", "fma", "f16c", "movbe", "abm"}),
    (b"x86-64-v2", {"cx16", "popcnt", "sse4_1", "sse4_2", "ssse3"}),
)
_CPUINFO = Path("/proc/cpuinfo")
_BASELINE = b"x86-64"
#: Names that PoCL's records point to; they must stay where they are.
_KEPT: dict[bytes, Any] = {}
#: Addresses of the records that were looked at: a process lists its devices at every prediction,
#: and asking for their versions takes 50 us each.
_SEEN: set[int] = set()


def instruction_set(cpuinfo: str) -> bytes:
    """Return the best of LLVM's names that a processor supports, from Linux's ``cpuinfo``."""
    lines = [line for line in cpuinfo.splitlines() if line.startswith("flags")]
    flags = set(lines[0].partition(":")[2].split()) if lines else set()
    found, needed = _BASELINE, set[str]()
    for name, parts in reversed(_LEVELS):  # a level needs those below it
        needed |= parts
        if needed <= flags:
            found = name
    return found


def mend(device: Any) -> bool:
    """Name a processor that PoCL's compiler knows; return whether that was needed.

    Parameters
    ----------
    device : pyopencl.Device
        Only a device of PoCL on Linux and x86-64 whose processor is ``generic`` is changed.
    """
    if sys.platform != "linux" or device.int_ptr in _SEEN:
        return False
    _SEEN.add(device.int_ptr)
    if platform.machine() != "x86_64" or "PoCL" not in device.version:
        return False
    if not device.version.strip().endswith("-generic"):
        return False
    record = _read(device.int_ptr, _SEARCHED)
    for place in range(0, len(record) - 7, 8):
        (address,) = struct.unpack_from("<Q", record, place)
        if _read(address, len(_UNKNOWN)) == _UNKNOWN:
            name = instruction_set(_CPUINFO.read_text(encoding="utf-8", errors="replace"))
            text = _KEPT.setdefault(name, ctypes.create_string_buffer(name))
            slot = ctypes.c_uint64.from_address(device.int_ptr + place)
            slot.value = ctypes.addressof(text)
            return True
    return False


class _Piece(ctypes.Structure):
    """``struct iovec`` of Linux."""

    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def _read(address: int, length: int) -> bytes:
    """Copy memory of this process; empty where there is none, which would otherwise be a crash."""
    copy = ctypes.create_string_buffer(length)
    to = _Piece(ctypes.addressof(copy), length)
    there = _Piece(address, length)
    libc = ctypes.CDLL(None)
    n = libc.process_vm_readv(
        os.getpid(), ctypes.byref(to), ctypes.c_ulong(1), ctypes.byref(there), ctypes.c_ulong(1),
        ctypes.c_ulong(0),
    )  # fmt: skip
    return copy.raw[:n] if n > 0 else b""
