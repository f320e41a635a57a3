"""Arrays of rows, and the launches of pages: where all pages stay, or where they take turns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import DeviceArray, Launch
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.device.team_sums import Window
from pyopencl_gbdt.device.transfers import clear_launch
from pyopencl_gbdt.dtypes import VALUE, code_dtype
from pyopencl_gbdt.fit.page import FitPage, RowPart, in_slot
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


def _vector(n_rows: int) -> int:
    return n_rows


@dataclass
class RowArrays(FitVariants):
    """What a fit's steps reserve, and how they reach the rows.

    Attributes
    ----------
    arrays : dict of str to DeviceArray
        As planned; see ``Workspace.plan``.
    has_high : bool
        Whether there is room for quanta of more than 32 bits.
    reserved : dict of str to (shape, dtype)
        What the steps have reserved, see ``reserve``.
    reserved_for_pages : dict of str to (shape, dtype)
        What the steps have reserved for every page, see ``reserve_for_pages``.
    row_shapes : dict of str to callable
        Of the reserved arrays that have elements for every row: the shape for so many rows.
    visits : Visits or None
        What moves pages that take turns.
    """

    arrays: dict[str, DeviceArray] = field(default_factory=dict)
    has_high: bool = False
    reserved: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    reserved_for_pages: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    row_shapes: dict[str, ShapeOf] = field(default_factory=dict)
    visits: Visits | None = None

    def reserve(self, name: str, shape: int | tuple[int, ...], dtype: npt.DTypeLike) -> None:
        """Plan an array of a step; call again if the number of trees at a time changes."""
        self.reserved[name] = (shape, dtype)

    def reserve_rows(self, name: str, shape_of: ShapeOf, dtype: npt.DTypeLike) -> None:
        """Plan an array of rows; where pages take turns, every slot has one for its page's rows.

        Parameters
        ----------
        name : str
        shape_of : callable
            Returns the shape for so many rows.
        dtype : numpy dtype
        """
        self.reserve(name, shape_of(self.n_rows), dtype)
        self.row_shapes[name] = shape_of

    def reserve_for_pages(
        self, name: str, shape: int | tuple[int, ...], dtype: npt.DTypeLike
    ) -> None:
        """Plan an array that every page has for itself, see ``FitPage``."""
        self.reserved_for_pages[name] = (shape, dtype)

    def row_arrays(self) -> dict[str, tuple[ShapeOf, np.dtype[Any]]]:
        """Return the arrays of rows: their shape for so many rows, and their dtype."""
        rows: dict[str, tuple[ShapeOf, np.dtype[Any]]] = {"margins": (self.margin_shape, VALUE)}
        if self.keeps_margins:
            rows["before"] = self.margin_shape, VALUE
        rows["labels"] = self._label_shape, VALUE
        if self.weighted:
            rows["weights"] = _vector, VALUE
        if self.given:
            rows |= dict.fromkeys(("given_g", "given_h"), (self._output_shape, VALUE))
        for name, shape_of in self.row_shapes.items():
            rows[name] = shape_of, np.dtype(self.reserved[name][1])
        return rows

    def _label_shape(self, n_rows: int) -> tuple[int, ...]:
        return (n_rows,) if self.n_targets == 1 else (self.n_targets, n_rows)

    def _output_shape(self, n_rows: int) -> tuple[int, ...]:
        return self.n_outputs, n_rows

    def slot_bytes(self, n_rows: int) -> dict[str, int]:
        """Return the bytes of each array of a slot for so many rows, ``CODES`` among them."""
        coalesced = self.device.caps.coalesces_reads
        sizes = {CODES: page_bytes(self.layout, n_rows, coalesced=coalesced)}
        for name, (shape_of, dtype) in self.row_arrays().items():
            sizes[name] = int(np.prod(shape_of(n_rows), dtype=np.int64)) * dtype.itemsize
        return sizes

    def forget_reserved(self) -> None:
        """Forget what the steps have reserved; other steps reserve other arrays."""
        for known in (self.reserved, self.reserved_for_pages, self.row_shapes):
            known.clear()

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
        names, n_slots = self.row_arrays().keys(), self.turns.n_row_slots
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
        shape_of, dtype = self.row_arrays()[name]
        whole = np.broadcast_to(np.asarray(values, dtype), shape_of(self.n_rows))
        bounds = self.turns.bounds
        self.visits.write(name, lambda i: whole[..., bounds[i][0] : sum(bounds[i])])

    def rows(self, name: str) -> npt.NDArray[Any]:
        """Return an array of rows, which are its last axis; waits for the device."""
        if self.visits is None:
            return self[name].get()
        assert self.turns is not None
        shape_of, dtype = self.row_arrays()[name]
        found = self.visits.read(name)
        parts = zip(found, self.turns.bounds, strict=True)
        return np.concatenate([x.view(dtype).reshape(shape_of(n)) for x, (_, n) in parts], axis=-1)

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
        sizes = [self.slot_bytes(n_rows)[CODES] for _, n_rows in self.turns.bounds]
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

    def fill_slots(self) -> None:
        """Give the arrays of rows to what moves the pages, once they are allocated."""
        assert self.visits is not None
        assert self.turns is not None
        names, bounds = self.row_arrays().keys(), self.turns.bounds
        if isinstance(self.visits, VisitsInPlace):
            for name, (shape_of, dtype) in self.row_arrays().items():
                for index, (_, n_rows) in enumerate(bounds):
                    array = self.visits.rows_of(index, name, shape_of(n_rows), dtype)
                    self.arrays[in_slot(name, index)] = array
            return
        for slot in range(self.turns.n_slots):
            self.visits.give(slot, {name: self.arrays[in_slot(name, slot)] for name in names})
        sizes = [self.slot_bytes(n_rows) for _, n_rows in bounds]
        for name in names:
            self.visits.sized(name, [own[name] for own in sizes])
