"""Uploads in pieces, through page-locked memory: a device copies one while the host fills another.

A driver copies from ordinary memory by way of a small page-locked buffer of its own, with one
thread. An H200 took 157 ms for 1.23 GB so; 53 ms by 2 buffers of 16 MiB that 4 threads fill; with
2 threads 85 ms, with 8 as long as with 4. Buffers of 64 MiB took 43 to 52 ms, and 47 ms to
allocate instead of 9.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from pyopencl_gbdt.device.base import Array, Device, Wait

#: Bytes of a piece.
PIECE_BYTES = 16 * 1024 * 1024
#: Below so many bytes, which go there twice or more, page-locked memory costs more than it saves.
LEAST_BYTES = 4 * PIECE_BYTES
_THREADS = 4


class Staging:
    """Uploads rows of a matrix to one array on a device, a piece at a time.

    Parameters
    ----------
    device : Device
    values : array, shape (n_rows, n_features), C order
    piece_rows : int
        Rows of a piece.

    Attributes
    ----------
    piece : DeviceArray
        Where all pieces go, one after the other.
    """

    def __init__(self, device: Device, values: Array, piece_rows: int) -> None:
        self.device, self.values, self.rows = device, values, piece_rows
        self.piece = device.empty((piece_rows, values.shape[1]), values.dtype)
        self._pinned: list[Array] = []
        if values.nbytes >= LEAST_BYTES:
            # no comprehension: it would be a closure, and a traceback keep the piece alive
            nbytes = self.piece.nbytes
            self._pinned = [device.pinned(nbytes), device.pinned(nbytes)]

    def pieces(self) -> Iterator[tuple[int, int]]:
        """Upload piece by piece; yield its first row and how many it has.

        What reads a piece has to be enqueued before the next one is asked for.
        """
        if self._pinned:
            yield from self._staged()
            return
        for first in range(0, len(self.values), self.rows):
            rows = self.values[first : first + self.rows]
            self.device.write(self.piece, rows, 0)
            yield first, len(rows)

    def _staged(self) -> Iterator[tuple[int, int]]:
        waits: list[Wait | None] = [None, None]
        starts = range(0, len(self.values), self.rows)
        with ThreadPoolExecutor(_threads()) as pool:
            copied = self._fill(pool, 0)
            for number, first in enumerate(starts):
                for part in copied:
                    part.result()
                rows = self.values[first : first + self.rows]
                pinned = self._pinned[number % 2][: rows.nbytes]
                waits[number % 2] = self.device.write_later(self.piece, pinned, 0)
                if number + 1 < len(starts):  # while the caller and the device go on
                    wait = waits[(number + 1) % 2]
                    if wait is not None:
                        wait()
                    copied = self._fill(pool, number + 1)
                yield first, len(rows)
        for wait in waits:  # the buffers are used again
            if wait is not None:
                wait()

    def _fill(self, pool: ThreadPoolExecutor, number: int) -> list[Future[None]]:
        """Start to copy a piece into one of the buffers, every thread a part."""
        rows = self.values[number * self.rows : (number + 1) * self.rows]
        flat = rows.reshape(-1).view(np.uint8)
        pinned = self._pinned[number % 2][: flat.size]
        parts = zip(*(np.array_split(array, _threads()) for array in (pinned, flat)), strict=True)
        return [pool.submit(np.copyto, to, part) for to, part in parts]


def _threads() -> int:
    return max(1, min(_THREADS, os.cpu_count() or 1))
