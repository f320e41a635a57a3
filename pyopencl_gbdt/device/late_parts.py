"""Parts of an allocation whose handles are made when they are first needed.

A driver takes 2 to 5 us to make a part of an allocation, and to free it. Folds have 50 arrays each,
and most of them are known to kernels by their places alone, see ``joined_launches``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

#: ``base.DeviceArray``, which knows this module.
DeviceArray = Any


class LatePart:
    """The handle of a part of an allocation, made once for all arrays that lie there.

    Parameters
    ----------
    make : callable
        Takes the allocation, the part's first byte there, and what has the part's shape, dtype and
        bytes.
    dtype : dtype
    """

    def __init__(
        self,
        make: Callable[[DeviceArray, int, Any], Any],
        whole: DeviceArray,
        begin: int,
        shape: tuple[int, ...],
        dtype: npt.DTypeLike,
    ) -> None:
        self._make: Callable[[DeviceArray, int, Any], Any] | None = make
        self._whole, self._begin = whole, begin
        self.shape, self.dtype = shape, np.dtype(dtype)
        self._made: Any = None

    @property
    def nbytes(self) -> int:
        """Bytes of the part."""
        return math.prod(self.shape) * self.dtype.itemsize

    def made(self) -> Any:
        """Return the handle."""
        if self._make is not None:
            self._made = self._make(self._whole, self._begin, self)
            self._make = self._whole = None
        return self._made


class WithHandle:
    """What lies in a device's memory."""

    _handle: Any
    first_contents: Any

    def lie_at(self: DeviceArray, whole: DeviceArray, begin: int) -> None:
        """Take the bytes of a uint8 array from ``begin`` on, as ``Device.part`` does."""
        self._handle = LatePart(self.device._bytes_of, whole, begin, self.shape, self.dtype)
        self._whole, self._begin = whole, begin  # keeps the memory counted as allocated
        self.first_contents = None

    @property
    def handle(self) -> Any:
        """``pyopencl.Buffer`` or ``cupy.ndarray``; only the device uses it."""
        if self._handle.__class__ is LatePart:
            self._handle = self._handle.made()
        return self._handle

    @handle.setter
    def handle(self, handle: Any) -> None:
        self._handle = handle
