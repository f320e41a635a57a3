"""Where a quantiser reads values: on the device, on the host, or in batches that come one by one.

Cut points and codes are made by the same kernels, whatever the source, so they are the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.batches.rows import BatchedRows, Rows
from pyopencl_gbdt.data.threads import n_missing
from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.device.staging import Staging
from pyopencl_gbdt.pages.cuts import CutRule

F32 = npt.NDArray[np.float32]
#: What a quantiser takes: float32, shape (n_rows, n_features), C order.
Values = F32 | DeviceArray | Rows
#: First row, number of rows, and the values on the device.
Piece = tuple[int, int, DeviceArray]
#: So many rows, of 4 bytes or more each, end at a multiple of 4096 bytes: a part may begin there.
ALIGNED_ROWS = 1024
#: Rows that the host searches for missing values at a time.
_HOST_ROWS = 1 << 16


class ValueSource(ABC):
    """Values of a quantisation, which are read once for each block of columns, and once more."""

    @abstractmethod
    def pieces(self, columns: range | None = None) -> Iterator[Piece]:
        """Yield all rows, piece by piece, on the device.

        The caller must enqueue the kernels that read a piece before it asks for the next one.

        ``columns``: the columns that will be read; None is all. A piece may have the others, too.
        """

    @abstractmethod
    def host_blocks(self) -> Iterator[tuple[int, F32]]:
        """Yield all rows on the host: the first row of a block, and the block."""


def planned_codes(device: Device, values: Values, max_bin: int, rule: CutRule) -> int:
    """Return for how many codes of a column memory is planned, before it is cut.

    It is ``max_bin``, or 257 if codes of 256 bins and of missing values take two bytes. Values that
    the host cannot see, and those on paper, count as if some were missing.
    """
    if max_bin != 256 or rule.most_bins(max_bin, some_missing=True) < max_bin:
        return max_bin
    some = True
    if device.holds_memory and isinstance(values, BatchedRows):
        some = values.n_missing > 0
    elif device.holds_memory and not isinstance(values, DeviceArray):
        found = next(iter(values.pieces()))[1] if isinstance(values, Rows) else values
        some = n_missing(found) > 0
    return max_bin + some


def source_of(device: Device, values: Values, piece_rows: int) -> ValueSource:
    """Return the source of some values.

    Parameters
    ----------
    values : float32 array, DeviceArray or Rows, shape (n_rows, n_features)
    piece_rows : int
        Rows of a piece; all rows if there is memory for all values.
    """
    if isinstance(values, DeviceArray):
        return DeviceValues(values)
    if isinstance(values, BatchedRows):
        return BatchValues(device, values, piece_rows)
    if isinstance(values, Rows):
        (_, values), *_ = values.pieces()
    return HostValues(device, values, piece_rows)


def in_launches(
    device: Device, source: ValueSource, most_rows: int, columns: range | None = None
) -> Iterator[Piece]:
    """Yield a source's pieces; larger ones in parts of about ``most_rows`` rows."""
    most = max(1, most_rows // ALIGNED_ROWS) * ALIGNED_ROWS
    for start, rows, piece in source.pieces(columns):
        if rows <= most:
            yield start, rows, piece
            continue
        for first in range(0, rows, most):
            last = min(rows, first + most)
            yield start + first, last - first, device.rows(piece, first, last)


class DeviceValues(ValueSource):
    """Values that the user has on the device."""

    def __init__(self, values: DeviceArray) -> None:
        self._values = values

    def pieces(self, columns: range | None = None) -> Iterator[Piece]:
        yield 0, self._values.shape[0], self._values

    def host_blocks(self) -> Iterator[tuple[int, F32]]:
        yield 0, self._values.get()


class HostValues(ValueSource):
    """An array on the host: uploaded as a whole, borrowed, or uploaded in pieces every time.

    Pieces that are uploaded have the columns that will be read.
    """

    def __init__(self, device: Device, values: F32, piece_rows: int) -> None:
        self._device, self._values, self._rows = device, values, piece_rows
        self._whole: DeviceArray | None = None
        self._staging: Staging | None = None

    def pieces(self, columns: range | None = None) -> Iterator[Piece]:
        n_rows = len(self._values)
        if self._whole is None and self._rows >= n_rows:
            self._whole = self._device.borrow(self._values)
        if self._whole is not None:
            yield 0, n_rows, self._whole
        elif self._device.borrows:
            for first in range(0, n_rows, self._rows):
                piece = self._device.borrow(self._values[first : first + self._rows])
                yield first, piece.shape[0], piece
        else:
            self._staging = self._staging or Staging(self._device, self._values, self._rows)
            width = self._values.shape[1] if columns is None else len(columns)
            for first, rows in self._staging.pieces(columns):
                yield first, rows, self._staging.piece.reshaped((rows, width))

    def host_blocks(self) -> Iterator[tuple[int, F32]]:
        for first in range(0, len(self._values), _HOST_ROWS):
            yield first, self._values[first : first + _HOST_ROWS]


class BatchValues(ValueSource):
    """Rows in batches: kept on a device that has memory for all, else read anew every time."""

    def __init__(self, device: Device, values: BatchedRows, piece_rows: int) -> None:
        self._device, self._values = device, values
        self._rows = min(piece_rows, values.most_rows)
        # a device that borrows has the host's memory, which is not to hold all values
        self._keeps = piece_rows >= len(values) and not device.borrows
        self._whole: DeviceArray | None = None
        self._piece: DeviceArray | None = None

    def pieces(self, columns: range | None = None) -> Iterator[Piece]:
        device = self._device
        if self._keeps:
            if self._whole is None:
                self._whole = uploaded(device, self._values)
            yield 0, len(self._values), self._whole
        elif device.borrows:
            for first, block in self._values.blocks(self._rows):
                piece = device.borrow(block)
                del block
                yield first, piece.shape[0], piece
                device.finish()  # the source may write its next batch to the same memory
                piece.handle = None  # frees the batch, whoever keeps the array
        else:
            if self._piece is None:
                self._piece = device.empty((self._rows, self._values.shape[1]), np.float32)
            for first, block in self._values.blocks(self._rows):
                device.write(self._piece, block, 0)
                yield first, len(block), self._piece

    def host_blocks(self) -> Iterator[tuple[int, F32]]:
        return self._values.pieces()


def uploaded(device: Device, values: BatchedRows) -> DeviceArray:
    """Return all rows on the device; the host holds one batch at a time."""
    whole = device.empty(values.shape, np.float32)
    for first, block in values.pieces():
        device.write(whole, block, first * 4 * values.shape[1])
    return whole
