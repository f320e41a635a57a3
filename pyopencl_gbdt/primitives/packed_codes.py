"""Codes of a page on a device, in the order in which the device's kernels load them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.dtypes import c_type
from pyopencl_gbdt.primitives.block_order import BlockOrder


@dataclass(frozen=True)
class PackedCodes:
    """Dense codes of consecutive rows on a device, stored twice.

    Histograms read them by row from ``codes``. The partition reads one column from ``by_feature``.

    Attributes
    ----------
    codes : DeviceArray of uint8 or uint16
        In the shape that ``order`` gives.
    by_feature : DeviceArray of the same dtype, shape (n_features, n_rows), or (n_features, 0)
        In the second case, the partition reads ``codes``.
    order : BlockOrder
    n_copies : int
        Copies in ``codes``, one after the other, each with features of its own; 1 but where trees
        gather features.
    fullest : DeviceArray or None
        The code of every feature of every copy that histograms may leave out, in the order of a
        row's codes, with 0 for padding; None is as the layout has them.
    """

    codes: DeviceArray
    by_feature: DeviceArray
    order: BlockOrder
    n_copies: int = 1
    fullest: DeviceArray | None = None

    @property
    def block_features(self) -> int:
        """Features of a block."""
        return self.order.block_features

    @property
    def block_codes(self) -> int:
        """Codes in a block of 16 bytes, padding included."""
        return self.order.block_codes

    @property
    def code_type(self) -> str:
        """The kernels' word for the dtype of the codes."""
        return c_type(self.codes.dtype)

    @property
    def code_bytes(self) -> int:
        """Bytes of a code."""
        return self.codes.dtype.itemsize

    @property
    def row_bytes(self) -> int:
        """Bytes of a row's codes, padding included."""
        return self.order.row_bytes

    @property
    def copy_codes(self) -> int:
        """Codes of a copy, padding included."""
        return math.prod(self.codes.shape) // self.n_copies

    def block_strides(self) -> dict[str, int]:
        """Return the kernel arguments that say where blocks lie; strides count blocks."""
        return self.order.strides(self.codes.shape[1])

    def column_arguments(self) -> dict[str, Any]:
        """Return the kernel arguments for reading the codes of one feature; strides count codes."""
        n_rows = self.by_feature.shape[1]
        if not n_rows:  # of pages that take turns, only codes by row are moved
            return {**self.row_arguments(), "block_features": self.order.block_features}
        return {
            "codes": self.by_feature, "block_features": 1, "row_stride": 1,
            "block_stride": n_rows, "paired": 0,
        }  # fmt: skip

    def row_arguments(self) -> dict[str, Any]:
        """Return the kernel arguments for reading a row code by code; strides count codes."""
        found, block = self.block_strides(), self.order.block_codes
        for name in ("row_stride", "block_stride"):
            found[name] *= block
        return {"codes": self.codes, **found}

    def block_arguments(self) -> dict[str, Any]:
        """Return the kernel arguments for reading a row block by block; strides count blocks."""
        return {"codes": self.codes, **self.block_strides()}


def empty_codes(
    device: Device, n_rows: int, n_features: int, dtype: np.dtype[Any], *, columns: bool = True
) -> PackedCodes:
    """Allocate codes in the order that suits a device; their contents are undefined.

    Without ``columns``, ``by_feature`` is empty.
    """
    order = BlockOrder.of(n_features, dtype, coalesced=device.caps.coalesces_reads)
    codes = device.empty(order.shape(n_rows), dtype, "codes")
    by_feature = device.empty((n_features, n_rows if columns else 0), dtype, "codes by feature")
    return PackedCodes(codes, by_feature, order)
