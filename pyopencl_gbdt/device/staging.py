"""Upload in pieces through page-locked buffers: the device copies one while the host fills another.

From ordinary memory, a driver copies with one thread through a small page-locked buffer of its own.
An H200 took 157 ms for 1.23 GB that way. It took 53 ms with 2 buffers of 16 MiB that 4 threads
fill, 85 ms with 2 threads, and no less with 8. Buffers of 64 MiB took 43 to 52 ms, but allocating
them took 47 ms instead of 9.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from pyopencl_gbdt.device.base import Array, Device, DeviceArray, Wait

#: Bytes of a piece.
PIECE_BYTES = 16 * 1024 * 1024
#: Matrices with fewer bytes are uploaded without page-locked buffers, which would cost more than
#: they save. A matrix is uploaded at least twice.
LEAST_BYTES = 4 * PIECE_BYTES
_THREADS = 4


class Staging:
    """Uploads a matrix to one array on a device, some rows at a time.

    Parameters
    ----------
    values : array, shape (n_rows, n_features), C order
    piece_rows : int
        Rows of a piece.
    whole : DeviceArray or None
        An array of the matrix's shape, to which each piece is copied at its own place.

    Attributes
    ----------
    piece : DeviceArray
        The array to which all pieces are copied, one after the other; ``whole`` if it is given.
    """

    def __init__(
        self, device: Device, values: Array, piece_rows: int, whole: DeviceArray | None = None
    ) -> None:
        self.device, self.values, self.rows = device, values, piece_rows
        shape = piece_rows, values.shape[1]
        self.piece = device.empty(shape, values.dtype) if whole is None else whole
        row_bytes = values.shape[1] * values.itemsize
        self._step = 0 if whole is None else row_bytes  # from the place of a row to the next
        self._sent, self._sent_rows = values, piece_rows  # what ``pieces`` uploads
        self._pinned: list[Array] = []
        if values.nbytes >= LEAST_BYTES and device.holds_memory:
            # a comprehension would be a closure, by which a traceback keeps the piece alive
            nbytes = piece_rows * row_bytes
            self._pinned = [device.pinned(nbytes), device.pinned(nbytes)]

    def pieces(self, columns: range | None = None) -> Iterator[tuple[int, int]]:
        """Upload piece by piece; yield each piece's first row and number of rows.

        The caller must enqueue the kernels that read a piece before it asks for the next one.

        ``columns``: the columns to upload, for more rows at a time; None for all. Not with
        ``whole``.
        """
        self._sent, self._sent_rows = self.values, self.rows
        if columns is not None:
            self._sent = self.values[:, columns.start : columns.stop]
            self._sent_rows = self.rows * self.values.shape[1] // len(columns)
        if self._pinned:
            yield from self._staged()
            return
        for first in range(0, len(self.values), self._sent_rows):
            rows = self._sent[first : first + self._sent_rows]
            if self.device.holds_memory:  # on paper, rows may repeat one number
                rows = np.ascontiguousarray(rows)
            self.device.write(self.piece, rows, first * self._step)
            yield first, len(rows)

    def _staged(self) -> Iterator[tuple[int, int]]:
        waits: list[Wait | None] = [None, None]
        starts = range(0, len(self.values), self._sent_rows)
        with ThreadPoolExecutor(_threads()) as pool:
            copied = self._fill(pool, 0)
            for number, first in enumerate(starts):
                for part in copied:
                    part.result()
                rows = self._sent[first : first + self._sent_rows]
                pinned = self._pinned[number % 2][: rows.nbytes]
                waits[number % 2] = self.device.write_later(self.piece, pinned, first * self._step)
                if number + 1 < len(starts):  # fill the next one while the device copies
                    wait = waits[(number + 1) % 2]
                    if wait is not None:
                        wait()
                    copied = self._fill(pool, number + 1)
                yield first, len(rows)
        for wait in waits:  # the next upload uses the same buffers
            if wait is not None:
                wait()

    def _fill(self, pool: ThreadPoolExecutor, number: int) -> list[Future[None]]:
        """Start to copy a piece into one of the buffers; each thread copies a part."""
        rows = self._sent[number * self._sent_rows : (number + 1) * self._sent_rows]
        pinned = self._pinned[number % 2][: rows.nbytes].view(rows.dtype).reshape(rows.shape)
        parts = zip(*(np.array_split(array, _threads()) for array in (pinned, rows)), strict=True)
        return [pool.submit(np.copyto, to, part) for to, part in parts]


def there(device: Device, values: Array | DeviceArray) -> DeviceArray:
    """Return a matrix on the device: the host's own memory if they share it, else a copy.

    One that is there already is returned as it is.

    Parameters
    ----------
    values : array, shape (n_rows, n_features), C order
    """
    if isinstance(values, DeviceArray):
        return values
    if device.borrows or values.nbytes < LEAST_BYTES:
        return device.borrow(values)
    whole = device.empty(values.shape, values.dtype)
    rows = max(1, PIECE_BYTES // (values.shape[1] * values.itemsize))
    for _ in Staging(device, values, rows, whole).pieces():
        pass
    return whole


def _threads() -> int:
    return max(1, min(_THREADS, os.cpu_count() or 1))
