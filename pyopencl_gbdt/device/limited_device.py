"""Treat a device as a weaker one, or as one of another kind.

``PYOPENCL_GBDT_PRETEND=baseline`` trains as on the weakest device that the library supports.
``PYOPENCL_GBDT_PRETEND=gpu`` trains with the kernels that GPUs get. The model must be the same,
byte for byte; tests and bug reports use the variable to check that.

``PYOPENCL_GBDT_DEVICE_MEMORY=2000000000`` uses at most so many bytes of a device's memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

from pyopencl_gbdt.device.base import Device
from pyopencl_gbdt.device.capabilities import CARD, Capabilities
from pyopencl_gbdt.errors import DeviceError

ENVIRONMENT = "PYOPENCL_GBDT_PRETEND"
MEMORY = "PYOPENCL_GBDT_DEVICE_MEMORY"

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
        **CARD,
        local_bytes=min(caps.local_bytes, _BASELINE_LOCAL_BYTES),
        max_work_group=min(caps.max_work_group, _BASELINE_WORK_GROUP),
        int64_atomics=False,
        lookback=False,
        warp_words=False,
        registers=0,
        fp64=False,
        prefetches=False,
    )


def gpu(caps: Capabilities) -> Capabilities:
    """Return the same capabilities with kind GPU, which gets other kernels than a CPU."""
    return replace(caps, kind="gpu", **CARD, prefetches=False)


PRETENCES: dict[str, Callable[[Capabilities], Capabilities]] = {"baseline": baseline, "gpu": gpu}


def applied(caps: Capabilities) -> Capabilities:
    """Return the capabilities as the environment changes them; unchanged if nothing is set.

    Raises
    ------
    DeviceError
        If a variable's value is unknown.
    """
    name = os.environ.get(ENVIRONMENT, "").strip().lower()
    caps = with_memory(caps, _memory())
    if not name:
        return caps
    if name not in PRETENCES:
        raise DeviceError(
            f"{ENVIRONMENT}={name!r}: expected one of {sorted(PRETENCES)}; unset it to see devices "
            "as they are"
        )
    return PRETENCES[name](caps)


def with_memory(caps: Capabilities, most_bytes: int | None) -> Capabilities:
    """Return the capabilities of a device of which at most so many bytes are used; None is all."""
    if most_bytes is None:
        return caps
    most = min(caps.global_bytes, most_bytes)
    return replace(caps, global_bytes=most, max_alloc_bytes=min(caps.max_alloc_bytes, most))


def limit_memory(device: Device, most_bytes: int | None) -> None:
    """Use at most so many bytes of an open device; None is all."""
    device.caps = with_memory(device.caps, most_bytes)


def _memory() -> int | None:
    """Return the bytes that the environment allows; None if it says nothing."""
    text = os.environ.get(MEMORY, "").strip()
    if not text:
        return None
    if not text.isdigit() or not int(text):
        raise DeviceError(
            f"{MEMORY}={text!r}: expected a number of bytes; unset it to use all of the memory"
        )
    return int(text)
