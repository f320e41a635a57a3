"""Rows whose pages take turns on the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Launch
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.device.transfers import clear_launch
from pyopencl_gbdt.dtypes import code_dtype
from pyopencl_gbdt.fit.drawn_rows import DrawnRows
from pyopencl_gbdt.fit.page import FitPage, PerRow, RowPart, in_slot
from pyopencl_gbdt.fit.pagewise import CODES, PageWise
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.fit.turns import Turns
from pyopencl_gbdt.fit.visits import Behind, Enlist, RunPass, Visits
from pyopencl_gbdt.fit.visits_in_place import VisitsInPlace
from pyopencl_gbdt.pages.mapped_pages import MappedPages, can_map
from pyopencl_gbdt.pages.page import Page
from pyopencl_gbdt.pages.stored import (
    PagesInMemory,
    StoredPages,
    first_rows,
    lent_codes,
    page_bytes,
)
from pyopencl_gbdt.primitives.packed_codes import empty_codes

_UNKNOWN = Turns([(0, 1)], 1)


@dataclass
class RowsInTurn(FitRows):
    """The rows of a fit whose pages take turns.

    Attributes
    ----------
    turns : Turns
        The pages that take turns, and the slots where they do.
    visits : Visits or None
        What moves the pages; None before there are pages.
    drawn : DrawnRows or None
        The gathered rows that trees grow on.
    codes_to_come : bool
        On paper: whether there are no slots for codes yet.
    """

    turns: Turns = _UNKNOWN
    visits: Visits | None = None
    drawn: DrawnRows | None = None
    codes_to_come: bool = False

    @property
    def page_rows(self) -> list[tuple[int, int]]:
        """First row and number of rows of every page."""
        return list(self.turns.bounds)

    @property
    def row_groups(self) -> int:
        """Work-groups that share the rows of a page evenly, for passes over every row."""
        return self.team_groups or self.arena.device.caps.row_groups(self.turns.most_rows)

    @property
    def pages(self) -> list[FitPage]:
        """The pages, with their arrays if these are allocated."""
        parts = self.parts
        return [FitPage(i, page, parts[i]) for i, page in enumerate(self.page_list)]

    @property
    def parts(self) -> list[RowPart]:
        """The rows of each page, whose arrays lie on the device as one."""
        names, n_slots = self.row_arrays.keys(), self.turns.n_row_slots
        return [
            RowPart(first, n_rows, self.row_groups, self.arena.arrays, i % n_slots, names)
            for i, (first, n_rows) in enumerate(self.turns.bounds)
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
    def pagewise(
        self,
        launches: Sequence[Sequence[Launch]],
        reads: tuple[str, ...] = (),
        writes: tuple[str, ...] = (),
        drops: tuple[str, ...] = (),
        first: Sequence[Sequence[Launch]] | None = None,
        updates: tuple[str, ...] = (),
    ) -> list[Action]:
        """Return the action that puts launches on the list of the next pass."""
        if self.visits is None:  # on paper
            return super().pagewise(launches)
        return [Enlist(self.visits, PageWise(launches, reads, writes, drops, first, updates))]

    def all_rows_done(self) -> list[Action]:
        """Return the action after which all rows have been visited."""
        return [] if self.visits is None else [RunPass(self.visits)]

    def cleared(self, name: str) -> list[Action]:
        """Return the action that clears what pages in turn add to."""
        return [] if self.visits is None else [clear_launch(self.arena[name])]

    def joined(self, actions: Sequence[Action]) -> list[Action]:
        """Return the same actions: what they launch differs from pass to pass."""
        return list(actions)

    def close(self, *, stored: bool) -> None:
        """Free what the host keeps of pages; with ``stored``, their files, too."""
        assert self.visits is not None
        self.visits.close()
        if stored:
            self.visits.stored.close()

    def in_order(self, actions: Sequence[Action]) -> list[Action]:
        """Return the same actions; launches of no page run behind those of pages before them."""
        if self.visits is None:
            return list(actions)
        visits, of_pages = self.visits, (Enlist, RunPass)
        return [a if isinstance(a, of_pages) else Behind(visits, a) for a in actions]

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
        assert self.visits is not None
        shape, dtype = self.row_arrays[name]
        whole = np.broadcast_to(np.asarray(values, dtype), shape.of(self.n_rows))
        bounds = self.turns.bounds
        self.visits.write(name, lambda i: whole[..., bounds[i][0] : sum(bounds[i])])

    def get(self, name: str) -> npt.NDArray[Any]:
        """Return an array of rows, which are its last axis; waits for the device."""
        assert self.visits is not None
        shape, dtype = self.row_arrays[name]
        found = self.visits.read(name)
        parts = zip(found, self.turns.bounds, strict=True)
        return np.concatenate([x.view(dtype).reshape(shape.of(n)) for x, (_, n) in parts], axis=-1)

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
    def code_bytes_of(self, n_rows: int) -> int:
        """Return the bytes of the codes of so many rows."""
        coalesced = self.arena.device.caps.coalesces_reads
        return page_bytes(self.features.layout, n_rows, coalesced=coalesced)

    def slot_bytes(self, n_rows: int) -> dict[str, int]:
        """Return the bytes of each array of a slot for so many rows, ``CODES`` among them."""
        sizes = {CODES: self.code_bytes_of(n_rows)}
        for name, (shape, dtype) in self.row_arrays.items():
            sizes[name] = int(np.prod(shape.of(n_rows), dtype=np.int64)) * dtype.itemsize
        return sizes

    def take_turns(self, stored: StoredPages) -> None:
        """Make room for the codes of some pages at a time; their arrays come with ``allocate``."""
        layout, device = self.features.layout, self.arena.device
        sizes = [self.code_bytes_of(n_rows) for _, n_rows in self.turns.bounds]
        if self.turns.in_place and can_map(stored):
            stored = MappedPages(stored, sizes)
        if self.turns.in_place and isinstance(stored, PagesInMemory):
            self.turns = replace(self.turns, codes_stay=True, n_slots=len(sizes))
        turns = self.turns
        if turns.codes_stay:
            assert isinstance(stored, PagesInMemory)
            slots = [lent_codes(device, stored, i) for i in range(turns.n_slots)]
        else:
            most = turns.most_rows, layout.n_features, code_dtype(layout.most_codes)
            slots = [empty_codes(device, *most, columns=False) for _ in range(turns.n_slots)]
        self.page_list = [
            Page(first_rows(slots[i % turns.n_slots], n_rows), first, n_rows)
            for i, (first, n_rows) in enumerate(turns.bounds)
        ]
        if self.visits is None:
            visits = VisitsInPlace if turns.in_place else Visits
            self.visits = visits(device, stored)
        self.visits.use([{CODES: codes.codes} for codes in slots])

    def ask_for_slots(self) -> None:
        """Ask for the arrays of rows of every slot, and for new codes."""
        turns = self.turns
        rows = {} if turns.in_place else self.row_arrays
        for name, (shape, dtype) in rows.items():
            for slot in range(turns.n_slots):
                self.arena.array(in_slot(name, slot), shape.of(turns.most_rows), dtype)
        if self.codes_to_come and not turns.codes_stay:
            n_bytes = self.code_bytes_of(turns.most_rows)
            for slot in range(turns.n_slots):
                self.arena.array(in_slot(CODES, slot), n_bytes, np.uint8)

    def _fill_slots(self) -> None:
        """Give the arrays of rows to what moves the pages, once they are allocated."""
        assert self.visits is not None
        names, bounds, arrays = self.row_arrays.keys(), self.turns.bounds, self.arena.arrays
        if isinstance(self.visits, VisitsInPlace):
            for name, (shape, dtype) in self.row_arrays.items():
                for index, (_, n_rows) in enumerate(bounds):
                    array = self.visits.rows_of(index, name, shape.of(n_rows), dtype)
                    arrays[in_slot(name, index)] = array
            return
        for slot in range(self.turns.n_slots):
            self.visits.give(slot, {name: arrays[in_slot(name, slot)] for name in names})
        sizes = [self.slot_bytes(n_rows) for _, n_rows in bounds]
        for name in names:
            self.visits.sized(name, [own[name] for own in sizes])
