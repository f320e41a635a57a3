"""What PoCL needs: its compiler loaded early, and the processor that it compiles for.

The helper process of ``build_ahead`` imports this module, too, where it goes without pyopencl.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import struct
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pyopencl_gbdt.device.opencl.loader import CPU, Loader

POCL = "Portable Computing Language"
#: Skips Clang's opencl-c.h, which PoCL reads before every program: 17,000 declarations of built-in
#: functions. PoCL 3.0 then builds one of our programs in 0.06 s instead of 0.2 s. The macro is the
#: header's include guard. A PoCL whose header has another guard reads the header as before;
#: ``dialect_opencl_builtins.h`` then repeats some of its declarations.
NO_HEADER = "-D_OPENCL_H_"
_SIMULATOR = "Oclgrind"
#: A program that only loads the compiler.
LOAD = "__kernel void load(__global int* x) { x[0] = 1; }"
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


#: The process that loaded the compiler last, or found that it need not; 0 if none did.
_loaded = 0


def warm_up(context: Any, number: int = 0) -> threading.Thread | None:
    """Load the compiler in a thread, once a process; return the thread.

    A helper process starts, too, that will compile kernels, see ``build_ahead``.

    If PoCL keeps programs on disk from earlier fits, it will hardly need its compiler. Then, and if
    the compiler was loaded before, this does nothing and returns None.

    Parameters
    ----------
    context : pyopencl.Context
        Fits must use the same one: PoCL unloads what no context uses.
    number : int
        The device's number on PoCL's platform.
    """
    if not _must_load():
        return None
    import pyopencl as cl

    def load() -> None:
        with contextlib.suppress(cl.Error):  # the fit's own programs report what is wrong
            cl.Program(context, LOAD).build([NO_HEADER], cache_dir=False)

    return _begin(load, cl._cl.__file__, number)


def context_that_loads(opencl: Loader) -> dict[int, int]:
    """Load the compiler before pyopencl is there, where PoCL has the only CPU.

    Returns
    -------
    dict of int to int
        The context in which it loads, by device, both as the driver names them; empty if the
        compiler will not be needed, or another platform has a CPU.
    """
    cpus = [
        (opencl.name(platform).strip(), number, device)
        for platform in opencl.platforms()
        for number, device in enumerate(opencl.devices(platform, CPU))
    ]
    cpus = [cpu for cpu in cpus if cpu[0] != _SIMULATOR]
    if len(cpus) != 1 or cpus[0][0] != POCL or not _must_load():
        return {}
    _, number, device = cpus[0]
    mend(SimpleNamespace(int_ptr=device.value, version=opencl.version(device)))
    context = opencl.context(device)

    def load() -> None:
        with contextlib.suppress(OSError):
            opencl.build(context, device, LOAD, NO_HEADER)

    _begin(load, opencl.file, number)
    return {device.value or 0: context.value or 0}


def _must_load() -> bool:
    """Tell whether this process has to load the compiler: once, if PoCL keeps no programs."""
    global _loaded  # noqa: PLW0603 - a fact of the process
    if _loaded == os.getpid():
        return False
    _loaded = os.getpid()
    return not _keeps_programs()


def _begin(load: Callable[[], None], library: str, number: int) -> threading.Thread:
    """Start the helper that compiles kernels, and the thread that loads the compiler."""
    from pyopencl_gbdt.device.opencl import build_ahead

    build_ahead.start(library, number)
    # Not a daemon: Python waits for it at exit, where a driver that still compiles would crash.
    thread = threading.Thread(target=load, name="warm_up", daemon=False)
    thread.start()
    return thread


def _keeps_programs() -> bool:
    """Tell whether PoCL's folder holds programs; each has a folder of its own."""
    from pyopencl_gbdt.device.drivers import folders as driver_folders

    try:
        return any(place.is_dir() for place in driver_folders.pocl_folder().iterdir())
    except OSError:
        return False
