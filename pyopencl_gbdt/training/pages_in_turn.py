"""Rows whose pages take turns on the device: how they are cut, encoded and copied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.device.switches import SENT_COLUMNS, asked
from pyopencl_gbdt.errors import MemoryPlanError
from pyopencl_gbdt.fit import rows_in_turn
from pyopencl_gbdt.fit.choose_turns import choose_turns
from pyopencl_gbdt.fit.page_schedule import PageSchedule
from pyopencl_gbdt.fit.parts import FitParts, OnPaper, check
from pyopencl_gbdt.fit.rows_in_turn import DrawnRows, RowsInTurn, copied_share, passes_of_codes
from pyopencl_gbdt.fit.share import Share
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.pages.cuts import CUT_RULES, cut_features, layout_of, most_levels
from pyopencl_gbdt.pages.page import Layout, even_layout
from pyopencl_gbdt.pages.quantize import Quantizer
from pyopencl_gbdt.pages.sources import planned_codes
from pyopencl_gbdt.pages.stored import (
    KeptPages,
    PagesOnPaper,
    PageStore,
    StoredPages,
    encoded_columns,
    encoded_pages,
)
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.primitives.packed_codes import bytes_of_codes

#: Returns a fit's parts for a layout whose pages take turns; the last argument is as
#: ``PageFacts.sends_columns``.
PartsOf = Callable[[Layout, PageSchedule, bool | None], FitParts]


def _cut_layout(data: Dataset, device: Device, params: Parameters) -> Layout:
    """Return the layout of a data set's codes; the values stay where they are."""
    return layout_of(_quantizer(data, device, params, 1, weighted=True).cuts(), data)


def _stored_pages(
    data: Dataset, device: Device, params: Parameters, layout: Layout, rows: RowsInTurn
) -> KeptPages:
    """Return a data set's codes in pages that lie in the host's memory, or in ``cache_dir``."""
    from pyopencl_gbdt.pages.disk_pages import DiskPages

    bounds, folders = rows.schedule.bounds, params.cache_folders
    quantizer = _quantizer(data, device, params, rows.schedule.most_rows, weighted=False)
    if rows.by_column:
        return encoded_columns(quantizer, layout, bounds)
    store: PageStore | None = None
    if folders and not device.holds_memory:
        store = PagesOnPaper(layout, bounds)
    elif folders:
        store = DiskPages(layout, bounds, folders, device.caps)
    return encoded_pages(quantizer, layout, bounds, store)


def _quantizer(
    data: Dataset, device: Device, params: Parameters, page_rows: int, *, weighted: bool
) -> Quantizer:
    """Return a quantizer that plans memory for the codes of so many rows at a time."""
    values, weight = data.features_for(device), data.weight if weighted else None
    levels, rule = most_levels(data), CUT_RULES[params.cut_rule]
    most = max(planned_codes(device, values, params.max_bin, rule), levels)
    planned = bytes_of_codes(device, page_rows, data.n_features, most)
    return Quantizer(
        device, values, weight, params.max_bin, code_bytes=planned, most_levels=levels,
        cut=cut_features(data), exact=params.max_bin_exact, rule=rule,
    )  # fmt: skip


@dataclass
class PagesInTurn:
    """Places the rows of a fit in pages; the other attributes are those of its ``Placement``.

    Attributes
    ----------
    parts_of : callable
    on_paper : callable
        Builds the fit's steps on paper.
    """

    device: Device
    params: Parameters
    data: Dataset
    share: Share
    n_pages: int
    n_slots: int
    parts_of: PartsOf
    on_paper: OnPaper

    def place(self) -> FitParts:
        """Return a fit's parts whose pages take turns; make the pages if there are none yet."""
        data, device = self.data, self.device
        data.forget()  # codes of an earlier fit
        stored = self.share.codes if isinstance(self.share.codes, StoredPages) else None
        layout = self.share.layout if stored is None else stored.layout
        if layout is None:
            self._turned(even_layout(data.n_features))  # raises before columns are cut
            layout = _cut_layout(data, device, self.params)
        parts = self._turned(layout, None if stored is None else stored.bounds)
        rows = parts.rows
        assert isinstance(rows, RowsInTurn)
        made = stored or _stored_pages(data, device, self.params, layout, rows)
        data.end_reading()
        rows.take_turns(made)
        if rows.drawn is not None:
            rows.drawn.make_room()
        return parts

    def _turned(self, layout: Layout, bounds: Sequence[tuple[int, int]] | None = None) -> FitParts:
        """Return a fit's parts for pages that take turns, with no pages yet."""
        parts = self._scheduled(layout, bounds)
        if parts.ways.facts.pages.sends_columns and asked(SENT_COLUMNS) == "auto":
            with suppress(MemoryPlanError):
                other = self._scheduled(layout, bounds, sends=False)
                schedule = other.rows.schedule
                if schedule and not copied_share(schedule):  # all columns stay on the device
                    parts = other
        rows = parts.rows
        assert isinstance(rows, RowsInTurn)
        if not rows.by_column and rows_in_turn.may_gather_rows(parts.nodes, rows.team):
            self._gather(parts, bounds)
        return parts

    def _scheduled(
        self, layout: Layout, bounds: Sequence[tuple[int, int]] | None, *, sends: bool | None = None
    ) -> FitParts:
        one = PageSchedule([(0, self.data.n_rows)], 1)
        parts = self.parts_of(layout, one, sends)
        choose_turns(parts, self.on_paper, bounds, self.n_pages, self.n_slots)
        check(self.on_paper(parts))
        return parts

    def _gather(self, parts: FitParts, bounds: Sequence[tuple[int, int]] | None) -> None:
        """Grow trees on gathered rows, if they fit the device and fewer pages are copied then."""
        rows, nodes = parts.rows, parts.nodes
        assert isinstance(rows, RowsInTurn)
        schedule = rows.schedule
        copied = passes_of_codes(nodes, gathers=False) * copied_share(schedule)
        rows.gather(DrawnRows.of(rows))
        with suppress(MemoryPlanError):
            choose_turns(parts, self.on_paper, bounds, self.n_pages, self.n_slots)
            check(self.on_paper(parts))
            if passes_of_codes(nodes, gathers=True) * copied_share(rows.schedule) < copied:
                return
        rows.gather(None)
        rows.schedule = schedule

    def choose_again(self, parts: FitParts) -> None:
        """Choose again how many of the same pages lie on the device at a time."""
        assert isinstance(parts.rows, RowsInTurn)
        choose_turns(parts, self.on_paper, parts.rows.schedule.bounds)
