"""Pages that take turns, and bring the columns alone that the trees of a batch draw.

    host     |page 0: f0 f1 f2 f3 ..|page 1: f0 f1 f2 f3 ..|     column by column
    together |page 0: f1 f3|page 1: f1 f3|                       put there by threads, once a batch
    slot     |f1|f3|  ->  |row 0: f1 f3|row 1: f1 f3| ..         as they come, and for histograms

Columns stay in a slot until other ones are drawn, or another page needs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.threads import n_threads
from pyopencl_gbdt.device import Device, DeviceArray, Launch
from pyopencl_gbdt.device.switches import SENT_COLUMNS, asked
from pyopencl_gbdt.device.transfers import Mark, Transfers
from pyopencl_gbdt.fit.page_schedule import CODES
from pyopencl_gbdt.fit.page_stream import Loads, PageStream, Slot
from pyopencl_gbdt.pages.stored import HostColumns

U8 = npt.NDArray[np.uint8]
#: Codes of a byte.
BYTE_CODES = 256
#: By which a kernel's digit of a code is the code itself, see ``JointColumns.digit_table``.
_WHOLE_CODE = BYTE_CODES << 16 | (1 << 16) // BYTE_CODES


def runs_of(columns: npt.NDArray[np.uint32]) -> list[tuple[int, int]]:
    """Return where runs of neighbouring columns, ascending, begin and end."""
    ends = np.flatnonzero(np.diff(columns) != 1) + 1
    runs = [own for own in np.split(columns, ends) if own.size]
    return [(int(own[0]), int(own[-1]) + 1) for own in runs]


def places_of(columns: npt.NDArray[np.uint32], n_features: int) -> npt.NDArray[np.uint32]:
    """Return where kernels find each feature's code, as ``JoinedCodes.digits`` has it.

    A feature that is not among the columns has no place.
    """
    digits = np.zeros((n_features, 2), np.uint32)
    digits[columns, 0] = np.arange(columns.size)
    digits[columns, 1] = _WHOLE_CODE
    return digits


def puts_together(n_slots: int, n_pages: int) -> bool:
    """Tell whether threads put the drawn columns of pages together, for one copy of each page.

    That is where pages come in every pass. Else each is brought once, in runs of neighbouring
    columns, and the threads would only be waited for. H200, 2 M x 400, depth 6, ms a round in runs
    and together: memory for a quarter of the codes, a tenth drawn 33 to 41 and 35 to 37 (CUDA), 38
    to 42 and 31 (OpenCL), 20 % 68 and 56, 79 and 54, 30 % 137 and 63, 159 and 103; memory for all,
    a tenth 6.0 and 11.2, 5.8 and 10.1.

    ``PYOPENCL_GBDT_SENT_COLUMNS`` may be ``"runs"`` or ``"together"``.
    """
    word = asked(SENT_COLUMNS)
    return word == "together" or (word != "runs" and n_slots < n_pages)


class ColumnLoads:
    """Brings the drawn columns of pages: `PageLoads`."""

    def __init__(self, transfers: Transfers, stored: HostColumns) -> None:
        self._transfers, self._stored = transfers, stored
        self.runs: list[tuple[int, int]] = []

    def take(self, columns: npt.NDArray[np.uint32]) -> None:
        """Bring other columns from now on."""
        self.runs = runs_of(columns)

    def expect(self, pages: Sequence[int]) -> None:
        """Do nothing: pages lie in the host's memory."""

    def bring(self, index: int, array: DeviceArray, after: Mark) -> Mark:
        """Enqueue the copy of a page's drawn columns to the device."""
        parts = [self._stored.columns(index, *run) for run in self.runs]
        return self._transfers.bring_parts(array, parts, (after,))

    def close(self) -> None:
        """Do nothing: no thread loads pages."""


class ColumnsTogether(ColumnLoads):
    """The same; threads of the host put a page's columns together, once a batch.

    They lie in page-locked memory then, and one copy brings them.
    """

    def __init__(
        self, device: Device, transfers: Transfers, stored: HostColumns, most_columns: int
    ) -> None:
        super().__init__(transfers, stored)
        n_pages = len(stored.bounds)
        self._device = device
        self._together: list[U8 | None] = [None] * n_pages
        self._ready: list[Future[int] | None] = [None] * n_pages
        self._marks: list[Mark] = [None] * n_pages
        self._pool: ThreadPoolExecutor | None = None
        self._most_columns = most_columns

    def take(self, columns: npt.NDArray[np.uint32]) -> None:
        """Bring other columns from now on."""
        super().take(columns)
        self._ready = [None] * len(self._ready)

    def expect(self, pages: Sequence[int]) -> None:
        """Begin to join the columns of the pages that a pass will bring, in order."""
        self._pool = self._pool or ThreadPoolExecutor(n_threads())
        for index in pages:
            if self._together[index] is None:
                n_rows = self._stored.bounds[index][1]
                self._together[index] = self._device.pinned(self._most_columns * n_rows)
            if self._ready[index] is None:
                self._ready[index] = self._pool.submit(self._put_together, index)

    def _put_together(self, index: int) -> int:
        """Copy a page's columns to where they lie together; return their bytes."""
        self._transfers.wait(self._marks[index])  # of what lay there before
        to, end = self._together[index], 0
        assert to is not None
        for run in self.runs:
            own = self._stored.columns(index, *run)
            to[end : end + own.size] = own
            end += own.size
        return end

    def bring(self, index: int, array: DeviceArray, after: Mark) -> Mark:
        """Enqueue the copy of a page's drawn columns to the device, once they lie together."""
        ready, host = self._ready[index], self._together[index]
        assert ready is not None
        assert host is not None
        self._marks[index] = self._transfers.bring(array, host[: ready.result()], (after,))
        return self._marks[index]

    def close(self) -> None:
        """End the threads, and free their memory."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        self._pool, self._together = None, []


class ColumnStream(PageStream):
    """Runs the launches of pages that bring drawn columns; as `PageStream`."""

    def __init__(self, device: Device, stored: HostColumns) -> None:
        super().__init__(device, stored)
        self._gathers: Sequence[Sequence[Launch]] = ()

    def _loads_of(self, stored: Any) -> Loads:
        self._stored, self._columns = stored, ColumnLoads(self.transfers, stored)
        return self._columns

    def use(self, slots: Sequence[Mapping[str, DeviceArray]]) -> None:
        """Begin with empty slots; see `PageStream`."""
        super().use(slots)
        if not slots:  # they lie elsewhere meanwhile
            return
        runs, own = self._columns.runs, (self.transfers, self._stored)
        self._columns.close()
        if puts_together(len(slots), self.n_pages):
            most = max(arrays[CODES].shape[0] for arrays in slots)
            self._columns = ColumnsTogether(self.device, *own, most)
        else:
            self._columns = ColumnLoads(*own)
        self._columns.runs, self._loads = runs, self._columns

    def begin_columns(self) -> None:
        """Run what is on the list, if it asks for the columns drawn before."""
        if any(CODES in action.reads for action in self._list):
            self.run()

    def take_columns(
        self, columns: npt.NDArray[np.uint32], gathers: Sequence[Sequence[Launch]]
    ) -> None:
        """Let pages bring other columns from now on.

        ``columns``: ascending.
        ``gathers``: the actions that follow the copy of each page's columns.
        """
        self._columns.take(columns)
        self._gathers = gathers
        for slot in self._slots:
            slot.there.discard(CODES)

    def _bring(self, slot: Slot, names: list[str], freed: Mark) -> None:
        super()._bring(slot, names, freed)
        if CODES in names:
            for launch in self._gathers[slot.page]:
                launch()
