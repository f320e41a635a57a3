"""Memory in which the arrays of several jobs lie, those of folds for example.

    allocation 0   | codes of a, tables of a | codes of b, tables of b | ...
    allocation 1   | small arrays of a ...   | small arrays of b ...   | ...

Joined launches then take few allocations, not some of each fit; see ``joined_launches``. Jobs of
one kind ask for the same, so each array has the same place in the part of its job.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device.base import Device, DeviceArray

#: Bytes that an allocation has for each job beyond what it was made for.
SPARE_BYTES = 64 * 1024
#: Most bytes of all jobs together.
MOST_TOGETHER = 256 << 20
#: Most of the free memory that an allocation takes, as the first job counts it alone.
MOST_OF_FREE = 0.25


class Room:
    """Memory of several jobs."""

    def __init__(self, n_jobs: int) -> None:
        self.n_jobs = n_jobs
        self.steps: list[int] = []
        """Bytes of a job in each allocation."""
        self._wholes: list[weakref.ref[DeviceArray]] = []  # their parts keep them
        self._n_begun = 0
        self.shared: dict[Hashable, Any] = {}
        """What jobs compute once, by keys."""

    def job(self) -> JobRoom:
        """Return the part of the next job."""
        self._n_begun += 1
        return JobRoom(self, self._n_begun - 1)

    def whole(self, number: int) -> DeviceArray | None:
        """Return an allocation; None if nothing is left in it."""
        return self._wholes[number]()

    def grow(self, device: Device, n_bytes: int) -> DeviceArray | None:
        """Make an allocation in which every job has so many bytes; None if that is too much."""
        step = n_bytes + SPARE_BYTES
        left = MOST_TOGETHER - self.n_jobs * sum(self.steps)
        free = device.caps.global_bytes - device.allocated_bytes
        most = min(left, device.caps.max_alloc_bytes, int(MOST_OF_FREE * free))
        if self.n_jobs * step > most:
            return None
        whole = device.empty(self.n_jobs * step, np.uint8, "arrays of several fits")
        self._wholes.append(weakref.ref(whole))
        self.steps.append(step)
        return whole


class JobRoom:
    """The part of one job.

    The first job's arrays tell how much memory every job gets.

    Attributes
    ----------
    number : int
        The job's number, from 0.
    taken : list of (int, int, int)
        For each array, in order: the number of the allocation, the first byte in the job's part of
        it, and the bytes.
    """

    def __init__(self, room: Room, number: int) -> None:
        self.room, self.number = room, number
        self.taken: list[tuple[int, int, int]] = []
        self._ends: dict[int, int] = {}

    def take(self, device: Device, n_bytes: int) -> tuple[DeviceArray, int] | None:
        """Return an allocation, and the place of so many bytes in it; None if there is no room."""
        if self.number >= self.room.n_jobs:
            return None
        align = device.alignment
        n_bytes = -(-n_bytes // align) * align
        for n, step in enumerate(self.room.steps):
            if self._ends.get(n, 0) + n_bytes <= step:
                whole = self.room.whole(n)
                return None if whole is None else self._place(whole, n, n_bytes)
        made = self.room.grow(device, n_bytes) if self.number == 0 else None
        return None if made is None else self._place(made, len(self.room.steps) - 1, n_bytes)

    def _place(self, whole: DeviceArray, n: int, n_bytes: int) -> tuple[DeviceArray, int]:
        begin = self._ends.get(n, 0)
        self._ends[n] = begin + n_bytes
        self.taken.append((n, begin, n_bytes))
        return whole, self.number * self.room.steps[n] + begin


def lasting(
    device: Device, shape: Sequence[int], dtype: npt.DTypeLike, name: str = ""
) -> DeviceArray:
    """Allocate an array that a job keeps, in the room of several jobs if there is one.

    Raises
    ------
    MemoryPlanError
        As ``Device.empty``.
    """
    full, kind = tuple(map(int, shape)), np.dtype(dtype)
    if device.room is not None:
        place = device.room.take(device, max(1, math.prod(full) * kind.itemsize))
        if place is not None:
            whole, begin = place
            return device.part(whole, begin, full, kind)
    return device.empty(full, kind, name)


def shared(device: Device) -> dict[Hashable, Any]:
    """Return what jobs side by side share, by its key; empty for a job alone."""
    return {} if device.room is None else device.room.room.shared
