"""Shapes, dtypes and values of arrays as a user gives them, and first contents of small arrays."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.messages import show


def as_shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    """Return a shape as a tuple of sizes, each 0 or more.

    Raises
    ------
    ParameterError
    """
    sizes: tuple[int, ...] = (-1,)
    try:
        given = shape if isinstance(shape, Iterable) else (shape,)
        sizes = tuple(operator.index(size) for size in given)
    except TypeError:
        pass
    if any(not 0 <= size < 2**63 for size in sizes):
        raise ParameterError(
            f"shape={show(shape)}: expected a size or a tuple of sizes, each 0 or more; give one"
        )
    return sizes


def as_dtype(dtype: npt.DTypeLike) -> np.dtype[Any]:
    """Return a dtype.

    Raises
    ------
    ParameterError
    """
    try:
        return np.dtype(dtype)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"dtype={show(dtype)}: expected a dtype of NumPy, such as numpy.float32; give one"
        ) from error


def as_host_array(values: npt.ArrayLike, dtype: npt.DTypeLike | None) -> npt.NDArray[Any]:
    """Return values as a C-ordered array of the host.

    Raises
    ------
    DataError, ParameterError
    """
    wanted = None if dtype is None else as_dtype(dtype)
    try:
        return np.ascontiguousarray(values, dtype=wanted)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(
            f"values of type {type(values).__name__} are no array ({error}): expected numbers of "
            "one shape; convert them"
        ) from error


Bytes = npt.NDArray[np.uint8]


class FirstContents:
    """The bytes of one allocation, or of a part of one.

    ``begin``: the first byte in the allocation.
    """

    def __init__(self, n_bytes: int, begin: int = 0) -> None:
        self._begin = begin
        self._image: Bytes | None = np.zeros(n_bytes, np.uint8)
        self._low, self._high = n_bytes, 0

    def put(self, begin: int, values: Bytes | int, n_bytes: int) -> bool:
        """Take bytes to send later; False if the image was taken already."""
        if self._image is None:
            return False
        self._image[begin : begin + n_bytes] = values
        self._low, self._high = min(self._low, begin), max(self._high, begin + n_bytes)
        return True

    def take(self) -> tuple[int, Bytes]:
        """Return the first byte that was set, and all bytes up to the last one; only once."""
        image, self._image = self._image, None
        begin = self._begin + self._low
        return begin, np.zeros(0, np.uint8) if image is None else image[self._low : self._high]


class Place:
    """The place of an array's first contents among those of its allocation."""

    def __init__(self, contents: FirstContents, begin: int) -> None:
        self._contents, self._begin = contents, begin

    def put(self, host: npt.NDArray[Any], start_bytes: int) -> bool:
        """Take values; False if what was set before has been sent."""
        flat = host.reshape(-1).view(np.uint8)
        return self._contents.put(self._begin + start_bytes, flat, flat.size)

    def clear(self, n_bytes: int) -> bool:
        """Take zero bytes; False as for ``put``."""
        return self._contents.put(self._begin, 0, n_bytes)
