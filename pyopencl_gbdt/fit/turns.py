"""Pages that take turns on the device, and the slots where they do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pyopencl_gbdt.device import Device


@dataclass(frozen=True)
class Turns:
    """Pages that take turns, and the slots where they do.

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
