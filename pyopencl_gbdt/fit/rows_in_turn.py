"""Rows whose pages take turns on the device."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device.arena import Arena, MemoryPlan
from pyopencl_gbdt.device.base import MOST_Y
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.device.team.member import Team
from pyopencl_gbdt.device.transfers import clear_launch
from pyopencl_gbdt.fit.nodes import Nodes
from pyopencl_gbdt.fit.page import FitPage, PerRow, RowPart, in_slot
from pyopencl_gbdt.fit.page_schedule import CODES, PageSchedule, PageWise
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.fit.share import Share
from pyopencl_gbdt.fit.ways import Ways
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.pages.page import AnyPage, Page
from pyopencl_gbdt.pages.stored import (
    KeptPages,
    PagesInMemory,
    StoredPages,
    first_rows,
    lent_codes,
    page_shape,
)
from pyopencl_gbdt.primitives.packed_codes import code_dtype, empty_codes

if TYPE_CHECKING:
    from pyopencl_gbdt.fit.page_stream import PageStream

#: Room beyond the rows that are expected. The classes of importance are 12 % wide, so that their
#: middle is 6 % off at most; chance adds a few standard deviations.
_ROOM, _DEVIATIONS, _FEW = 1.08, 8, 64


def room_for(rate: float, n_rows: int) -> int:
    """Return the rows for which there is room, if each of ``n_rows`` is drawn with this chance."""
    spread = _DEVIATIONS * math.sqrt(n_rows * rate)
    return min(n_rows, int(_ROOM * rate * n_rows + spread) + _FEW)


@dataclass
class DrawnRows(FitRows):
    """The rows that a tree draws from pages that take turns: gathered to one page that stays.

        pages in turn  |a b c d|e f g h|i j k l|      draw and gather: one pass over the codes
        drawn rows     |b e f k|                      the levels of the tree
        pages in turn  |a b c d|e f g h|i j k l|      margins: one pass over the codes

    All arrays that trees grow with are the arrays of the fit; ``n_rows`` is the most rows drawn.
    """

    @classmethod
    def of(cls, rows: FitRows) -> DrawnRows:
        """Return the drawn rows of a fit whose pages take turns, and that grows a tree a round."""
        return cls(
            rows.arena, rows.nodes, rows.features, rows.ways,
            room_for(rows.nodes.params.drawn_share, rows.n_rows),
            weighted=rows.weighted, weight_bits=rows.weight_bits, weight_shift=rows.weight_shift,
            given=rows.given, share=replace(rows.share, codes=None),
        )  # fmt: skip

    @property
    def page_rows(self) -> list[tuple[int, int]]:
        """The page of all drawn rows."""
        return [(0, self.n_rows)]

    def make_room(self) -> None:
        """Allocate the codes of the drawn rows; their other arrays come with those of the fit."""
        layout = self.features.layout
        sizes = self.n_rows, layout.n_features, code_dtype(layout.most_codes)
        codes = empty_codes(self.arena.device, *sizes, columns=False)
        self.page_list = [Page(codes, 0, self.n_rows)]


def may_gather_rows(nodes: Nodes, team: Team) -> bool:
    """Tell whether a fit whose pages take turns may grow its trees on gathered rows.

    That is one tree a round, of which no more rows are drawn than expected, on one device.
    """
    drawn = nodes.params.leaves_out_rows and nodes.params.sampling_method != "goss"
    return drawn and nodes.round_trees == 1 and not nodes.renews and team.size == 1


def passes_of_codes(nodes: Nodes, *, gathers: bool) -> int:
    """Return the passes over codes that a tree takes."""
    return 2 if gathers else nodes.n_levels + 1


def copied_share(schedule: PageSchedule) -> float:
    """Return the share of the pages that a pass copies to the device."""
    return 1 - min(1.0, schedule.n_slots / len(schedule.bounds))


class ColumnsTaken:
    """The action after which pages bring other columns; it runs the stream's actions itself."""

    name = ""

    def __call__(self) -> None:
        raise NotImplementedError


_UNKNOWN = PageSchedule([(0, 1)], 1)


@dataclass
class RowsInTurn(FitRows):
    """The rows of a fit whose pages take turns.

    Attributes
    ----------
    schedule : PageSchedule
        The pages that take turns on the device, and the slots of memory that they share.
    stream : PageStream or None
        What moves the pages; None before there are pages.
    drawn : DrawnRows or None
        The gathered rows that trees grow on.
    codes_to_come : bool
        On paper: whether there are no slots for codes yet.
    """

    schedule: PageSchedule = _UNKNOWN
    stream: PageStream | None = None
    drawn: DrawnRows | None = None
    codes_to_come: bool = False

    #: Whether pages lie column by column outside the device.
    by_column: ClassVar[bool] = False

    @property
    def page_rows(self) -> list[tuple[int, int]]:
        """First row and number of rows of every page."""
        return list(self.schedule.bounds)

    @property
    def row_groups(self) -> int:
        """Work-groups that share the rows of a page evenly, for passes over every row."""
        return self.team_groups or self.arena.device.caps.row_groups(self.schedule.most_rows)

    @property
    def pages(self) -> list[FitPage]:
        """The pages, with their arrays if these are allocated."""
        parts = self.parts
        return [FitPage(i, page, parts[i]) for i, page in enumerate(self.page_list)]

    @property
    def parts(self) -> list[RowPart]:
        """The rows of each page, whose arrays lie on the device as one."""
        names, n_slots = self.row_arrays.keys(), self.schedule.n_row_slots
        return [
            RowPart(first, n_rows, self.row_groups, self.arena.arrays, i % n_slots, names)
            for i, (first, n_rows) in enumerate(self.schedule.bounds)
        ]

    def kinds(self) -> dict[str, str]:
        """Return how the rows lie on the device, for ``Model.variants``."""
        gathered = {} if self.drawn is None else {"drawn rows": "gathered"}
        return {"page": "streamed", **gathered}

    def gather(self, drawn: DrawnRows | None) -> None:
        """Grow trees on gathered rows, or on the pages."""
        self.drawn = drawn
        self.ways.learn(gathers=drawn is not None)

    # -- launches of pages -------------------------------------------------------------------
    def _queued(self, action: PageWise) -> list[Action]:
        """Return the action that puts launches on the list of the next pass."""
        from pyopencl_gbdt.fit.page_stream import QueuePage

        if self.stream is None:  # on paper
            return super()._queued(action)
        return [QueuePage(self.stream, action)]

    def all_rows_done(self) -> list[Action]:
        """Return the action after which all rows have been visited."""
        from pyopencl_gbdt.fit.page_stream import RunPass

        return [] if self.stream is None else [RunPass(self.stream)]

    def cleared(self, name: str) -> list[Action]:
        """Return the action that clears what pages in turn add to."""
        return [] if self.stream is None else [clear_launch(self.arena[name])]

    def joined(self, actions: Sequence[Action]) -> list[Action]:
        """Return the same actions: what they launch differs from pass to pass."""
        return list(actions)

    def close(self, *, stored: bool) -> None:
        """Free what the host keeps of pages; with ``stored``, their files, too."""
        assert self.stream is not None
        self.stream.close()
        if stored:
            self.stream.stored.close()

    def in_order(self, actions: Sequence[Action]) -> list[Action]:
        """Return the same actions; launches of no page run behind those of pages before them."""
        from pyopencl_gbdt.fit.page_stream import LaunchAfter, QueuePage, RunPass

        if self.stream is None:
            return list(actions)
        stream, of_pages = self.stream, (QueuePage, RunPass, ColumnsTaken)
        return [a if isinstance(a, of_pages) else LaunchAfter(stream, a) for a in actions]

    # -- lists of rows -----------------------------------------------------------------------
    @property
    def adds_histograms(self) -> bool:
        """Return True: pages add to the same histograms."""
        return True

    @property
    def moves_last_rows(self) -> bool:
        """Whether rows move to the children of the last step, too, for the margins' update."""
        return self.nodes.policy.moves_last_rows and self.leaves_have_lists

    @property
    def lists_drawn(self) -> bool:
        """Whether roots have a list of the rows that were drawn, here rather than gathered."""
        return self.drawn is None and super().lists_drawn

    # -- arrays ------------------------------------------------------------------------------
    def _ask(self, name: str, shape: PerRow, dtype: npt.DTypeLike) -> None:
        """Ask for nothing: ``ask_for_slots`` asks for the arrays of every slot."""

    def allocate(self) -> None:
        """Bring all arrays that steps have asked for to the device, with their contents."""
        self.arena.allocate(joins=False)  # arrays of slots are written beside the kernels
        self._fill_slots()
        self.fill()

    def set(self, name: str, values: npt.ArrayLike) -> None:
        """Set an array of rows from host values that broadcast to its shape; waits."""
        assert self.stream is not None
        shape, dtype = self.row_arrays[name]
        whole = np.broadcast_to(np.asarray(values, dtype), shape.of(self.n_rows))
        bounds = self.schedule.bounds
        self.stream.write(name, lambda i: whole[..., bounds[i][0] : sum(bounds[i])])

    def get(self, name: str) -> npt.NDArray[Any]:
        """Return an array of rows, which are its last axis; waits for the device."""
        assert self.stream is not None
        shape, dtype = self.row_arrays[name]
        found = self.stream.read(name)
        parts = zip(found, self.schedule.bounds, strict=True)
        return np.concatenate([x.view(dtype).reshape(shape.of(n)) for x, (_, n) in parts], axis=-1)

    def trees_fit(self, n_trees: int, fits: Callable[[], bool]) -> bool:
        """Tell whether so many trees can be grown at a time; pages are made to fit the memory."""
        return n_trees <= MOST_Y

    def kept(self) -> MemoryPlan:
        """Return the host's memory for all pages, or for those that are read ahead from files."""
        kept = self.in_page(self.n_rows)
        if self.nodes.params.cache_folders:  # two pages are read ahead, or to the slots themselves
            del kept.arrays[CODES]
            for place in range(0 if self.schedule.in_place else 2):
                kept.add(in_slot(CODES, place), *self._codes_of(self.schedule.most_rows))
        return kept

    def make_room_for_high_words(self, turn: Callable[[], None]) -> None:
        """Make room for them: fewer pages lie on the device at a time, as ``turn`` chooses.

        Where trees grow on gathered rows, they then grow on the pages, without high words.
        """
        assert self.stream is not None
        self.has_high, stored = self.drawn is None, self.stream.stored
        self.stream.use([])
        self.forget_pages()
        self.gather(None)
        turn()
        self.take_turns(stored)

    def on_paper(self, arena: Arena, ways: Ways, share: Share) -> FitRows:
        """Return the same rows on paper, with codes of drawn rows that are there or to come."""
        made = replace(self, arena=arena, ways=ways, row_arrays={}, share=share)
        made.stream, made.codes_to_come = None, not self.page_list
        if self.drawn is not None:
            made.drawn = drawn = replace(self.drawn, arena=arena, ways=ways, row_arrays={})
            if not drawn.page_list:
                arena.array("codes of drawn rows", *self._codes_of(drawn.n_rows))
                drawn.page_list = [Page(drawn.paper_codes(drawn.n_rows), 0, drawn.n_rows)]
        return made

    def paper_pages(self) -> list[AnyPage]:
        """Return a page of the largest size; its memory is that of slots."""
        most = self.schedule.most_rows
        return [Page(self.paper_codes(most), 0, most)]

    def forget_steps(self) -> None:
        """Let go of what the steps have asked for; others may be built then."""
        super().forget_steps()
        if self.drawn is not None:
            self.drawn.row_arrays = {}

    def forget_pages(self) -> None:
        """Let go of all pages and arrays, those of gathered rows included."""
        super().forget_pages()
        if self.drawn is not None:
            self.drawn.page_list = ()

    # -- pages in slots ----------------------------------------------------------------------
    def _codes_of(self, n_rows: int) -> tuple[tuple[int, ...], Any]:
        """Return shape and dtype of the codes of so many rows."""
        coalesced = self.arena.device.caps.coalesces_reads
        return page_shape(self.features.layout, n_rows, coalesced=coalesced)

    def in_page(self, n_rows: int) -> MemoryPlan:
        """Return the arrays of a page of so many rows, ``CODES`` among them."""
        own = {name: (shape.of(n_rows), dtype) for name, (shape, dtype) in self.row_arrays.items()}
        return MemoryPlan({CODES: self._codes_of(n_rows), **own})

    def while_made(self, n_rows: int) -> MemoryPlan:
        """Return the memory that making a page takes, beyond the page's own in training."""
        return MemoryPlan()

    def on_device(self, n_rows: int) -> MemoryPlan:
        """Return those of them that lie in a slot; others stay in the host's memory."""
        found, schedule = self.in_page(n_rows), self.schedule
        if schedule.in_place:
            found.arrays = {} if schedule.codes_stay else {CODES: found.arrays[CODES]}
        return found

    def take_turns(self, stored: KeptPages) -> None:
        """Make room for the codes of some pages at a time; their arrays come with ``allocate``."""
        from pyopencl_gbdt.fit.page_stream import PageStream
        from pyopencl_gbdt.fit.stream_in_place import MappedPages, StreamInPlace, can_map
        from pyopencl_gbdt.pages.codecs import page_sizes

        assert isinstance(stored, StoredPages)
        layout, device = self.features.layout, self.arena.device
        if self.schedule.in_place and can_map(stored):
            coalesced = device.caps.coalesces_reads
            sizes = page_sizes(layout, self.schedule.bounds, coalesced=coalesced)
            stored = MappedPages(stored, sizes)
        if self.schedule.in_place and isinstance(stored, PagesInMemory):
            n_slots = len(self.schedule.bounds)
            self.schedule = replace(self.schedule, codes_stay=True, n_slots=n_slots)
        schedule = self.schedule
        if schedule.codes_stay:
            assert isinstance(stored, PagesInMemory)
            slots = [lent_codes(device, stored, i) for i in range(schedule.n_slots)]
        else:
            most = schedule.most_rows, layout.n_features, code_dtype(layout.most_codes)
            slots = [empty_codes(device, *most, columns=False) for _ in range(schedule.n_slots)]
        self.page_list = [
            Page(first_rows(slots[i % schedule.n_slots], n_rows), first, n_rows)
            for i, (first, n_rows) in enumerate(schedule.bounds)
        ]
        if self.stream is None:
            stream = StreamInPlace if schedule.in_place else PageStream
            self.stream = stream(device, stored)
        self.stream.use([{CODES: codes.codes} for codes in slots])

    def ask_for_slots(self) -> None:
        """Ask for the arrays of rows of every slot, and for new codes."""
        for name, wanted in self.on_device(self.schedule.most_rows).arrays.items():
            for slot in range(self.schedule.n_slots if name != CODES or self.codes_to_come else 0):
                self.arena.array(in_slot(name, slot), *wanted)

    def _fill_slots(self) -> None:
        """Give the arrays of rows to the object that moves the pages, once they are allocated."""
        from pyopencl_gbdt.fit.stream_in_place import StreamInPlace

        assert self.stream is not None
        names, bounds, arrays = self.row_arrays.keys(), self.schedule.bounds, self.arena.arrays
        if isinstance(self.stream, StreamInPlace):
            for name, (shape, dtype) in self.row_arrays.items():
                for index, (_, n_rows) in enumerate(bounds):
                    array = self.stream.rows_of(index, name, shape.of(n_rows), dtype)
                    arrays[in_slot(name, index)] = array
            return
        for slot in range(self.schedule.n_slots):
            self.stream.give(slot, {name: arrays[in_slot(name, slot)] for name in names})
        pages = [self.in_page(n_rows) for _, n_rows in bounds]
        for name in names:
            self.stream.sized(name, [page.bytes_of(name) for page in pages])
