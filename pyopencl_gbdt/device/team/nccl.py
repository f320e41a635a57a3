"""Sums of a team of CUDA cards by NCCL: they stay on the cards, and the host waits for none.

NCCL comes with CuPy's NVIDIA packages (``nvidia-nccl-cu12``). Without it, or where a device of the
team is no CUDA card, sums go through the host's memory. Both give the same integers.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyopencl_gbdt.device.base import Device, DeviceArray
from pyopencl_gbdt.device.team.sums import Window, rows_of
from pyopencl_gbdt.errors import TeamError

#: ``off`` sends all sums through the host's memory.
ENVIRONMENT = "PYOPENCL_GBDT_NCCL"
#: One team at a time has communicators: sums of two could wait for each other on the cards.
_in_use = threading.Lock()


def may_join(devices: Sequence[Device]) -> bool:
    """Tell whether NCCL may add up for a team: different CUDA cards, and it is not turned off."""
    ids = {device.caps.device_id for device in devices}
    cuda = all(device.caps.api == "cuda" for device in devices)
    return cuda and len(ids) == len(devices) and os.environ.get(ENVIRONMENT) != "off"


def communicators(devices: Sequence[Device]) -> list[Any]:
    """Return a communicator for every device of a team; none if NCCL cannot join them.

    Whoever gets some calls ``release`` in the end. Until then another team gets none.

    Parameters
    ----------
    devices : sequence of Device
    """
    ids = [device.caps.device_id for device in devices]
    if not may_join(devices):
        return []
    if not _in_use.acquire(blocking=False):
        return []
    found: list[Any] = []
    with contextlib.suppress(Exception):  # not installed, or the cards cannot reach each other
        from cupy.cuda import nccl

        found = nccl.NcclCommunicator.initAll([int(i.split(":")[1]) for i in ids])
    if not found:
        _in_use.release()
    return found


def release(found: Sequence[Any]) -> None:
    """Let another team have communicators, when all sums of this one have ended."""
    if found:
        _in_use.release()


def abort(found: Sequence[Any]) -> None:
    """End sums for which another member is waited for; the communicators are of no use then."""
    for communicator in found:
        with contextlib.suppress(Exception):  # it may have failed itself
            communicator.abort()


@dataclass(frozen=True)
class NcclSum:
    """Enqueues the sum of an array over a team; the result replaces the array.

    Attributes
    ----------
    communicator : cupy.cuda.nccl.NcclCommunicator
        The member's own.
    array, window, dtype
        As for ``TeamReduce``.
    """

    communicator: Any
    array: DeviceArray
    window: Window | None
    dtype: np.dtype[Any]
    name: str = "sum over the team"

    @property
    def fixed(self) -> bool:
        """Whether it adds up the same rows each time, so that a graph can record it."""
        return self.window is None or isinstance(self.window, slice)

    def __call__(self) -> None:
        from cupy.cuda import nccl

        array: DeviceArray = self.array
        rows = rows_of(self.window, array)
        row_bytes = array.nbytes // array.shape[0]
        count = (rows.stop - rows.start) * row_bytes // self.dtype.itemsize
        if not count:
            return
        device: Any = array.device
        place = array.handle.data.ptr + rows.start * row_bytes
        kind = getattr(nccl, f"NCCL_{self.dtype.name.upper()}")
        try:
            with device.cuda:
                self.communicator.allReduce(
                    place, place, count, kind, nccl.NCCL_SUM, device.stream.ptr
                )
        except nccl.NcclError as error:
            raise TeamError(
                f"{device.caps.label}: NCCL failed: {error}; if no other device failed, set "
                f"{ENVIRONMENT}=off, which sends sums through the host's memory"
            ) from error
