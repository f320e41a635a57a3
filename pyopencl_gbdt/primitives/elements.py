"""What scans and reductions combine: numbers, or pairs of them."""

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
        Whether an element is two numbers, which are summed component by component.
    """

    dtype: np.dtype[Any]
    op: str
    pairs: bool

    @property
    def type(self) -> str:
        """C type that combines them."""
        return "i64x2" if self.pairs else kernel_type(self.dtype, self.op)

    @property
    def nbytes(self) -> int:
        """Bytes of one element."""
        return self.dtype.itemsize * (2 if self.pairs else 1)

    @property
    def in_any_order(self) -> bool:
        """Whether the result is the same in whatever order they are combined."""
        return self.dtype != np.float32 or self.op != "sum"

    def shape(self, n: int) -> tuple[int, ...]:
        """Return the shape of an array of ``n`` elements."""
        return (n, 2) if self.pairs else (n,)

    def empty(self, device: Device, n: int) -> DeviceArray:
        """Allocate ``n`` elements; their contents are undefined."""
        return device.empty(self.shape(n), self.dtype)

    def check(self, name: str, array: object, device: Device, n: int) -> DeviceArray:
        """Return an array of ``n`` elements; raises DataError if it is none."""
        size = n * (2 if self.pairs else 1)
        return check_array(name, array, device, [self.dtype], size)


def check_elements(dtype: npt.DTypeLike, op: object, *, pairs: bool = False) -> Elements:
    """Return what is combined.

    Raises
    ------
    DataError, ParameterError
        If dtype or op is none that can be, or pairs are not sums of int64.
    """
    found = Elements(check_dtype("dtype", dtype, SCAN_DTYPES), check_op(op), bool(pairs))
    if found.pairs and (found.op != "sum" or found.dtype != np.int64):
        raise ParameterError(
            f"op={op!r} of pairs of {found.dtype.name}: expected op='sum' of int64; "
            "take the columns apart"
        )
    return found


def of_array(values: DeviceArray) -> tuple[Elements, int]:
    """Return what an array holds, and how many: rows of an int64 array of shape (n, 2) are pairs.

    Raises
    ------
    DataError
        If its dtype is none that can be summed.
    """
    pairs = values.dtype == np.int64 and len(values.shape) == 2 and values.shape[1] == 2
    elements = check_elements(values.dtype, "sum", pairs=pairs)
    return elements, values.size // (2 if pairs else 1)


def row_for(
    device: Device, kernel: str, variant: str | Variant, elements: Elements
) -> str | Variant | Callable[[], Variant]:
    """Return what ``build_row`` is to choose by: no look-back where the order of sums matters.

    A look-back row combines the tiles before its own in an order that timing decides. Sums of
    float32 get the row that comes behind it instead.
    """
    if elements.in_any_order:
        return variant
    if variant != "auto":
        row = variant if isinstance(variant, Variant) else choose(kernel, device.caps, variant)
        if not row.lookback:
            return row
    return lambda: next(row for row in fallbacks(kernel, device.caps) if not row.lookback)
