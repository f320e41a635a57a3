"""A memory plan: lists all arrays of a job, so that they are checked before any is allocated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device.base import Device
from pyopencl_gbdt.errors import MemoryPlanError


@dataclass
class MemoryPlan:
    """Names, shapes and dtypes of the arrays that a job will allocate."""

    arrays: dict[str, tuple[tuple[int, ...], np.dtype[np.generic]]] = field(default_factory=dict)

    def add(self, name: str, shape: int | Sequence[int], dtype: npt.DTypeLike) -> None:
        """Add an array to the plan; each name can be added once."""
        if name in self.arrays:
            raise ValueError(f"array {name!r} is planned twice")
        full = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(map(int, shape))
        self.arrays[name] = (full, np.dtype(dtype))

    def bytes_of(self, name: str) -> int:
        """Bytes of one array."""
        shape, dtype = self.arrays[name]
        product = 1
        for n in shape:
            product *= n
        return product * dtype.itemsize

    @property
    def total_bytes(self) -> int:
        """Bytes of all arrays."""
        return sum(self.bytes_of(name) for name in self.arrays)

    def check(self, device: Device, advice: str) -> None:
        """Raise if the plan does not fit a device; call this before allocating.

        Raises
        ------
        MemoryPlanError
            With the bytes needed, the bytes available and ``advice``, which says what to lower.
        """
        caps = device.caps
        largest = max(self.arrays, key=self.bytes_of)
        there = caps.global_bytes - device.allocated_bytes
        if self.total_bytes > there:
            raise MemoryPlanError(
                f"training needs {self.total_bytes} bytes on {caps.label}, which has {there} left "
                f"of {caps.global_bytes}; the largest part is {largest!r} with "
                f"{self.bytes_of(largest)} bytes; {advice}"
            )
        if self.bytes_of(largest) > caps.max_alloc_bytes:
            raise MemoryPlanError(
                f"training needs {self.bytes_of(largest)} bytes in one piece for {largest!r} on "
                f"{caps.label}, which allocates {caps.max_alloc_bytes} at most; {advice}"
            )
