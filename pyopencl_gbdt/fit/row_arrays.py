"""Arrays of rows, and the launches of pages: where all pages stay, or where they take turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import DeviceArray, Launch
from pyopencl_gbdt.device.arena import Arena, Contents
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.device.team_sums import Window
from pyopencl_gbdt.device.transfers import clear_launch
from pyopencl_gbdt.dtypes import VALUE, code_dtype
from pyopencl_gbdt.fit.page import FitPage, RowPart, in_slot, name_of
from pyopencl_gbdt.fit.pagewise import CODES, PageWise
from pyopencl_gbdt.fit.variants import FitVariants
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

#: The lists of rows: of nodes at even depths, and at odd ones.
LISTS = ("even_rows", "odd_rows")
#: Returns the shape of an array of rows for so many rows.
ShapeOf = Callable[[int], int | tuple[int, ...]]


def _for_each(count: int, n_rows: int) -> tuple[int, ...]:
    """Return the shape of so many numbers of every row."""
    return (n_rows,) if count == 1 else (count, n_rows)


#: Returns the first values of an array of rows.
Values = Callable[[], npt.ArrayLike]


@dataclass
class RowArrays(FitVariants):
    """The arrays of a fit's steps, and how they reach the rows.

    Attributes
    ----------
    arena : Arena
        All arrays that the fit's steps have asked for.
    has_high : bool
        Whether there is room for quanta of more than 32 bits.
    row_arrays : dict of str to (callable, dtype)
        The arrays that have elements for every row: the shape for so many rows, and the dtype.
    first_values : dict of str to callable
        What arrays of rows will hold at first.
    codes_to_come : bool
        On paper: whether pages that take turns have no slots for their codes yet.
    visits : Visits or None
        What moves pages that take turns.
    """

    arena: Arena = field(init=False)
    has_high: bool = False
    row_arrays: dict[str, tuple[ShapeOf, np.dtype[Any]]] = field(default_factory=dict)
    first_values: dict[str, Values] = field(default_factory=dict)
    codes_to_come: bool = False
    visits: Visits | None = None

    def __post_init__(self) -> None:
        self.arena = Arena(self.device)

    @property
    def arrays(self) -> dict[str, DeviceArray]:
        """The arrays by name."""
        return self.arena.arrays

    def array(
        self,
        name: str,
        shape: int | tuple[int, ...],
        dtype: npt.DTypeLike,
        contents: Contents = None,
    ) -> DeviceArray:
        """Return an array that all pages share; see ``Arena.array``."""
        return self.arena.array(name, shape, dtype, contents)

    def array_of_rows(
        self, name: str, shape_of: ShapeOf, dtype: npt.DTypeLike, values: Values | None = None
    ) -> None:
        """Ask for an array of rows; where pages take turns, every slot has one for its page's rows.

        Parameters
        ----------
        name : str
        shape_of : callable
            Returns the shape for so many rows; it does not hold the workspace.
        dtype : numpy dtype
        values : callable or None
            Returns what the array of all rows holds at first.
        """
        self.row_arrays[name] = shape_of, np.dtype(dtype)
        if self.turns is None:
            self.array(name, shape_of(self.n_rows), dtype)
        if values is not None and self.device.holds_memory:
            self.first_values[name] = values
            if self.arena.has_memory:
                self.fill_rows()

    def array_of_pages(
        self,
        name: str,
        shape: int | tuple[int, ...],
        dtype: npt.DTypeLike,
        contents: Contents = None,
    ) -> None:
        """Ask for an array that every page has for itself, see ``FitPage``."""
        for index in range(len(self.page_rows)):
            self.array(name_of(name, index), shape, dtype, contents)

    def own_arrays(self) -> None:
        """Ask for what belongs to no step: what is known of every row, and tables of bins."""
        numbers = {"margins": self.n_outputs, "labels": self.n_targets}
        if self.keeps_margins:
            numbers["before"] = self.n_outputs
        if self.weighted:
            numbers["weights"] = 1
        for name, count in numbers.items():
            self.array_of_rows(name, partial(_for_each, count), VALUE)
        outputs = self.n_outputs
        for name in ("given_g", "given_h") if self.given else ():
            self.array_of_rows(name, lambda n: (outputs, n), VALUE)
        self._tables()

    def _tables(self) -> None:
        """Ask for tables of bins, and for what kernels are bound to in place of rows' arrays."""
        layout = self.layout
        if not self.weighted:
            self.array("weights", 1, VALUE)
        if not self.given:
            for name in ("given_g", "given_h"):
                self.array(name, (1, 1), VALUE)
        rate = [self.leaf_rate(self.params.learning_rate)]
        self.array("leaf_rate", 1, np.float32, rate)
        for name in ("feature_offset", "feature_bins", "fullest"):
            table = getattr(layout, name)
            self.array(name, table.size, np.uint32, table)
        self.array("thresholds", layout.n_codes, VALUE, layout.thresholds)

    def code_bytes_of(self, n_rows: int) -> int:
        """Return the bytes of the codes of so many rows, in a page that takes turns."""
        return page_bytes(self.layout, n_rows, coalesced=self.device.caps.coalesces_reads)

    def slot_bytes(self, n_rows: int) -> dict[str, int]:
        """Return the bytes of each array of a slot for so many rows, ``CODES`` among them."""
        sizes = {CODES: self.code_bytes_of(n_rows)}
        for name, (shape_of, dtype) in self.row_arrays.items():
            sizes[name] = int(np.prod(shape_of(n_rows), dtype=np.int64)) * dtype.itemsize
        return sizes

    def __getitem__(self, name: str) -> DeviceArray:
        return self.arrays[name]

    @property
    def pages(self) -> list[FitPage]:
        """The pages, with their arrays if these are allocated."""
        if self.turns is None:
            whole = self.parts[0]
            return [FitPage(i, page, whole) for i, page in enumerate(self.page_list)]
        parts = self.parts
        return [FitPage(i, page, parts[i]) for i, page in enumerate(self.page_list)]

    @property
    def parts(self) -> list[RowPart]:
        """The rows whose arrays lie on the device as one: all rows, or each page's."""
        if self.turns is None:
            return [RowPart(0, self.n_rows, self.row_groups, self.arrays)]
        names, n_slots = self.row_arrays.keys(), self.turns.n_row_slots
        return [
            RowPart(first, n_rows, self.row_groups, self.arrays, i % n_slots, names)
            for i, (first, n_rows) in enumerate(self.turns.bounds)
        ]

    # -- pages in turn ---------------------------------------------------------------------
    def pagewise(
        self,
        launches: Sequence[Sequence[Launch]],
        reads: tuple[str, ...] = (),
        writes: tuple[str, ...] = (),
        drops: tuple[str, ...] = (),
        first: Sequence[Sequence[Launch]] | None = None,
        updates: tuple[str, ...] = (),
    ) -> list[Action]:
        """Return the actions of every page, or part of the rows.

        Where pages stay on the device, these are their launches, page after page. Where they take
        turns, one action puts them on the list of the next pass; see ``PageWise``.
        """
        if self.visits is None:
            return [launch for own in launches for launch in own]
        return [Enlist(self.visits, PageWise(launches, reads, writes, drops, first, updates))]

    def all_rows_done(self) -> list[Action]:
        """Return the action after which all rows have been visited; none where pages stay."""
        return [] if self.visits is None else [RunPass(self.visits)]

    def sum(
        self, array: DeviceArray, window: Window | None = None, dtype: npt.DTypeLike | None = None
    ) -> list[Action]:
        """Return the actions after which an array holds the sum over all pages and devices."""
        return [*self.all_rows_done(), *self.team.sum(array, window, dtype)]

    def cleared(self, name: str) -> list[Action]:
        """Return the action that clears what pages in turn add to; none where pages stay."""
        return [] if self.visits is None else [clear_launch(self[name])]

    def in_order(self, actions: Sequence[Action]) -> list[Action]:
        """Return the same actions; launches of no page run behind those of pages before them."""
        if self.visits is None:
            return list(actions)
        visits, of_pages = self.visits, (Enlist, RunPass)
        return [a if isinstance(a, of_pages) else Behind(visits, a) for a in actions]

    def set_rows(self, name: str, values: npt.ArrayLike) -> None:
        """Set an array of rows from host values that broadcast to its shape; waits."""
        if self.visits is None:
            array = self[name]
            array.set(np.broadcast_to(np.asarray(values, array.dtype), array.shape))
            return
        assert self.turns is not None
        shape_of, dtype = self.row_arrays[name]
        whole = np.broadcast_to(np.asarray(values, dtype), shape_of(self.n_rows))
        bounds = self.turns.bounds
        self.visits.write(name, lambda i: whole[..., bounds[i][0] : sum(bounds[i])])

    def rows(self, name: str) -> npt.NDArray[Any]:
        """Return an array of rows, which are its last axis; waits for the device."""
        if self.visits is None:
            return self[name].get()
        assert self.turns is not None
        shape_of, dtype = self.row_arrays[name]
        found = self.visits.read(name)
        parts = zip(found, self.turns.bounds, strict=True)
        return np.concatenate([x.view(dtype).reshape(shape_of(n)) for x, (_, n) in parts], axis=-1)

    def fill_rows(self) -> None:
        """Give the arrays of rows their first values, those that have some."""
        values, self.first_values = self.first_values, {}
        for name, of in values.items():
            self.set_rows(name, of())

    # -- lists of rows -----------------------------------------------------------------------
    @property
    def moves_last_rows(self) -> bool:
        """Whether rows move to the children of the last step, too, for the margins' update."""
        return self.policy.moves_last_rows and (self.turns is None or self.leaves_have_lists)

    @property
    def leaves_have_lists(self) -> bool:
        """Whether margins are updated by the lists of rows, which leaves keep until then."""
        return self.columns is None and self.variant("update_margins").name != "walk"

    def listed_rows(self, step: int) -> tuple[str, ...]:
        """Return the lists that a step's histograms and partition read, level by level."""
        if self.policy.picks_leaves or (step == 0 and not self.lists_drawn):
            return ()
        return (LISTS[step % 2],)

    def moved_rows(self, step: int) -> tuple[str, ...]:
        """Return the list that a step's partition writes whole, level by level."""
        if self.policy.picks_leaves or self.leaves_have_lists:
            return ()
        return (LISTS[(step + 1) % 2],)

    def updated_rows(self, step: int) -> tuple[str, ...]:
        """Return the lists of which a step's partition writes the rows of single nodes."""
        if self.policy.picks_leaves:
            return LISTS
        return (LISTS[(step + 1) % 2],) if self.leaves_have_lists else ()

    # -- pages in slots ----------------------------------------------------------------------
    def take_turns(self, stored: StoredPages) -> None:
        """Make room for the codes of some pages at a time; their arrays come with ``allocate``."""
        assert self.turns is not None
        layout = self.layout
        sizes = [self.code_bytes_of(n_rows) for _, n_rows in self.turns.bounds]
        if self.turns.in_place and can_map(stored):
            stored = MappedPages(stored, sizes)
        if self.turns.in_place and isinstance(stored, PagesInMemory):
            self.turns = replace(self.turns, codes_stay=True, n_slots=len(sizes))
        turns = self.turns
        if turns.codes_stay:
            assert isinstance(stored, PagesInMemory)
            slots = [lent_codes(self.device, stored, i) for i in range(turns.n_slots)]
        else:
            most = turns.most_rows, layout.n_features, code_dtype(layout.most_codes)
            slots = [empty_codes(self.device, *most, columns=False) for _ in range(turns.n_slots)]
        self.page_list = [
            Page(first_rows(slots[i % turns.n_slots], n_rows), first, n_rows)
            for i, (first, n_rows) in enumerate(turns.bounds)
        ]
        if self.visits is None:
            visits = VisitsInPlace if turns.in_place else Visits
            self.visits = visits(self.device, stored)
        self.visits.use([{CODES: codes.codes} for codes in slots])

    def ask_for_slots(self) -> None:
        """Ask for the arrays of rows of every slot, where pages take turns; and for new codes."""
        turns = self.turns
        if turns is None:
            return
        rows = {} if turns.in_place else self.row_arrays
        for name, (shape_of, dtype) in rows.items():
            for slot in range(turns.n_slots):
                self.array(in_slot(name, slot), shape_of(turns.most_rows), dtype)
        if self.codes_to_come and not turns.codes_stay:
            for slot in range(turns.n_slots):
                self.array(in_slot(CODES, slot), self.code_bytes_of(turns.most_rows), np.uint8)

    def fill_slots(self) -> None:
        """Give the arrays of rows to what moves the pages, once they are allocated."""
        assert self.visits is not None
        assert self.turns is not None
        names, bounds = self.row_arrays.keys(), self.turns.bounds
        if isinstance(self.visits, VisitsInPlace):
            for name, (shape_of, dtype) in self.row_arrays.items():
                for index, (_, n_rows) in enumerate(bounds):
                    array = self.visits.rows_of(index, name, shape_of(n_rows), dtype)
                    self.arrays[in_slot(name, index)] = array
            return
        for slot in range(self.turns.n_slots):
            self.visits.give(slot, {name: self.arrays[in_slot(name, slot)] for name in names})
        sizes = [self.slot_bytes(n_rows) for _, n_rows in bounds]
        for name in names:
            self.visits.sized(name, [own[name] for own in sizes])
