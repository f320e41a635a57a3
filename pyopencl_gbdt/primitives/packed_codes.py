"""Codes of a page on a device, in the order in which the device's kernels load them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.dtypes import BLOCK_BYTES, c_type


@dataclass(frozen=True)
class PackedCodes:
    """Dense codes of consecutive rows on a device, stored twice.

    Histograms read them by row from ``codes``. The partition reads one column from ``by_feature``.

    Attributes
    ----------
    codes : DeviceArray of uint8 or uint16
        Blocks of 16 bytes. A block has the codes of ``block_features`` features of a row, and zeros
        as padding. On a GPU, work-groups read one block of many rows, and the shape is (n_blocks,
        n_rows, block_codes), see ``blocks_apart``. On a CPU, they read whole rows, and the shape is
        (n_rows, n_blocks, block_codes).
    by_feature : DeviceArray of the same dtype, shape (n_features, n_rows), or (n_features, 0)
        In the second case, the partition reads ``codes``.
    block_features : int
        Features of a block.
    by_block : bool
        Whether the first of the two shapes is used.
    """

    codes: DeviceArray
    by_feature: DeviceArray
    block_features: int
    by_block: bool

    @property
    def n_blocks(self) -> int:
        return self.codes.shape[0 if self.by_block else 1]

    @property
    def block_codes(self) -> int:
        """Codes in a block of 16 bytes, padding included."""
        return self.codes.shape[2]

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
        return self.n_blocks * self.block_codes * self.code_bytes

    def places(self, n_features: int) -> npt.NDArray[np.int64]:
        """Return the index of each feature's code in a row of blocks, int64 (n_features,)."""
        block, within = np.divmod(np.arange(n_features), self.block_features)
        places: npt.NDArray[np.int64] = block * self.block_codes + within
        return places

    def in_row_order(self, values: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
        """Return one value per feature in the order of a row's codes, with 0 for padding."""
        ordered = np.zeros(self.n_blocks * self.block_codes, np.uint32)
        ordered[self.places(values.size)] = values
        return ordered

    def block_strides(self) -> dict[str, int]:
        """Return the distances, in blocks, between neighbouring rows and between a row's blocks."""
        row, block = (1, self.codes.shape[1]) if self.by_block else (self.n_blocks, 1)
        return {"row_stride": row, "block_stride": block}

    def column_arguments(self) -> dict[str, Any]:
        """Return the kernel arguments for reading the codes of one feature.

        The code of feature ``f`` in row ``r`` is at
        ``f // block_features * block_stride + f % block_features + r * row_stride``.
        """
        n_rows = self.by_feature.shape[1]
        if not n_rows:  # of pages that take turns, only codes by row are moved
            return {**self.row_arguments(), "block_features": self.block_features}
        return {
            "codes": self.by_feature, "block_features": 1, "row_stride": 1, "block_stride": n_rows
        }  # fmt: skip

    def row_arguments(self) -> dict[str, Any]:
        """Return the kernel arguments for reading a row code by code; strides count codes."""
        blocks = self.block_strides()
        return {"codes": self.codes} | {n: s * self.block_codes for n, s in blocks.items()}

    def block_arguments(self) -> dict[str, Any]:
        """Return the kernel arguments for reading a row block by block; strides count blocks."""
        return {"codes": self.codes, **self.block_strides()}


def blocks_apart(n_blocks: int, *, side_by_side: bool) -> bool:
    """Tell whether the rows of a block lie together, instead of the blocks of a row.

    Two blocks of a row fill the 32 bytes that a GPU reads at least, and the work-groups of both
    read them at about the same time. H200, CUDA, ms a round with such rows and with blocks apart:
    11 M x 28, depth 6, 1.58 and 1.69, depth 8 2.48 and 2.82; 1 M rows 0.34 and 0.34. With 13 blocks
    rows gain nothing: 1 M x 200, 80 classes, 60.6 and 60.0.

    Parameters
    ----------
    n_blocks : int
        Of a row.
    side_by_side : bool
        ``Capabilities.side_by_side`` of the device.
    """
    return side_by_side and n_blocks != 2


def features_of_a_block(n_features: int, block: int, *, side_by_side: bool) -> int:
    """Return how many features share a block of so many codes.

    On a GPU, blocks have equally many, as each work-group takes one block.
    """
    return -(-n_features // -(-n_features // block)) if side_by_side else block


def empty_codes(
    device: Device, n_rows: int, n_features: int, dtype: np.dtype[Any], *, columns: bool = True
) -> PackedCodes:
    """Allocate codes in the order that suits a device; their contents are undefined.

    Without ``columns``, ``by_feature`` is empty.
    """
    block = BLOCK_BYTES // dtype.itemsize
    n_blocks = -(-n_features // block)
    by_block = blocks_apart(n_blocks, side_by_side=device.caps.side_by_side)
    shape = (n_blocks, n_rows, block) if by_block else (n_rows, n_blocks, block)
    return packed(device, device.empty(shape, dtype), n_features, n_rows if columns else 0)


def packed(device: Device, codes: DeviceArray, n_features: int, n_columns: int = 0) -> PackedCodes:
    """Return codes by row as a page has them, and room for the first columns of codes."""
    side_by_side = device.caps.side_by_side
    block = BLOCK_BYTES // codes.dtype.itemsize
    by_block = blocks_apart(-(-n_features // block), side_by_side=side_by_side)
    by_feature = device.empty((n_features, n_columns), codes.dtype)
    own = features_of_a_block(n_features, block, side_by_side=side_by_side)
    return PackedCodes(codes, by_feature, own, by_block)
