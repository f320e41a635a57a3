"""Shapes, dtypes and values of arrays, as a user gives them."""

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
