"""Treat a device as a weaker one, or as one of another kind.

``PYOPENCL_GBDT_PRETEND=baseline`` trains as on the weakest device that the library supports.
``PYOPENCL_GBDT_PRETEND=gpu`` trains with the kernels that GPUs get. The model must be the same,
byte for byte; tests and bug reports use the variable to check that.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.errors import DeviceError

ENVIRONMENT = "PYOPENCL_GBDT_PRETEND"

_BASELINE_LOCAL_BYTES = 32 * 1024
_BASELINE_WORK_GROUP = 256


def baseline(caps: Capabilities) -> Capabilities:
    """Return the capabilities of a GPU that offers only what OpenCL 1.2 requires.

    That is 32 KiB of local memory, work-groups of at most 256, no 64-bit atomics and no double
    precision. The size of the device's memory stays as it is.
    """
    return replace(
        caps,
        kind="gpu",
        local_bytes=min(caps.local_bytes, _BASELINE_LOCAL_BYTES),
        max_work_group=min(caps.max_work_group, _BASELINE_WORK_GROUP),
        int64_atomics=False,
        lookback=False,
        warp_words=False,
        fp64=False,
    )


def gpu(caps: Capabilities) -> Capabilities:
    """Return the same capabilities with kind GPU, which gets other kernels than a CPU."""
    return replace(caps, kind="gpu")


PRETENCES: dict[str, Callable[[Capabilities], Capabilities]] = {"baseline": baseline, "gpu": gpu}


def applied(caps: Capabilities) -> Capabilities:
    """Return the capabilities as ``PYOPENCL_GBDT_PRETEND`` changes them; unchanged if it is unset.

    Raises
    ------
    DeviceError
        If the variable's value is unknown.
    """
    name = os.environ.get(ENVIRONMENT, "").strip().lower()
    if not name:
        return caps
    if name not in PRETENCES:
        raise DeviceError(
            f"{ENVIRONMENT}={name!r}: expected one of {sorted(PRETENCES)}; unset it to see devices "
            "as they are"
        )
    return PRETENCES[name](caps)
