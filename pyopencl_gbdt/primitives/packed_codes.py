"""Codes of a page on a device, in the order in which the device's kernels load them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.device.room import lasting
from pyopencl_gbdt.dtypes import BLOCK_BYTES, c_type
from pyopencl_gbdt.lazy_dataclasses import dataclass

#: Odd numbers of blocks from which on a row gets another one, so that all have a neighbour.
_LEAST_FILLED = 7


def code_dtype(n_codes: int) -> np.dtype[np.uint8] | np.dtype[np.uint16]:
    """Return the smallest dtype of codes ``0 .. n_codes - 1``; bytes halve the memory traffic."""
    return np.dtype(np.uint8) if n_codes <= 256 else np.dtype(np.uint16)


@dataclass(frozen=True)
class BlockOrder:
    """The blocks of 16 bytes to which the codes of a row are put, and where these lie.

    A block has the codes of ``block_features`` features, and zeros as padding::

        together = n_blocks  row 0: a b c   row 1: a b c ..           as CPUs read
        together = 1         all rows: a ..   all rows: b ..   c ..
        together = 2         all rows: a b ..   all rows: c d ..      as GPUs read

    A GPU's work-group reads one or two blocks of many rows, and 32 bytes are the least that a GPU
    reads at a time. H200, CUDA, ms a round with pairs and with blocks apart: 11 M x 28, depth 6,
    1.58 and 1.69, depth 8 2.48 and 2.82.

    Attributes
    ----------
    dtype : numpy.dtype
        The type of the codes, uint8 or uint16.
    n_blocks : int
        Blocks of a row; the last one may have no features.
    together : int
        Blocks of a row that lie together; 1, 2 or ``n_blocks``.
    """

    n_features: int
    dtype: np.dtype[Any]
    n_blocks: int
    together: int
    block_features: int

    @classmethod
    def of(cls, n_features: int, dtype: np.dtype[Any], *, coalesced: bool) -> BlockOrder:
        """Return the order that suits a device.

        Parameters
        ----------
        dtype : numpy.dtype
        coalesced : bool
            ``Capabilities.coalesces_reads`` of the device.
        """
        block = BLOCK_BYTES // dtype.itemsize
        n_blocks = -(-n_features // block)
        if not coalesced:
            return cls(n_features, dtype, n_blocks, n_blocks, block)
        own = -(-n_features // n_blocks)  # equally many: each work-group takes one block
        n_blocks += n_blocks % 2 if n_blocks >= _LEAST_FILLED else 0
        return cls(n_features, dtype, n_blocks, 1 if n_blocks % 2 else 2, own)

    @cached_property
    def block_codes(self) -> int:
        """Codes in a block, padding included."""
        return BLOCK_BYTES // self.dtype.itemsize

    @cached_property
    def n_used(self) -> int:
        """Blocks of a row that have features."""
        return -(-self.n_features // self.block_features)

    @cached_property
    def row_codes(self) -> int:
        """Codes of a row, padding included."""
        return self.n_blocks * self.block_codes

    @cached_property
    def row_bytes(self) -> int:
        """Bytes of a row's codes, padding included."""
        return self.n_blocks * BLOCK_BYTES

    def shape(self, n_rows: int) -> tuple[int, int, int]:
        """Return the shape of codes of so many rows: (runs, n_rows, codes that lie together)."""
        return self.n_blocks // self.together, n_rows, self.together * self.block_codes

    def strides(self, n_rows: int) -> dict[str, int]:
        """Return the kernel arguments that say where blocks lie, see cl_kernels/blocks.h."""
        return {
            "row_stride": self.together,
            "block_stride": 1 if self.together == self.n_blocks else self.together * n_rows,
            "paired": int(self.together == 2),
        }

    @cached_property
    def places(self) -> npt.NDArray[np.int64]:
        """The index of each feature's code in a row of blocks, int64 (n_features,)."""
        block, within = np.divmod(np.arange(self.n_features), self.block_features)
        places: npt.NDArray[np.int64] = block * self.block_codes + within
        places.flags.writeable = False
        return places

    def blocks(self, codes: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """Return views of the codes of every block, shape (n_rows, block_codes).

        Parameters
        ----------
        codes : array of ``dtype``
            Of any shape; C order.
        """
        runs, _, _ = self.shape(0)
        parted = codes.reshape(runs, -1, self.together, self.block_codes)
        return [parted[run, :, i] for run in range(runs) for i in range(self.together)]


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

    def first_rows(self, n_rows: int) -> PackedCodes:
        """Return codes of so many rows in the same memory, whose contents they are to replace."""
        codes = self.codes.reshaped(self.order.shape(n_rows))
        by_feature = self.by_feature.reshaped((self.by_feature.shape[0], n_rows))
        return replace(self, codes=codes, by_feature=by_feature)

    @cached_property
    def block_features(self) -> int:
        """Features of a block."""
        return self.order.block_features

    @cached_property
    def block_codes(self) -> int:
        """Codes in a block of 16 bytes, padding included."""
        return self.order.block_codes

    @cached_property
    def code_type(self) -> str:
        """The kernels' word for the dtype of the codes."""
        return c_type(self.codes.dtype)

    @cached_property
    def code_bytes(self) -> int:
        """Bytes of a code."""
        return self.codes.dtype.itemsize

    @cached_property
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

    @cached_property
    def column_arguments(self) -> Mapping[str, Any]:
        """The kernel arguments for reading the codes of one feature; strides count codes."""
        n_rows = self.by_feature.shape[1]
        if not n_rows:  # of pages that take turns, only codes by row are moved
            return {**self.row_arguments, "block_features": self.order.block_features}
        return {
            "codes": self.by_feature, "block_features": 1, "row_stride": 1,
            "block_stride": n_rows, "paired": 0,
        }  # fmt: skip

    @cached_property
    def row_arguments(self) -> Mapping[str, Any]:
        """The kernel arguments for reading a row code by code; strides count codes."""
        found, block = self.block_strides(), self.order.block_codes
        for name in ("row_stride", "block_stride"):
            found[name] *= block
        return {"codes": self.codes, **found}

    @cached_property
    def block_arguments(self) -> Mapping[str, Any]:
        """The kernel arguments for reading a row block by block; strides count blocks."""
        return {"codes": self.codes, **self.block_strides()}


@dataclass(frozen=True)
class JoinedCodes:
    """The joint codes of consecutive rows on a device, stored once.

    Attributes
    ----------
    codes : uint8 DeviceArray
        In the shape that ``order`` gives, or of shape (n_places, n_rows).
    digits : uint32 DeviceArray, shape (n_features, 2)
        Where each feature's code is, see ``JointColumns.digit_table``.
    order : BlockOrder or None
        None stores codes place by place.
    """

    codes: DeviceArray
    digits: DeviceArray
    order: BlockOrder | None

    #: Kernels name a feature by its number: ``digits`` tells where its code is.
    block_features = block_codes = 1
    #: The kernels' word for these codes.
    code_type = "joint"
    #: Bytes that tell a row's code.
    code_bytes = 1

    @property
    def row_bytes(self) -> int:
        """Bytes of a row's codes, padding included."""
        return self.codes.shape[0] if self.order is None else self.order.row_bytes

    @property
    def kind(self) -> str:
        """What is stored, for ``Model.variants``."""
        return "joint, by column" if self.order is None else "joint, by row"

    @cached_property
    def column_arguments(self) -> Mapping[str, Any]:
        """The kernel arguments for reading codes; strides count codes.

        ``templates/parts/row_codes.cl.mako`` has what they mean.
        """
        found = {"codes": self.codes, "digits": self.digits}
        if self.order is None:
            columns = {"place_codes": 1, "row_stride": 1, "paired": 0}
            return {**found, **columns, "block_stride": self.codes.shape[1]}
        strides = self.order.strides(self.codes.shape[1])
        for name in ("row_stride", "block_stride"):
            strides[name] *= BLOCK_BYTES
        return {**found, **strides, "place_codes": BLOCK_BYTES}

    @property
    def row_arguments(self) -> Mapping[str, Any]:
        """The same: a row's codes and a feature's are read from the same arrays."""
        return self.column_arguments


@dataclass(frozen=True)
class JointSums:
    """The sums over joint codes that are the sums of features' own codes.

    ``templates/primitives/joint_sums.cl.mako`` has a picture.

    Attributes
    ----------
    begins : uint32 array, shape (n_places + 1,)
        Where the entries of each place's features begin in ``entries``.
    entries : uint32 array, shape (n_codes, 2)
        For each code of a feature: its place in a histogram, and the joint codes that have it, as
        ``packed`` returns them.
    """

    begins: npt.NDArray[np.uint32]
    entries: npt.NDArray[np.uint32]

    @property
    def n_codes(self) -> int:
        """Codes of all features."""
        return len(self.entries)


def empty_codes(
    device: Device, n_rows: int, n_features: int, dtype: np.dtype[Any], *, columns: bool = True
) -> PackedCodes:
    """Allocate codes in the order that suits a device; their contents are undefined.

    Without ``columns``, ``by_feature`` is empty.
    """
    order = BlockOrder.of(n_features, dtype, coalesced=device.caps.coalesces_reads)
    shape, by_feature = _shapes(order, n_rows, columns=columns)
    codes = lasting(device, shape, dtype, "codes")
    return PackedCodes(codes, lasting(device, by_feature, dtype, "codes by feature"), order)


def bytes_of_codes(device: Device, n_rows: int, n_features: int, max_bin: int) -> int:
    """Return the bytes of codes: ``max_bin`` of every feature, or fewer where rows are few."""
    dtype = code_dtype(min(max_bin, n_rows))
    order = BlockOrder.of(n_features, dtype, coalesced=device.caps.coalesces_reads)
    return sum(map(math.prod, _shapes(order, n_rows, columns=True))) * dtype.itemsize


def _shapes(
    order: BlockOrder, n_rows: int, *, columns: bool
) -> tuple[tuple[int, int, int], tuple[int, int]]:
    """Return the shapes of codes by row and by feature; see ``empty_codes`` for ``columns``."""
    return order.shape(n_rows), (order.n_features, n_rows if columns else 0)
