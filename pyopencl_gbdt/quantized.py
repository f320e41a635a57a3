"""Data as codes on a device, and where a histogram has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.dtypes import BLOCK_BYTES


@dataclass(frozen=True)
class Layout:
    """Where each feature's codes lie in a histogram.

    Attributes
    ----------
    feature_bins : uint32 array, shape (n_features,)
        Value bins; code ``feature_bins[f]`` stands for a missing value.
    feature_offset : uint32 array, shape (n_features + 1,)
        First code of every feature in a histogram, the missing one included where a feature has
        missing values.
    thresholds : float32 array, shape (n_codes,)
        ``thresholds[feature_offset[f] + bin]``: values below it lie in ``0 .. bin``.
    fullest : uint32 array, shape (n_features,)
        The code of every feature that most rows have, or nearly most: histograms may leave it out.
    """

    feature_bins: np.ndarray[tuple[int], np.dtype[np.uint32]]
    feature_offset: np.ndarray[tuple[int], np.dtype[np.uint32]]
    thresholds: np.ndarray[tuple[int], np.dtype[np.float32]]
    fullest: np.ndarray[tuple[int], np.dtype[np.uint32]]

    @property
    def n_features(self) -> int:
        return int(self.feature_bins.size)

    @property
    def n_codes(self) -> int:
        """Codes of all features together."""
        return int(self.feature_offset[-1])

    @property
    def most_codes(self) -> int:
        """Codes of the feature that has most, the missing one counted for every feature."""
        return int(np.diff(self.feature_offset).max())


def smallest_layout(n_features: int) -> Layout:
    """Return the layout with a single bin a feature: no data need less memory."""
    ones = np.ones(n_features, np.uint32)
    offset = np.arange(n_features + 1, dtype=np.uint32)
    return Layout(ones, offset, np.zeros(n_features, np.float32), np.zeros(n_features, np.uint32))


@dataclass(frozen=True)
class QuantizedPage:
    """Codes of a run of rows on a device, dense, twice: histograms gather rows, partition columns.

    Attributes
    ----------
    codes : DeviceArray of uint8 or uint16
        Blocks of 16 bytes, each with the codes of ``block_features`` features of a row, and
        padding of 0. Shape (n_blocks, n_rows, block_codes), where work-groups take a block of
        many rows; (n_rows, n_blocks, block_codes) on a CPU, whose work-groups take whole rows.
    by_feature : DeviceArray of the same dtype, shape (n_features, n_rows)
    block_features : int
    by_block : bool
        Whether all rows of a block lie together.
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
        """Codes in 16 bytes."""
        return self.codes.shape[2]

    def block_strides(self) -> tuple[np.uint32, np.uint32]:
        """Return how many blocks lie from a row to the next, and from a block to the next."""
        row, block = (1, self.codes.shape[1]) if self.by_block else (self.n_blocks, 1)
        return np.uint32(row), np.uint32(block)

    def columns(self) -> tuple[DeviceArray, np.uint32, np.uint64, np.uint64]:
        """Return what to read the codes of one feature from: array, features in a block, strides.

        Row ``r`` has the code of feature ``f`` at
        ``f // block_features * block_stride + f % block_features + r * row_stride``.
        """
        n_rows = self.by_feature.shape[1]
        return self.by_feature, np.uint32(1), np.uint64(1), np.uint64(n_rows)

    def code_strides(self) -> tuple[np.uint64, np.uint64]:
        """Return the same, in codes."""
        row, block = self.block_strides()
        return np.uint64(int(row) * self.block_codes), np.uint64(int(block) * self.block_codes)


def empty_page(
    device: Device, n_rows: int, n_features: int, dtype: np.dtype[Any], *, columns: bool = True
) -> QuantizedPage:
    """Allocate a page, its contents undefined, in the order that suits a device.

    Without ``columns`` it has no memory for ``by_feature``, which histograms do not read.
    """
    by_block = device.caps.kind != "cpu"
    block = BLOCK_BYTES // dtype.itemsize
    n_blocks = -(-n_features // block)
    shape = (n_blocks, n_rows, block) if by_block else (n_rows, n_blocks, block)
    return QuantizedPage(
        device.empty(shape, dtype),
        device.empty((n_features, n_rows if columns else 0), dtype),
        # evenly full, as work-groups take a block each
        -(-n_features // n_blocks) if by_block else block,
        by_block,
    )


@dataclass(frozen=True)
class QuantizedData:
    """A data set as codes; a list of pages, of which training takes one for now."""

    pages: list[QuantizedPage]
    layout: Layout
