"""Pages that take turns on a device that works in the host's memory: a CPU.

    host's memory   |rows 0|rows 1|rows 2|rows 3|rows 4|     arrays of rows stay where they are
    slots           |codes 2|codes 3|                        codes of page i lie in slot i % n_slots

So a visit copies nothing but codes, and a thread unpacks these from their file to the slot's own
memory. Where the codes lie in the host's memory, or in files that are mapped, they stay, and there
is a slot for each page::

    file     |header, 4 KiB|codes ..|
    memory   |             |codes ..|     the system's own copy, mapped: nothing is read to a slot

The system reads what is not there yet, and may forget it where memory is short.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.device.transfers import Mark
from pyopencl_gbdt.fit.page_schedule import CODES, PageWise
from pyopencl_gbdt.fit.page_stream import PageStream, Slot
from pyopencl_gbdt.pages.codecs import page_sizes
from pyopencl_gbdt.pages.disk_pages import BEGIN, Bounds, DiskPages
from pyopencl_gbdt.pages.page import Layout
from pyopencl_gbdt.pages.stored import PagesInMemory, StoredPages

U8 = npt.NDArray[np.uint8]


def can_map(stored: Any) -> TypeGuard[DiskPages]:
    """Return whether the files of pages can be mapped: Windows would not remove them then."""
    return isinstance(stored, DiskPages) and stored.is_plain and hasattr(mmap.mmap, "madvise")


class MappedPages:
    """Pages of codes in mapped files: ``PagesInMemory`` of ``pages.stored``.

    ``stored``: pages whose files hold codes without compression; see ``can_map``.
    ``sizes``: bytes of every page's codes.

    Raises
    ------
    DataError
        If a file is missing, damaged, or that of another fit.
    """

    def __init__(self, stored: DiskPages, sizes: list[int]) -> None:
        self.layout: Layout = stored.layout
        self.bounds: Bounds = stored.bounds
        self._stored = stored
        self._files = [stored.mapped(index, size) for index, size in enumerate(sizes)]
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        self._asks = 2 * stored.stored_bytes > memory  # the system may have forgotten pages
        self._codes = [np.frombuffer(file, np.uint8, offset=BEGIN) for file in self._files]

    def codes(self, index: int) -> U8:
        """Return a page's bytes where the system keeps them; not to be changed."""
        return self._codes[index]

    def load(self, index: int, into: U8) -> None:
        """Read a page's codes by row; see ``DiskPages.load``."""
        self._stored.load(index, into)

    def ready(self, index: int) -> None:
        """Look at a page's file before kernels read it, and ask for the next one.

        Raises
        ------
        DataError
            If it is missing, damaged, or that of another fit.
        """
        if self._stored.check(index, self._codes[index]) or self._asks:
            with contextlib.suppress(OSError):  # advice; it takes 0.15 ms for 8 MB that are there
                self._files[(index + 1) % len(self._files)].madvise(mmap.MADV_WILLNEED)

    def close(self) -> None:
        """Remove all files and folders of the fit."""
        self._stored.close()


class StreamInPlace(PageStream):
    """Runs the launches of pages whose arrays of rows stay; as `PageStream`."""

    stored: StoredPages

    def __init__(self, device: Device, stored: StoredPages) -> None:
        super().__init__(device, stored)
        coalesced = device.caps.coalesces_reads
        self._bytes = page_sizes(stored.layout, stored.bounds, coalesced=coalesced)
        self._rows: list[dict[str, DeviceArray]] = [{} for _ in stored.bounds]
        self._pool: ThreadPoolExecutor | None = None
        self._coming: dict[int, deque[int]] = {}  # by slot: pages to load in this pass
        self._loading: dict[int, Future[None]] = {}

    def rows_of(
        self, index: int, name: str, shape: tuple[int, ...] | int, dtype: npt.DTypeLike
    ) -> DeviceArray:
        """Return a page's array of rows; allocate it in the host's memory if there is none."""
        own = self._rows[index]
        there, wanted = own.get(name), ((shape,) if isinstance(shape, int) else tuple(shape))
        if there is None or (there.shape, there.dtype) != (wanted, np.dtype(dtype)):
            own[name] = self.device.in_host_memory(shape, dtype)
        return own[name]

    def use(self, slots: Sequence[Mapping[str, DeviceArray]]) -> None:
        """Begin with empty slots for codes; pages in the host's memory lie in them already."""
        super().use(slots)
        if isinstance(self.stored, PagesInMemory):
            self._slots = [Slot(index, {CODES}) for index in range(len(slots))]

    def close(self) -> None:
        """Free the host's memory, and end what loads pages; waits for loads under way."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool = None
        self._coming.clear()
        self._loading.clear()
        super().close()
        self._rows = [{} for _ in range(self.n_pages)]

    def write(self, name: str, of_page: Callable[[int], npt.NDArray[Any]]) -> None:
        """Set an array of rows; ``of_page`` returns the values of a page."""
        self.run()
        for index, own in enumerate(self._rows):
            own[name].set(of_page(index))

    def read(self, name: str) -> list[U8]:
        """Return the bytes of an array of rows, page by page; waits for the device."""
        self.run()
        return [own[name].get().reshape(-1).view(np.uint8) for own in self._rows]

    def _moves(self, needed: list[str]) -> bool:
        """Return whether a pass that needs these arrays changes what lies in the slots."""
        return CODES in needed

    def _expect(self, order: list[int]) -> None:
        """Begin to load the pages that a pass will bring, to slots that it does not use before."""
        if isinstance(self.stored, PagesInMemory):
            return
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1)
        self._coming = {}
        for index in order:
            self._coming.setdefault(index % len(self._slots), deque()).append(index)
        for number, pages in self._coming.items():
            slot = self._slots[number]
            if slot.page == pages[0] and CODES in slot.there:
                pages.popleft()  # the page lies there; its visit begins the next load
            else:
                self._load(number)

    def _load(self, number: int) -> None:
        """Begin to load the next page of a slot, behind the kernels that use what lies there."""
        waits = self._coming.get(number)
        if not waits:
            return
        assert self._pool is not None
        index, slot = waits.popleft(), self._slots[number]
        slot.there, slot.page = set(), index
        array, used = self._arrays[number][CODES], slot.used
        self._loading[index] = self._pool.submit(self._fill, index, array, used)

    def _fill(self, index: int, array: DeviceArray, used: Mark) -> None:
        def load(into: U8) -> None:
            self.stored.load(index, into)

        self.transfers.write_in_place(array, self._bytes[index], used, load)

    def _visit(
        self, index: int, actions: list[PageWise], needed: list[str], *, first: bool
    ) -> None:
        number = index % len(self._slots)
        slot = self._slots[number]
        if CODES in needed and isinstance(self.stored, MappedPages):
            self.stored.ready(index)
        if CODES in needed and CODES not in slot.there:
            self._loading.pop(index).result()
            slot.there = {CODES}
            self.n_loads += 1
        for action in actions:
            own = action.launches if action.first is None or not first else action.first
            for launch in own[index]:
                launch()
        if CODES in needed and not isinstance(self.stored, PagesInMemory):
            slot.used = self.transfers.kernels_done()
            self._load(number)
