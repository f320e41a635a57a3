"""What every primitive checks before anything is launched, and how it runs what it has bound."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Launch, Variant, choose
from pyopencl_gbdt.errors import DataError, ParameterError

#: Names by which kernels know a dtype.
C_NAMES = {
    np.dtype(np.uint8): "u8",
    np.dtype(np.int32): "i32",
    np.dtype(np.uint32): "u32",
    np.dtype(np.int64): "i64",
    np.dtype(np.uint64): "u64",
    np.dtype(np.float32): "f32",
}
FLAG_DTYPES = (np.dtype(np.uint8), np.dtype(np.bool_))


def check_dtype(name: str, dtype: npt.DTypeLike, allowed: Iterable[npt.DTypeLike]) -> np.dtype[Any]:
    """Return ``dtype`` as a NumPy dtype.

    Raises
    ------
    DataError
        If it is none of ``allowed``.
    """
    found = np.dtype(dtype)
    names = [np.dtype(d) for d in allowed]
    if found not in names:
        expected = ", ".join(d.name for d in names)
        raise DataError(f"{name}: dtype {found.name}; expected one of {expected}; convert it first")
    return found


def check_array(
    name: str,
    array: object,
    device: Device,
    allowed: Iterable[npt.DTypeLike],
    size: int | None = None,
) -> DeviceArray:
    """Return ``array`` if it is a device array that a primitive can take.

    Parameters
    ----------
    name : str
        What the caller calls it.
    array : object
        What the caller gave.
    device : Device
        Where it must lie.
    allowed : iterable of dtypes
    size : int, optional
        Elements that it must have.

    Raises
    ------
    DataError
        If it is no ``DeviceArray``, lies on another device, or has another dtype or size.
    """
    if own_device(name, array) is not device or not isinstance(array, DeviceArray):
        raise DataError(
            f"{name}: lies on another opened device; expected an array of this "
            f"{device.caps.label}; copy it with device.upload({name}.get())"
        )
    check_dtype(name, array.dtype, allowed)
    if size is not None and array.size != size:
        raise DataError(f"{name}: {array.size} elements; expected {size}; pass arrays of one size")
    return array


def own_device(name: str, array: object) -> Device:
    """Return the device of an array; raises DataError if it is no ``DeviceArray``."""
    if not isinstance(array, DeviceArray):
        raise DataError(
            f"{name}: {type(array).__name__}; expected a DeviceArray; use device.upload({name})"
        )
    return array.device


def check_length(name: str, n: object, largest: int) -> int:
    """Return ``n`` as an int in ``0..largest``; raises ParameterError otherwise."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or not 0 <= n <= largest:
        raise ParameterError(f"{name}={n!r}: expected an integer 0..{largest}; split the data")
    return int(n)


def pick(kernel: str, device: Device, variant: str | Variant) -> Variant:
    """Return a row of the variant table: one given as it is, or chosen by name."""
    return variant if isinstance(variant, Variant) else choose(kernel, device.caps, variant)


def run(launches: Sequence[Launch]) -> None:
    """Enqueue bound launches in order; does not wait."""
    for launch in launches:
        launch()


def ceil_div(a: int, b: int) -> int:
    """Return ``a / b``, rounded up."""
    return -(-a // b)
