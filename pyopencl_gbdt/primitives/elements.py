"""The elements that scans and reductions combine: numbers, or pairs of numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray, Variant, choose
from pyopencl_gbdt.device.variants import fallbacks
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.primitives.checks import (
    SCAN_DTYPES,
    check_array,
    check_dtype,
    check_op,
    kernel_type,
)


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
