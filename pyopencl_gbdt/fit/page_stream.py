"""Pages that take turns on the device: their codes and arrays of rows live in host memory.

    host     |page 0|page 1|page 2|page 3|page 4|
    device   |slot 0: page 2|slot 1: page 3|         page i lies in slot i % n_slots

A *pass* visits every page once. A step that works on rows puts its launches for every page on a
list (``PageWise``). The list runs when something has to know all rows: a pass then brings each page
to its slot, runs all that is on the list for this page, and goes on with the next one. What was
written in a slot goes back to the host when another page takes the slot. Passes go forward and
backward in turn, so each begins with the pages that are still in their slots.

All waiting is done on the device. The host stays at most a pass ahead, unless pages come from disk.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.device.transfers import Mark, Transfers
from pyopencl_gbdt.errors import DeviceError
from pyopencl_gbdt.fit.page_schedule import CODES, PageWise, needed_by
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.pages.codecs import page_sizes
from pyopencl_gbdt.pages.stored import KeptPages, PagesInMemory, StoredPages

U8 = npt.NDArray[np.uint8]
#: Pages in page-locked memory: one is copied to the device while the next one is loaded.
_BUFFERS = 2


class Loads(Protocol):
    """Brings the codes of pages to the device."""

    def expect(self, pages: Sequence[int]) -> None:
        """Take the pages that a pass will bring, in order; begin to load the first ones."""

    def bring(self, index: int, array: DeviceArray, after: Mark) -> Mark:
        """Enqueue the copy of a page to the device; wait until it is loaded."""

    def close(self) -> None:
        """End what loads pages."""


class PageLoads:
    """Loads pages in the order of a pass, one ahead of the copies to the device.

    ``stored``: ``PagesInMemory`` are copied from where they lie; others are loaded by a thread.
    """

    def __init__(self, device: Device, transfers: Transfers, stored: StoredPages) -> None:
        self._device, self._transfers, self._stored = device, transfers, stored
        self._in_memory = isinstance(stored, PagesInMemory)
        coalesced = device.caps.coalesces_reads
        self._sizes = page_sizes(stored.layout, stored.bounds, coalesced=coalesced)
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


#: Passes that are enqueued and not finished.
_MOST_AHEAD = 2


@dataclass
class Slot:
    """Arrays on the device that pages use in turn.

    Attributes
    ----------
    page : int
        The page that lies here; -1 if no page does.
    there : set of str
        The page's arrays that are up to date here.
    unsaved : set of str
        Those of them that the host does not have.
    used : Mark
        The kernels of the last visit.
    """

    page: int = -1
    there: set[str] = field(default_factory=set)
    unsaved: set[str] = field(default_factory=set)
    used: Mark = None


@dataclass
class _Kept:
    """What the host keeps of a page: arrays by name, and the mark of what was copied last."""

    arrays: dict[str, U8] = field(default_factory=dict)
    current: set[str] = field(default_factory=set)
    saved: Mark = None


class PageStream:
    """Runs the launches of pages, and moves the pages.

    ``stored``: the codes.

    Attributes
    ----------
    n_passes, n_loads : int
        Passes so far, and pages whose codes were brought to the device.
    """

    def __init__(self, device: Device, stored: KeptPages) -> None:
        self.device, self.stored = device, stored
        self.n_pages = len(stored.bounds)
        self.transfers = device.transfers()
        self._loads: Loads = self._loads_of(stored)
        self._kept = [_Kept() for _ in range(self.n_pages)]
        self._list: list[PageWise] = []
        self._ends: deque[Mark] = deque()
        self._backward = False
        self.n_passes = self.n_loads = 0
        self._slots: list[Slot] = []
        self._arrays: list[dict[str, DeviceArray]] = []
        self._sizes: dict[str, list[int]] = {}

    def _loads_of(self, stored: Any) -> Loads:
        """Return the loads that bring the codes of pages."""
        return PageLoads(self.device, self.transfers, stored)

    def use(self, slots: Sequence[Mapping[str, DeviceArray]]) -> None:
        """Begin with empty slots, which have these arrays; what lay in the former ones is lost.

        At least one slot; with 2, a page is on its way while one is worked on.
        """
        self.transfers.finish()
        self._list.clear()
        self._slots = [Slot() for _ in slots]
        self._arrays = [dict(arrays) for arrays in slots]

    def give(self, slot: int, arrays: Mapping[str, DeviceArray]) -> None:
        """Add arrays of rows to a slot."""
        self._arrays[slot] |= arrays

    def sized(self, name: str, nbytes: Sequence[int]) -> None:
        """Take the bytes that every page has of an array of rows."""
        self._sizes[name] = list(nbytes)

    def close(self) -> None:
        """Free the host's memory, and end what loads pages; waits for copies under way."""
        self._loads.close()
        with contextlib.suppress(DeviceError):  # a device that failed copies no more
            self.transfers.finish()
        self._list.clear()
        self._kept = [_Kept() for _ in range(self.n_pages)]
        self._arrays = []

    # -- what the host writes and reads ----------------------------------------------------
    def write(self, name: str, of_page: Callable[[int], npt.NDArray[Any]]) -> None:
        """Set an array of rows; ``of_page`` returns the values of a page."""
        self.run()
        self.transfers.finish()
        for slot in self._slots:
            slot.there.discard(name)
            slot.unsaved.discard(name)
        for index, kept in enumerate(self._kept):
            values = np.ascontiguousarray(of_page(index)).reshape(-1).view(np.uint8)
            self._host(kept, index, name)[...] = values
            kept.current.add(name)

    def read(self, name: str) -> list[U8]:
        """Return the bytes of an array of rows, page by page; waits for the device."""
        self.run()
        for slot in self._slots:
            self._save(slot, {name})
        self.transfers.finish()
        return [kept.arrays[name] for kept in self._kept]

    # -- what the device does --------------------------------------------------------------
    def enlist(self, action: PageWise) -> None:
        """Put launches on the list of the next pass."""
        self._list.append(action)

    def run(self) -> None:
        """Run what is on the list, in a pass over all pages; nothing if the list is empty."""
        if not self._list:
            return
        actions, self._list = self._list, []
        order = list(range(self.n_pages))
        if self._backward:
            order.reverse()
        needed, updated = needed_by(actions)
        if self._moves(needed):
            self._backward = not self._backward
        if CODES in needed:
            self._expect(order)
        for number, index in enumerate(order):
            current = self._kept[index].current
            wanted = [*needed, *(name for name in updated if name in current)]
            self._visit(index, actions, list(dict.fromkeys(wanted)), first=number == 0)
        self.n_passes += 1
        self._ends.append(self.transfers.kernels_done())
        if len(self._ends) >= _MOST_AHEAD:
            self.transfers.wait(self._ends.popleft())

    def _moves(self, needed: list[str]) -> bool:
        """Return whether a pass that needs these arrays changes what lies in the slots."""
        return True

    def _expect(self, order: list[int]) -> None:
        """Begin to load the codes that a pass will ask for."""
        self._loads.expect(self._missing(order))

    def _missing(self, order: list[int]) -> list[int]:
        """Return the pages whose codes a pass will have to load, in its order."""
        lies = [slot.page if CODES in slot.there else -1 for slot in self._slots]
        found = []
        for index in order:
            if lies[index % len(lies)] != index:
                found.append(index)
                lies[index % len(lies)] = index
        return found

    def _visit(
        self, index: int, actions: list[PageWise], needed: list[str], *, first: bool
    ) -> None:
        slot = self._slots[index % len(self._slots)]
        if slot.page != index:
            self._save(slot, slot.unsaved.copy())
            left = -1 if slot.page < 0 else slot.page
            freed = None if left < 0 else self._kept[left].saved
            slot.page, slot.there = index, set()
        else:
            freed = None
        self._bring(slot, [name for name in needed if name not in slot.there], freed)
        for action in actions:
            own = action.launches if action.first is None or not first else action.first
            for launch in own[index]:
                launch()
            written = (*action.writes, *action.updates)
            slot.there.update(written)
            slot.unsaved.update(written)
            self._kept[index].current.difference_update((*written, *action.drops))
            slot.there.difference_update(action.drops)
            slot.unsaved.difference_update(action.drops)
        slot.used = self.transfers.kernels_done()

    def _bring(self, slot: Slot, names: list[str], freed: Mark) -> None:
        """Copy arrays of the slot's page to the slot; kernels wait for them."""
        kept, index = self._kept[slot.page], slot.page
        arrays = self._arrays[index % len(self._slots)]
        if freed is not None and not names:
            self.transfers.kernels_wait(freed)  # kernels write where copies still read
        mark: Mark = None
        for name in names:
            if name == CODES:  # nobody writes codes, so none are being copied out of the slot
                mark = self._loads.bring(index, arrays[CODES], slot.used)
                self.n_loads += 1
                continue
            assert name in kept.current, f"{name} of page {index} is read before it was written"
            after = (slot.used, freed, kept.saved)
            mark = self.transfers.bring(arrays[name], kept.arrays[name], after)
        slot.there.update(names)
        self.transfers.kernels_wait(mark)
        if freed is not None and names == [CODES]:
            self.transfers.kernels_wait(freed)

    def _save(self, slot: Slot, names: set[str]) -> None:
        """Copy arrays of a slot to the host, if it does not have them."""
        if slot.page < 0:
            return
        kept, arrays = self._kept[slot.page], self._arrays[slot.page % len(self._slots)]
        for name in sorted(names & slot.unsaved):
            host = self._host(kept, slot.page, name)
            kept.saved = self.transfers.take(arrays[name], host, (slot.used, kept.saved))
            kept.current.add(name)
            slot.unsaved.discard(name)

    def _host(self, kept: _Kept, index: int, name: str) -> U8:
        """Return the host's memory for an array of a page."""
        if name not in kept.arrays:
            kept.arrays[name] = self.device.pinned(self._sizes[name][index])
        return kept.arrays[name]


class QueuePage:
    """The action that puts launches of pages on the list of the next pass."""

    def __init__(self, stream: PageStream, action: PageWise) -> None:
        self.stream, self.action = stream, action
        self.name = next((launch.name for own in action.launches for launch in own), "nothing")

    def __call__(self) -> None:
        self.stream.enlist(self.action)


class RunPass:
    """The action that runs the listed actions, before another action needs all rows."""

    name = "pass over pages"

    def __init__(self, stream: PageStream) -> None:
        self.stream = stream

    def __call__(self) -> None:
        self.stream.run()


class LaunchAfter:
    """An action that runs behind what is on the list."""

    def __init__(self, stream: PageStream, action: Action) -> None:
        self.stream, self.action, self.name = stream, action, action.name

    def __call__(self) -> None:
        self.stream.run()
        self.action()
