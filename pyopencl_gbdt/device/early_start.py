"""Start drivers in a thread, while the process imports what a fit needs.

NVIDIA's driver takes 0.9 s to find the four cards of an H200 host, and the imports of a first fit
take as long there. Side by side they took 1.0 s instead of 1.9. The thread calls the functions of
the drivers that pyopencl and CuPy would call first; what fails here fails again there, and is
reported. ``PYOPENCL_GBDT_EARLY_START=off`` does without.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from typing import Any

from pyopencl_gbdt.device.drivers import folders as driver_folders
from pyopencl_gbdt.device.drivers import forked
from pyopencl_gbdt.errors import DeviceError

ENVIRONMENT = "PYOPENCL_GBDT_EARLY_START"
#: The process that began last; 0 if none did.
_begun = 0


def begin(params: Any) -> threading.Thread | None:
    """Start the drivers of the device that a fit's parameters name; once a process.

    Parameters
    ----------
    params : mapping, or sequence of (str, object)
        As they were given, not checked yet.

    Returns
    -------
    threading.Thread or None
        The thread that waits for them; None if nothing was begun.
    """
    global _begun  # noqa: PLW0603 - a fact of the process
    if _begun == os.getpid() or os.environ.get(ENVIRONMENT, "").strip().lower() == "off":
        return None
    _begun = os.getpid()
    try:
        wanted = dict(params).get("device", "auto")
        forked.check()
    except (TypeError, ValueError, DeviceError):  # the fit reports it
        return None
    if not isinstance(wanted, str):  # an opened device
        return None
    forked.remember()
    start = _cuda if wanted.strip().lower().startswith("cuda") else _opencl
    # not a daemon: Python waits for it at exit, where a driver that still starts would crash
    thread = threading.Thread(target=start, name="early_start", daemon=False)
    thread.start()
    return thread


def _opencl() -> None:
    """Ask OpenCL's loader for platforms, which starts the drivers; discovery waits for it."""
    with contextlib.suppress(Exception):
        import pyopencl

        with driver_folders.chosen():
            # the library finds what it is linked to: the loader that pyopencl uses
            loader = ctypes.CDLL(pyopencl._cl.__file__)
            loader.clGetPlatformIDs(0, None, ctypes.byref(ctypes.c_uint()))


def _cuda() -> None:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libcuda.so.1").cuInit(0)
