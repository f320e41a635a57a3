"""Codes of a run of rows on a device, in the order that its kernels load them in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.dtypes import BLOCK_BYTES


@dataclass(frozen=True)
class PackedCodes:
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

    def places(self, n_features: int) -> npt.NDArray[np.int64]:
        """Return where a row has each feature's code, int64 (n_features,)."""
        block, within = np.divmod(np.arange(n_features), self.block_features)
        places: npt.NDArray[np.int64] = block * self.block_codes + within
        return places

    def in_row_order(self, values: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
        """Return values of features as rows have their codes, padding as 0."""
        ordered = np.zeros(self.n_blocks * self.block_codes, np.uint32)
        ordered[self.places(values.size)] = values
        return ordered

    def block_strides(self) -> dict[str, int]:
        """Return how many blocks lie from a row to the next, and from a block to the next."""
        row, block = (1, self.codes.shape[1]) if self.by_block else (self.n_blocks, 1)
        return {"row_stride": row, "block_stride": block}

    def column_arguments(self) -> dict[str, Any]:
        """Return the kernels' arguments that give the codes of one feature.

        Row ``r`` has the code of feature ``f`` at
        ``f // block_features * block_stride + f % block_features + r * row_stride``.
        """
        n_rows = self.by_feature.shape[1]
        return {
            "codes": self.by_feature, "block_features": 1, "row_stride": 1, "block_stride": n_rows
        }  # fmt: skip

    def row_arguments(self) -> dict[str, Any]:
        """Return the kernels' arguments that give a row's codes one by one; strides in codes."""
        blocks = self.block_strides()
        return {"codes": self.codes} | {n: s * self.block_codes for n, s in blocks.items()}

    def block_arguments(self) -> dict[str, Any]:
        """Return the kernels' arguments that give a row's codes by block; strides in blocks."""
        return {"codes": self.codes, **self.block_strides()}


def empty_codes(
    device: Device, n_rows: int, n_features: int, dtype: np.dtype[Any], *, columns: bool = True
) -> PackedCodes:
    """Allocate codes, their contents undefined, in the order that suits a device.

    Without ``columns`` there is no memory for ``by_feature``, which histograms do not read.
    """
    by_block = device.caps.side_by_side
    block = BLOCK_BYTES // dtype.itemsize
    n_blocks = -(-n_features // block)
    shape = (n_blocks, n_rows, block) if by_block else (n_rows, n_blocks, block)
    return PackedCodes(
        device.empty(shape, dtype),
        device.empty((n_features, n_rows if columns else 0), dtype),
        # evenly full, as work-groups take a block each
        -(-n_features // n_blocks) if by_block else block,
        by_block,
    )
