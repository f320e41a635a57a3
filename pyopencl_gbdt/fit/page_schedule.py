"""Pages that take turns on the device, and the slots of memory that they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from pyopencl_gbdt.device import Device, Launch
from pyopencl_gbdt.lazy_dataclasses import dataclass


@dataclass(frozen=True)
class PageSchedule:
    """Pages that take turns on the device, and the slots of memory that they share.

    Attributes
    ----------
    bounds : sequence of (int, int)
        First row and number of rows of every page.
    n_slots : int
        Pages whose codes lie there at a time.
    in_place : bool
        Whether the device works in the host's memory: arrays of rows of every page stay where they
        are, and only codes take turns.
    codes_stay : bool
        Whether codes stay there, too; then there is a slot for every page.
    """

    bounds: Sequence[tuple[int, int]]
    n_slots: int
    in_place: bool = False
    codes_stay: bool = False

    @property
    def most_rows(self) -> int:
        """Rows of the largest page, for which every slot has room."""
        return max(n_rows for _, n_rows in self.bounds)

    @property
    def n_row_slots(self) -> int:
        """Pages whose arrays of rows have places of their own."""
        return len(self.bounds) if self.in_place else self.n_slots


def works_in_place(device: Device) -> bool:
    """Tell whether a device works in the host's memory as fast as in its own; tests replace it."""
    return device.works_in_place


def evenly(n_rows: int, n_pages: int) -> list[tuple[int, int]]:
    """Return the first row and the number of rows of so many pages; sizes differ by 1 at most."""
    n_pages = max(1, min(n_rows, n_pages))
    begins = [n_rows * i // n_pages for i in range(n_pages + 1)]
    return [(a, b - a) for a, b in pairwise(begins)]


#: The name of a page's codes among its arrays of rows.
CODES = "codes"


class PageWise(NamedTuple):
    """Launches of every page that ask for nothing of other pages.

    Attributes
    ----------
    launches : sequence of sequence of Launch
        One list a page.
    reads, writes : tuple of str
        Arrays of rows that are read, and those that are written whole.
    drops : tuple of str
        Arrays whose contents nobody reads afterwards; they do not go back to the host.
    first : sequence of sequence of Launch, or None
        What the page that a pass visits first has in place of ``launches``.
    updates : tuple of str
        Arrays of which parts are read and written; nothing is in them before the first time.
    """

    launches: Sequence[Sequence[Launch]]
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    drops: tuple[str, ...] = ()
    first: Sequence[Sequence[Launch]] | None = None
    updates: tuple[str, ...] = ()

    def renamed(self, named: Callable[[str], str]) -> PageWise:
        """Return the same launches, with other names of the arrays."""
        every = self.reads, self.writes, self.drops, self.updates
        reads, writes, drops, updates = (tuple(map(named, names)) for names in every)
        return PageWise(self.launches, reads, writes, drops, self.first, updates)


def needed_by(actions: Sequence[PageWise]) -> tuple[list[str], list[str]]:
    """Return the arrays that a pass reads before it has written them, and those it updates.

    Codes are the first.
    """
    found: list[str] = []
    updated: list[str] = []
    written: set[str] = set()
    for action in actions:
        found += [n for n in action.reads if n not in written and n not in found]
        updated += [n for n in action.updates if n not in written and n not in updated]
        written.update((*action.writes, *action.updates))
    return sorted(found, key=lambda name: name != CODES), updated
