"""Let a device pretend to be less than it is, or of another kind.

``PYOPENCL_GBDT_PRETEND=baseline`` trains as on the least device that the library supports,
``PYOPENCL_GBDT_PRETEND=gpu`` with the kernels that GPUs get. The model is the same, byte for byte:
that is what the variable is for, in tests and in reports of faults.
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
    """Return the capabilities of a GPU that offers what OpenCL 1.2 demands, and no more.

    32 KiB of local memory, work-groups of at most 256, no 64-bit atomics, no double precision;
    memory is as large as it is.
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
    """Return the same capabilities as those of a GPU, which gets other kernels than a CPU."""
    return replace(caps, kind="gpu")


PRETENCES: dict[str, Callable[[Capabilities], Capabilities]] = {"baseline": baseline, "gpu": gpu}


def applied(caps: Capabilities) -> Capabilities:
    """Return what ``PYOPENCL_GBDT_PRETEND`` makes of a device; itself where it is not set.

    Raises
    ------
    DeviceError
        If the variable names nothing that is known.
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
