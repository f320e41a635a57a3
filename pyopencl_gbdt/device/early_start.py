"""Start drivers in a thread, while the process imports what a fit needs.

    main thread     |imports ...................|find|device|fit
    early_start     |driver, its GPUs|context...|         (the context is the fit's)

NVIDIA's driver takes 0.9 s to find the four cards of an H200 host, and the imports of a first fit
take as long there. Side by side they took 1.0 s instead of 1.9. The thread calls the functions of
the drivers that pyopencl and CuPy would call first; what fails here fails again there, and is
reported. It imports neither: while they are imported, other imports wait, and so would the drivers.
Where there is one GPU, its context is created too, 0.14 s of an H200. Where PoCL has the only CPU
and has kept nothing, its compiler begins to load, 0.5 s.
``PYOPENCL_GBDT_EARLY_START=off`` does without.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from ctypes import byref, c_int, c_void_p
from importlib import machinery, util
from pathlib import Path
from typing import Any

from pyopencl_gbdt.device.drivers import folders as driver_folders
from pyopencl_gbdt.device.drivers import forked
from pyopencl_gbdt.device.opencl import pocl
from pyopencl_gbdt.device.opencl.loader import GPU, Loader
from pyopencl_gbdt.errors import DeviceError

ENVIRONMENT = "PYOPENCL_GBDT_EARLY_START"
#: Names of devices that select the only GPU there is.
_ANY_GPU = ("auto", "gpu", "opencl", "cuda")
#: The process that began last; 0 if none did.
_begun = 0
#: The thread of that process; None if none runs.
_thread: threading.Thread | None = None
#: Contexts of OpenCL that were created, by device; both as the driver names them.
_contexts: dict[int, int] = {}


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
    global _begun, _thread  # noqa: PLW0603 - facts of the process
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
    wanted = wanted.strip().lower()
    start = _cuda if wanted.startswith("cuda") else _opencl
    # not a daemon: Python waits for it at exit, where a driver that still starts would crash
    thread = threading.Thread(target=start, args=[wanted], name="early_start", daemon=False)
    _contexts.clear()
    try:
        thread.start()
    except RuntimeError:  # the system has no thread left
        return None
    _thread = thread  # after its start: another fit may wait for it at once
    return thread


def opencl_context(device: Any) -> Any:
    """Return a context of a device of pyopencl: the one that the thread created, or another one."""
    import pyopencl

    made = None
    if _begun == os.getpid() and _thread is not None:
        _thread.join()
        made = _contexts.pop(device.int_ptr, None)
    if made is None:
        return pyopencl.Context([device])
    return pyopencl.Context.from_int_ptr(made, False)


def _opencl(wanted: str) -> None:
    """Ask OpenCL's loader for platforms, which starts the drivers; discovery waits for it."""
    with contextlib.suppress(Exception):
        file = _module_of_pyopencl()
        is_any = wanted in _ANY_GPU and not os.environ.get("PYOPENCL_GBDT_DEVICE")
        with driver_folders.chosen():
            # the library finds what it is linked to: the loader that pyopencl uses
            opencl = Loader(file)
            platforms = opencl.platforms()
            gpus = [gpu for one in platforms for gpu in opencl.devices(one, GPU)] if is_any else []
        if len(gpus) == 1 and gpus[0].value:
            _contexts[gpus[0].value] = opencl.context(gpus[0]).value or 0
        elif wanted == "cpu" or (is_any and not gpus):
            _contexts.update(pocl.context_that_loads(opencl))


def _module_of_pyopencl() -> str:
    """Return the file of pyopencl's compiled module, without its import where it lies as usual."""
    found = util.find_spec("pyopencl")
    for folder in (found and found.submodule_search_locations) or ():
        for suffix in machinery.EXTENSION_SUFFIXES:
            file = Path(folder).absolute() / f"_cl{suffix}"
            if file.exists():
                # the loader of pyopencl's wheels looks for drivers there; its import sets the same
                os.environ["PYOPENCL_HOME"] = str(file.parent)
                return str(file)
    import pyopencl

    return str(pyopencl._cl.__file__)


def _cuda(wanted: str) -> None:
    """Start CUDA's driver, and create the context that CuPy uses."""
    with contextlib.suppress(OSError, AttributeError):
        driver = ctypes.CDLL("libcuda.so.1")
        driver.cuInit(0)
        count, device = c_int(), c_int()
        driver.cuDeviceGetCount(byref(count))
        if wanted in _ANY_GPU and count.value == 1 and driver.cuDeviceGet(byref(device), 0) == 0:
            driver.cuDevicePrimaryCtxRetain(byref(c_void_p()), device)
