"""Load PoCL's compiler in the background, while the host reads data.

The first program that a process builds takes PoCL 3.0 0.35 s, however small it is: it loads LLVM
and its library of built-in functions. A thread can build a small program in that time. The thread
holds none of this library's locks, so another thread that builds waits only for PoCL itself.
"""

from __future__ import annotations

import contextlib
import os
import threading
from typing import Any

import pyopencl as cl

from pyopencl_gbdt.device.drivers import folders as driver_folders
from pyopencl_gbdt.device.opencl import build_ahead
from pyopencl_gbdt.device.opencl.source import NO_HEADER

_SOURCE = "__kernel void warm_up(__global int* x) { x[0] = 1; }"
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
    global _loaded  # noqa: PLW0603 - a fact of the process
    if _loaded == os.getpid():
        return None
    _loaded = os.getpid()
    if _keeps_programs():
        return None
    build_ahead.start(number)
    # Not a daemon: Python waits for it at exit, where a driver that still compiles would crash.
    thread = threading.Thread(target=_build, args=(context,), name="warm_up", daemon=False)
    thread.start()
    return thread


def _build(context: Any) -> None:
    with contextlib.suppress(cl.Error):  # the fit's own programs report what is wrong
        cl.Program(context, _SOURCE).build([NO_HEADER], cache_dir=False)


def _keeps_programs() -> bool:
    """Tell whether PoCL's folder holds programs; each has a folder of its own."""
    try:
        return any(place.is_dir() for place in driver_folders.pocl_folder().iterdir())
    except OSError:
        return False
