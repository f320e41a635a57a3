"""How large pages are that take turns on the device, and how many of them lie there at a time."""

from __future__ import annotations

from collections.abc import Sequence

from pyopencl_gbdt.errors import MemoryPlanError
from pyopencl_gbdt.fit import page_schedule
from pyopencl_gbdt.fit.page_schedule import PageSchedule, evenly
from pyopencl_gbdt.fit.parts import FitParts, OnPaper, smaller_trees
from pyopencl_gbdt.fit.rows_in_turn import RowsInTurn
from pyopencl_gbdt.pages.stored import PagesInMemory

#: Bytes of a page and its arrays of rows, if the device has room for more slots of this size: a
#: copy then takes milliseconds, against some 0.1 ms for the launches of a visit.
PAGE_BYTES = 256 * 1024 * 1024
#: Most pages where memory allows: every page has its own nodes, and launches in every level.
MOST_PAGES = 96
#: Slots that a small memory is divided into: one is worked on, one is on its way, and the others
#: keep pages from a pass to the next.
FEW_SLOTS = 4
#: Fewest slots: copies run beside the kernels. For a device that works in the host's memory, pages
#: are that large, as each adds a node's whole histogram to the others': 1 M x 28 from disk, depth
#: 8, 2 cores, took 81 and 90 ms a round with 8 pages and 2 slots, 101 and 102 with 12 and 3.
LEAST_SLOTS = 2
#: Share of what pages share leaves, that making a page may take.
_MADE = 0.5
#: Share of the free memory that slots and shared arrays may take.
_SHARE = 0.97


def choose_turns(
    parts: FitParts,
    on_paper: OnPaper,
    bounds: Sequence[tuple[int, int]] | None = None,
    n_pages: int = 0,
    n_slots: int = 0,
) -> None:
    """Set ``parts.rows.schedule``.

    Parameters
    ----------
    parts : FitParts
        All trees of a round are grown at a time: they share the passes over pages.
    on_paper : callable
        Builds the fit's steps on paper.
    bounds : sequence of (int, int), or None
        First row and number of rows of existing pages; None chooses pages that fit the memory.
    n_pages, n_slots : int
        Numbers to take; 0 is as many as suit the memory.

    Raises
    ------
    MemoryPlanError
        If fewer than two pages fit the device at a time.
    """
    rows, device = parts.rows, parts.arena.device
    assert isinstance(rows, RowsInTurn)
    given = None if bounds is None else list(bounds)
    chosen = given or evenly(rows.n_rows, n_pages or FEW_SLOTS)
    in_place = page_schedule.works_in_place(device)
    stay = in_place and _codes_in_memory(rows)
    for _ in range(3):  # what pages share depends little on their number
        rows.schedule = tried = PageSchedule(chosen, 1, in_place, stay)
        built = _Built(on_paper(parts))
        if built.room <= 0 or given is not None or n_pages:
            break  # smaller pages would not help, or are not wanted
        chosen = evenly(rows.n_rows, built.suited_pages())
        if tried.bounds == chosen:
            break
    if tried.bounds != chosen:
        rows.schedule = tried = PageSchedule(chosen, 1, in_place, stay)
        built = _Built(on_paper(parts))
    largest = tried.most_rows
    slot = built.rows.on_device(largest).total_bytes
    fits = int(built.room // max(1, slot))
    least = min(LEAST_SLOTS, len(chosen))
    slots = min(len(chosen), n_slots or fits)
    if fits < least:
        slots_bytes, shared = least * slot, built.shared
        raise MemoryPlanError(
            f"training from pages that take turns needs {shared + slots_bytes} bytes on "
            f"{device.caps.label}, {slots_bytes} of them for {least} pages of {largest} rows at "
            f"a time; it has {device.caps.global_bytes}; {smaller_trees(rows.nodes.params)}, or "
            "use a device with more memory"
        )
    rows.schedule = PageSchedule(chosen, len(chosen) if stay else slots, in_place, stay)


def _codes_in_memory(rows: RowsInTurn) -> bool:
    """Return whether the codes of all pages lie in the host's memory, or will."""
    given, files = rows.share.codes, rows.nodes.params.cache_folders
    return isinstance(given, PagesInMemory) if given is not None else not files


class _Built:
    """A fit that was built on paper.

    Attributes
    ----------
    shared : int
        Bytes of the arrays that pages share.
    room : float
        Bytes that are left for slots.
    """

    def __init__(self, parts: FitParts) -> None:
        assert isinstance(parts.rows, RowsInTurn)
        self.rows, device, arena = parts.rows, parts.arena.device, parts.arena
        there = device.caps.global_bytes - device.allocated_bytes - arena.beside.total_bytes
        self.shared = arena.plan.total_bytes
        self.room = _SHARE * there - self.shared

    def suited_pages(self) -> int:
        """Return the number of pages whose size suits the memory."""
        n_rows, every = self.rows.n_rows, self.rows.in_page(self.rows.n_rows)
        whole = self.rows.on_device(n_rows).total_bytes or every.total_bytes
        slot = self.room / (LEAST_SLOTS if self.rows.schedule.in_place else FEW_SLOTS)
        size = max(min(slot, PAGE_BYTES), min(slot, whole / MOST_PAGES), 1)
        fewest = -(-whole // int(size))
        most_bytes = self.rows.arena.device.caps.max_alloc_bytes
        largest = max(map(every.bytes_of, every.arrays))
        made = self.rows.while_made(n_rows)
        if made.arrays:
            fewest = max(fewest, -(-made.total_bytes // max(1, int(_MADE * self.room))))
            largest = max(largest, *map(made.bytes_of, made.arrays))
        by_alloc = -(-largest // max(1, most_bytes))
        by_numbers = -(-self.rows.nodes.n_trees * n_rows // (2**32 - 2**16))
        return max(1, fewest, by_alloc, by_numbers)
