"""Rows whose pages take turns on the device, and bring there the columns alone that trees draw.

    host     |page 0: f0 f1 f2 f3 ..|page 1: f0 f1 f2 f3 ..|     column by column
    together |page 0: f1 f3|page 1: f1 f3|                       put there by threads, once a batch
    slot     |f1|f3|  ->  |row 0: f1 f3|row 1: f1 f3| ..         as they come, and for histograms

Columns stay in a slot until other ones are drawn, or another page needs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.threads import n_threads
from pyopencl_gbdt.device import Device, DeviceArray, Launch
from pyopencl_gbdt.device.arena import MemoryPlan
from pyopencl_gbdt.device.switches import SENT_COLUMNS, asked
from pyopencl_gbdt.device.team.member import Team
from pyopencl_gbdt.device.transfers import Mark, Transfers
from pyopencl_gbdt.fit import page_schedule
from pyopencl_gbdt.fit.nodes import Nodes
from pyopencl_gbdt.fit.page import in_slot
from pyopencl_gbdt.fit.page_schedule import CODES
from pyopencl_gbdt.fit.page_stream import Loads, PageStream, Slot
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.fit.rows_in_turn import (
    ColumnsTaken,
    RowsInTurn,
    may_gather_rows,
    passes_of_codes,
)
from pyopencl_gbdt.fit.ways import gathered_columns, may_gather
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.pages.page import AnyPage, Page
from pyopencl_gbdt.pages.stored import HostColumns, KeptPages
from pyopencl_gbdt.parameters.facts import FitFacts
from pyopencl_gbdt.primitives.packed_codes import BlockOrder, JoinedCodes, PackedCodes

#: Most of all columns that a pass sends; else it sends all. H200, 2 M x 400, depth 6, memory for a
#: quarter of the codes, ms a round with all columns and with the drawn ones: a tenth 96 and 35 to
#: 37 (CUDA), 96 and 31 (OpenCL), 5.0 and 0.19 GB; 20 % 97 and 56, 98 and 54, 5.0 and 0.72 GB; 30 %
#: 96 and 63, 97 and 103, 5.0 and 1.3 GB.
MOST_SENT = 0.25
#: Bytes of a row that a pass moves beside its codes, about: quanta, and row ids read and written.
ROW_BYTES = 16
#: The name of the codes that trees gather, among a page's arrays of rows.
GATHERED = "drawn codes"
#: Of a code.
_BYTE = np.dtype(np.uint8)

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


def sends_columns(device: Device, nodes: Nodes, facts: FitFacts, team: Team) -> bool:
    """Tell whether the pages of a fit bring the columns alone that trees draw.

    That is for pages that one device copies from the host's memory, and columns that are at most
    `MOST_SENT` of all. Where trees may grow on drawn rows in place of that, fewer bytes decide. If
    all pages would stay on the device with all columns, ``Placement`` brings these. The trees are
    the same.

    ``PYOPENCL_GBDT_SENT_COLUMNS`` may be ``"off"``, or ``"on"``: wherever this is possible; or a
    word of ``puts_together``: there, too.
    """
    word, pages = asked(SENT_COLUMNS), facts.pages
    if word == "off" or team.size > 1 or page_schedule.works_in_place(device):
        return False
    if not may_gather(facts) or pages.given or pages.most_codes > BYTE_CODES:
        return False
    if facts.parameters.cache_folders:  # whose pages lie by row
        return False
    sent = nodes.round_trees * gathered_columns(facts)
    if word != "auto" or sent > MOST_SENT * pages.n_features:
        return word != "auto"
    of_columns = (sent + ROW_BYTES) * passes_of_codes(nodes, gathers=False)
    of_rows = (pages.n_features + ROW_BYTES) * passes_of_codes(nodes, gathers=True)
    return not may_gather_rows(nodes, team) or of_columns <= of_rows


@dataclass
class ColumnsInTurn(RowsInTurn):
    """The rows of a fit whose pages take turns, and bring the columns that trees draw.

    host     |page 0: f0 f1 f2 f3 ..|page 1: f0 f1 f2 f3 ..|..     column by column
    slots    |page 4: f1 f3|page 1: f1 f3|page 2: f1 f3|           as they come, and gathered
    """

    by_column: ClassVar[bool] = True

    @property
    def n_columns(self) -> int:
        """Columns that the trees of a batch draw at most."""
        return gathered_columns(self.ways.facts) * self.nodes.n_trees

    def kept(self) -> MemoryPlan:
        """Return the host's memory for pages: that of all columns."""
        kept = super().kept()
        del kept.arrays[GATHERED]
        if puts_together(self.schedule.n_slots, len(self.schedule.bounds)):
            kept.arrays["drawn columns"] = kept.arrays[CODES]
        kept.arrays[CODES] = (self.features.layout.n_features, self.n_rows), _BYTE
        return kept

    def paper_pages(self) -> list[AnyPage]:
        """Return a page of the largest size; its memory is that of slots."""
        most = self.schedule.most_rows
        codes = DeviceArray(self.arena.device, (self.n_columns, most), _BYTE, None)
        places = DeviceArray(self.arena.device, self._places_shape, np.uint32, None)
        return [Page(JoinedCodes(codes, places, None), 0, most)]

    @property
    def _places_shape(self) -> tuple[int, int]:
        return self.features.layout.n_features, 2

    # -- pages in slots ----------------------------------------------------------------------
    def _codes_of(self, n_rows: int) -> tuple[tuple[int, ...], Any]:
        """Return shape and dtype of the columns of so many rows, as they come."""
        return (self.n_columns, n_rows), _BYTE

    def _gathered_of(self, n_rows: int) -> tuple[tuple[int, ...], Any]:
        """Return shape and dtype of the columns of so many rows that trees gather."""
        coalesced = self.arena.device.caps.coalesces_reads
        order = BlockOrder.of(gathered_columns(self.ways.facts), _BYTE, coalesced=coalesced)
        runs, *others = order.shape(n_rows)
        return (self.nodes.n_trees * runs, *others), _BYTE

    def in_page(self, n_rows: int) -> MemoryPlan:
        """Return the arrays of a page of so many rows."""
        found = super().in_page(n_rows)
        found.add(GATHERED, *self._gathered_of(n_rows))
        return found

    def while_made(self, n_rows: int) -> MemoryPlan:
        """Return the device's memory while a page is made: the codes of all columns, twice."""
        columns = self.features.layout.n_features, n_rows
        return MemoryPlan({CODES: super()._codes_of(n_rows), "by_feature": (columns, _BYTE)})

    def gathered_pages(self, order: BlockOrder, fullest: DeviceArray) -> list[AnyPage]:
        """Return the pages of the codes that trees gather; every slot has an array of them."""
        device, n_slots = self.arena.device, self.schedule.n_slots
        shape, dtype = self._gathered_of(self.schedule.most_rows)
        nothing = DeviceArray(device, (order.n_features, 0), dtype, None)
        codes = []
        for slot in range(n_slots):
            own = DeviceArray(device, shape, dtype, None)
            if self.stream is not None:  # on paper, ``ask_for_slots`` asks for them
                own = self.arena.array(in_slot(GATHERED, slot), shape, dtype)
            codes.append(PackedCodes(own, nothing, order, self.nodes.n_trees, fullest))
        bounds = [(page.first_row, page.n_rows) for page in self.page_list]
        return [Page(codes[i % n_slots], *bound) for i, bound in enumerate(bounds)]

    def take_turns(self, stored: KeptPages) -> None:
        """Make room for the columns of some pages at a time; arrays come with ``allocate``."""
        assert isinstance(stored, HostColumns)
        device, schedule = self.arena.device, self.schedule
        places = device.upload(np.zeros(self._places_shape, np.uint32))
        shape, _ = self._codes_of(schedule.most_rows)
        slots = [device.empty(shape, _BYTE, CODES) for _ in range(schedule.n_slots)]
        self.page_list = []
        for index, (first, n_rows) in enumerate(schedule.bounds):
            own = slots[index % schedule.n_slots].reshaped((self.n_columns, n_rows))
            self.page_list.append(Page(JoinedCodes(own, places, None), first, n_rows))
        self.stream = self.stream or ColumnStream(device, stored)
        self.stream.use([{CODES: codes} for codes in slots])


class TakeColumns(ColumnsTaken):
    """Draws the columns of some trees, and lets pages bring these; waits for the device.

    Parameters
    ----------
    rows : FitRows
        The rows whose pages bring the columns.
    draws : sequence of Launch
        The launches that draw the columns of some trees.
    drawn : uint32 DeviceArray, shape (n_trees or more, n_drawn)
        The list that these launches write.
    gathers : sequence of sequence of Launch
        The launches that gather columns on the device for histograms, page by page.
    """

    name = "columns that pages bring"

    def __init__(
        self, rows: FitRows, draws: Sequence[Launch], drawn: DeviceArray,
        gathers: Sequence[Sequence[Launch]], n_trees: int,
    ) -> None:  # fmt: skip
        stream, codes = rows.stream, rows.codes
        assert isinstance(stream, ColumnStream)
        assert isinstance(codes, JoinedCodes)
        self.stream, self.digits, self.n_trees = stream, codes.digits, n_trees
        self.draws, self.drawn, self.gathers = draws, drawn, gathers

    def __call__(self) -> None:
        self.stream.begin_columns()
        for launch in self.draws:
            launch()
        columns = np.unique(self.drawn.get()[: self.n_trees])
        self.digits.set(places_of(columns, self.digits.shape[0]))
        self.stream.take_columns(columns, self.gathers)
