"""Bring the codes of stored pages to the device; pages that lie elsewhere are loaded ahead."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.device.transfers import Mark, Transfers
from pyopencl_gbdt.pages.stored import PagesInMemory, StoredPages, page_bytes

U8 = npt.NDArray[np.uint8]
#: Pages in page-locked memory: one is copied to the device while the next one is loaded.
_BUFFERS = 2


class PageLoads:
    """Loads pages in the order of a pass, one ahead of the copies to the device.

    Parameters
    ----------
    device : Device
    transfers : Transfers
    stored : StoredPages
        ``PagesInMemory`` are copied from where they lie; others are loaded by a thread.
    """

    def __init__(self, device: Device, transfers: Transfers, stored: StoredPages) -> None:
        self._device, self._transfers, self._stored = device, transfers, stored
        self._in_memory = isinstance(stored, PagesInMemory)
        self._sizes = [
            page_bytes(stored.layout, n_rows, coalesced=device.caps.coalesces_reads)
            for _, n_rows in stored.bounds
        ]
        self._buffers: list[U8] = []
        self._marks: list[Mark] = [None] * _BUFFERS
        self._pool: ThreadPoolExecutor | None = None
        self._coming: list[int] = []
        self._loading: dict[int, tuple[int, Future[None]]] = {}
        self._turn = 0

    def expect(self, pages: Sequence[int]) -> None:
        """Take the pages that a pass will bring, in order; begin to load the first ones."""
        if self._in_memory:
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1)
            self._buffers = [self._device.pinned(max(self._sizes)) for _ in range(_BUFFERS)]
        self._coming = list(pages)
        self._load_ahead()

    def _load_ahead(self) -> None:
        while self._coming and len(self._loading) < _BUFFERS:
            assert self._pool is not None
            index = self._coming.pop(0)
            buffer = self._turn
            self._turn = (buffer + 1) % _BUFFERS
            self._loading[index] = buffer, self._pool.submit(self._load, index, buffer)

    def _load(self, index: int, buffer: int) -> None:
        self._transfers.wait(self._marks[buffer])
        self._stored.load(index, self._buffers[buffer][: self._sizes[index]])

    def bring(self, index: int, array: DeviceArray, after: Mark) -> Mark:
        """Enqueue the copy of a page to the device; wait until it is loaded.

        Raises
        ------
        DataError
            If the page cannot be read whole.
        """
        if isinstance(self._stored, PagesInMemory):
            return self._transfers.bring(array, self._stored.codes(index), (after,))
        buffer, loaded = self._loading.pop(index)
        loaded.result()
        host = self._buffers[buffer][: self._sizes[index]]
        self._marks[buffer] = self._transfers.bring(array, host, (after,))
        self._load_ahead()
        return self._marks[buffer]

    def close(self) -> None:
        """End the thread that loads pages, and free its memory."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool, self._buffers, self._coming = None, [], []
        self._loading.clear()
