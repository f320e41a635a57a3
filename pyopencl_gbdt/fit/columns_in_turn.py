"""Rows whose pages take turns on the device, and bring there the columns alone that trees draw."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from pyopencl_gbdt.device import Device, DeviceArray, Launch
from pyopencl_gbdt.device.arena import MemoryPlan
from pyopencl_gbdt.device.switches import SENT_COLUMNS, asked
from pyopencl_gbdt.device.team.member import Team
from pyopencl_gbdt.fit import page_schedule
from pyopencl_gbdt.fit.column_stream import BYTE_CODES, ColumnStream, places_of, puts_together
from pyopencl_gbdt.fit.nodes import Nodes
from pyopencl_gbdt.fit.page import in_slot
from pyopencl_gbdt.fit.page_schedule import CODES
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
        Whose pages bring them.
    draws : sequence of Launch
        Draw the columns of some trees, ...
    drawn : uint32 DeviceArray, shape (n_trees or more, n_drawn)
        ... and list them here.
    gathers : sequence of sequence of Launch
        What gathers them on the device for histograms, page by page.
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
