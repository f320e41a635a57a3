"""How large pages are that take turns on the device, and how many of them lie there at a time."""

from __future__ import annotations

from collections.abc import Sequence

from pyopencl_gbdt.errors import MemoryPlanError
from pyopencl_gbdt.fit import turns
from pyopencl_gbdt.fit.pagewise import CODES
from pyopencl_gbdt.fit.turns import Turns, evenly
from pyopencl_gbdt.fit.workspace import OnPaper, Workspace
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
#: Share of the free memory that slots and shared arrays may take.
_SHARE = 0.97
_ADVICE = (
    "lower max_depth (0 is no limit) or max_bin, give max_leaves, or use a device with more memory"
)


def choose_turns(
    ws: Workspace,
    on_paper: OnPaper,
    bounds: Sequence[tuple[int, int]] | None = None,
    n_pages: int = 0,
    n_slots: int = 0,
) -> None:
    """Set ``ws.turns``.

    Parameters
    ----------
    ws : Workspace
        All trees of a round are grown at a time: they share the passes over pages.
    on_paper : callable
        Builds the fit's steps on paper.
    bounds : sequence of (int, int), or None
        Of pages that are there already; None chooses pages that suit the memory.
    n_pages, n_slots : int
        Numbers to take; 0 is as many as suit the memory.

    Raises
    ------
    MemoryPlanError
        If fewer than two pages fit the device at a time.
    """
    given = None if bounds is None else list(bounds)
    chosen = given or evenly(ws.n_rows, n_pages or FEW_SLOTS)
    in_place = turns.works_in_place(ws.device)
    stay = in_place and _codes_in_memory(ws)
    for _ in range(3):  # what pages share depends little on their number
        ws.turns = tried = Turns(chosen, 1, in_place, stay)
        built = on_paper(ws)
        room = _room(built)
        if room <= 0 or given is not None or n_pages:
            break  # smaller pages would not help, or are not wanted
        chosen = evenly(ws.n_rows, _suited_pages(built, room))
        if tried.bounds == chosen:
            break
    if tried.bounds != chosen:
        ws.turns = tried = Turns(chosen, 1, in_place, stay)
        built = on_paper(ws)
    largest = tried.most_rows
    slot = _slot_bytes(built, largest)
    fits = int(_room(built) // max(1, slot))
    least = min(LEAST_SLOTS, len(chosen))
    slots = min(len(chosen), n_slots or fits)
    if fits < least:
        slots_bytes, shared = least * slot, built.arena.plan.total_bytes
        raise MemoryPlanError(
            f"training from pages that take turns needs {shared + slots_bytes} bytes on "
            f"{ws.device.caps.label}, {slots_bytes} of them for {least} pages of {largest} rows at "
            f"a time; it has {ws.device.caps.global_bytes}; {_ADVICE}"
        )
    ws.turns = Turns(chosen, len(chosen) if stay else slots, in_place, stay)


def _codes_in_memory(ws: Workspace) -> bool:
    """Return whether the codes of all pages lie in the host's memory, or will."""
    given = ws.share.codes
    return isinstance(given, PagesInMemory) if given is not None else not ws.params.cache_folders


def _room(built: Workspace) -> float:
    """Return the bytes that are left for slots."""
    caps = built.device.caps
    there = caps.global_bytes - built.device.allocated_bytes - built.beside.total_bytes
    return _SHARE * there - built.arena.plan.total_bytes


def _slot_bytes(built: Workspace, n_rows: int) -> int:
    """Return the bytes of a slot for so many rows; 0 if all pages stay in the host's memory."""
    assert built.turns is not None
    if built.turns.codes_stay:
        return 0
    own = built.slot_bytes(n_rows)
    return own[CODES] if built.turns.in_place else sum(own.values())


def _suited_pages(built: Workspace, room: float) -> int:
    """Return the number of pages whose size suits the memory."""
    whole = _slot_bytes(built, built.n_rows) or sum(built.slot_bytes(built.n_rows).values())
    assert built.turns is not None
    slot = room / (LEAST_SLOTS if built.turns.in_place else FEW_SLOTS)
    size = max(min(slot, PAGE_BYTES), min(slot, whole / MOST_PAGES), 1)
    fewest = -(-whole // int(size))
    largest = max(built.slot_bytes(built.n_rows).values())
    by_alloc = -(-largest // max(1, built.device.caps.max_alloc_bytes))
    by_numbers = -(-built.n_trees * built.n_rows // (2**32 - 2**16))
    return max(1, fewest, by_alloc, by_numbers)
