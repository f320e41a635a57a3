"""Helpers of all primitives: check arguments, element types, cut into chunks, run launches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Launch, Variant, choose
from pyopencl_gbdt.device.variants import fallbacks
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass

#: The kernels' names of dtypes.
C_NAMES = {
    np.dtype(np.uint8): "u8",
    np.dtype(np.int32): "i32",
    np.dtype(np.uint32): "u32",
    np.dtype(np.int64): "i64",
    np.dtype(np.uint64): "u64",
    np.dtype(np.float32): "f32",
}
#: Elements that a work-group scans or reduces. It fixes the order of float sums: do not tune it.
TILE = 4096
OPS = ("sum", "max", "min")
SCAN_DTYPES = (np.int32, np.uint32, np.int64, np.float32)
#: Dtypes of values that kernels only move: 4 or 8 bytes.
MOVED_DTYPES = (np.uint32, np.int32, np.float32, np.int64)
OFFSET_DTYPES = (np.uint32, np.int64)
FLAG_DTYPES = (np.dtype(np.uint8), np.dtype(np.bool_))


def check_dtype(name: str, dtype: npt.DTypeLike, allowed: Iterable[npt.DTypeLike]) -> np.dtype[Any]:
    """Return ``dtype`` as a NumPy dtype.

    Raises
    ------
    DataError
        If it is not one of ``allowed``.
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
    """Return ``array`` if a primitive can use it.

    Parameters
    ----------
    allowed : iterable of dtypes
    size : int, optional
        The number of elements that it must have.

    Raises
    ------
    DataError
        If it is not a ``DeviceArray``, or is on another device or of another dtype or size.
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


def check_apart(name: str, array: DeviceArray, other_name: str, other: DeviceArray) -> None:
    """Raise DataError if an output array is the input array."""
    if array is other and array.size:
        raise DataError(
            f"{name}: the same array as {other_name}; expected another; "
            f"use device.empty({name}.size, {name}.dtype)"
        )


def check_values(
    sort: str,
    values: DeviceArray | None,
    keys: DeviceArray,
    device: Device,
    dtype: np.dtype[Any] | None,
    size: int,
) -> None:
    """Raise DataError unless the values fit a sort: given if and only if it has a value dtype."""
    if (values is None) != (dtype is None):
        raise DataError(
            f"values={values!r}: this {sort} has value_dtype={dtype}; give both or neither"
        )
    if values is not None and dtype is not None:
        check_array("values", values, device, [dtype], size)
        check_apart("values", values, "keys", keys)


def own_device(name: str, array: object) -> Device:
    """Return an array's device; raises DataError if it is not a ``DeviceArray``."""
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


def check_op(op: object) -> str:
    """Return ``op``; raises ParameterError unless it is one of ``OPS``."""
    if op not in OPS:
        raise ParameterError(f"op={op!r}: expected one of {OPS}; use op='sum'")
    return str(op)


def kernel_type(dtype: np.dtype[Any], op: str) -> str:
    """Return the C type for combining ``dtype``; sums use unsigned types, which may wrap in C."""
    name = C_NAMES[dtype]
    return name.replace("i", "u") if op == "sum" else name


def run(launches: Sequence[Launch]) -> None:
    """Enqueue launches in order; does not wait."""
    for launch in launches:
        launch()


def ceil_div(a: int, b: int) -> int:
    """Return ``a / b``, rounded up."""
    return -(-a // b)


def chunking(variant: Variant, wg_size: int, n: int, device: Device) -> tuple[int, int]:
    """Cut ``n`` elements into chunks of whole tiles, one chunk for each work-group.

    ``variant``: has ``items``, the elements of a work-item in a tile, and ``groups_per_unit``, the
    most work-groups for each compute unit.
    ``wg_size``: work-items of a work-group, as built.

    Returns
    -------
    chunk, groups : int
        Elements of a chunk, and the number of chunks (0 if n is 0).
    """
    tile = wg_size * variant.params["items"]
    most_groups = max(1, variant.params["groups_per_unit"] * device.caps.compute_units)
    chunk = tile * max(1, ceil_div(ceil_div(n, tile), most_groups))
    return chunk, ceil_div(n, chunk)


def offsets_on_device(
    offsets: object, device: Device, n: int, *, cover: bool = False
) -> DeviceArray:
    """Return segment offsets as a device array.

    Parameters
    ----------
    offsets : DeviceArray of uint32 or int64, or array_like of integers, n_segments + 1 elements
        The values of a device array are not checked. Host values are checked and uploaded as int64.
    n : int
        Number of elements in all segments.
    cover : bool
        Whether the segments must cover all ``n`` elements.

    Raises
    ------
    DataError
        If the dtype or the device is wrong, there is no offset, or host offsets descend or are
        outside ``0..n``.
    """
    if isinstance(offsets, DeviceArray):
        check_array("offsets", offsets, device, OFFSET_DTYPES)
        if offsets.size == 0:
            raise DataError("offsets: 0 elements; expected n_segments + 1; pass at least [0]")
        return offsets
    host = np.asarray(offsets)
    if host.ndim != 1 or host.size == 0 or host.dtype.kind not in "iu":
        raise DataError(
            f"offsets: {host.dtype} of shape {host.shape}; expected n_segments + 1 integers"
        )
    falls = np.flatnonzero(host[1:] < host[:-1])
    if falls.size:
        at = int(falls[0])
        raise DataError(
            f"offsets: {host[at]} at {at} is followed by {host[at + 1]}; expected ascending "
            "offsets; sort the rows by segment first"
        )
    if host[0] < 0 or host[-1] > n or (cover and (host[0] != 0 or host[-1] != n)):
        raise DataError(
            f"offsets: run from {host[0]} to {host[-1]}; expected "
            f"{'from 0 to' if cover else 'within 0..'}{' ' if cover else ''}{n}; "
            "offsets count elements of values"
        )
    return device.upload(host, np.int64)


@dataclass(frozen=True)
class Elements:
    """Elements of a scan or a reduction.

    Attributes
    ----------
    dtype : dtype
        int32, uint32, int64 or float32.
    op : {"sum", "max", "min"}
    pairs : bool
        Whether an element is two numbers, each summed on its own.
    """

    dtype: np.dtype[Any]
    op: str
    pairs: bool

    @property
    def type(self) -> str:
        """The C type in which kernels combine them."""
        return "i64x2" if self.pairs else kernel_type(self.dtype, self.op)

    @property
    def nbytes(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize * (2 if self.pairs else 1)

    @property
    def in_any_order(self) -> bool:
        """Whether the result does not depend on the order of the elements."""
        return self.dtype != np.float32 or self.op != "sum"

    def shape(self, n: int) -> tuple[int, ...]:
        """Return the shape of an array of ``n`` elements."""
        return (n, 2) if self.pairs else (n,)

    def empty(self, device: Device, n: int) -> DeviceArray:
        """Allocate ``n`` elements; their contents are undefined."""
        return device.empty(self.shape(n), self.dtype)

    def check(self, name: str, array: object, device: Device, n: int) -> DeviceArray:
        """Return ``array``; raises DataError unless it has ``n`` elements of this dtype."""
        size = n * (2 if self.pairs else 1)
        return check_array(name, array, device, [self.dtype], size)


def check_elements(dtype: npt.DTypeLike, op: object, *, pairs: bool = False) -> Elements:
    """Return the elements for a dtype and an operation.

    Raises
    ------
    DataError, ParameterError
        If the dtype or the operation is not supported, or pairs are not sums of int64.
    """
    found = Elements(check_dtype("dtype", dtype, SCAN_DTYPES), check_op(op), bool(pairs))
    if found.pairs and (found.op != "sum" or found.dtype != np.int64):
        raise ParameterError(
            f"op={op!r} of pairs of {found.dtype.name}: expected op='sum' of int64; "
            "take the columns apart"
        )
    return found


def of_array(values: DeviceArray) -> tuple[Elements, int]:
    """Return an array's kind of elements, and their number.

    Rows of an int64 array of shape (n, 2) are pairs.

    Raises
    ------
    DataError
        If its dtype cannot be summed.
    """
    pairs = values.dtype == np.int64 and len(values.shape) == 2 and values.shape[1] == 2
    elements = check_elements(values.dtype, "sum", pairs=pairs)
    return elements, values.size // (2 if pairs else 1)


def variant_for(
    device: Device, kernel: str, variant: str | Variant, elements: Elements
) -> str | Variant | Callable[[], Variant]:
    """Return the ``variant`` argument for ``build_variant_program``.

    A variant with look-back combines earlier tiles in an order that depends on timing. So sums of
    float32, whose order is fixed, get the next variant without look-back.
    """
    if elements.in_any_order:
        return variant
    if variant != "auto":
        named = variant if isinstance(variant, Variant) else choose(kernel, device.caps, variant)
        if not named.lookback:
            return named
    return lambda: next(v for v in fallbacks(kernel, device.caps) if not v.lookback)
