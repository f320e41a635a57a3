"""Pages that take turns on the device, and the slots where they do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Turns:
    """Pages that take turns, and the slots where they do.

    Attributes
    ----------
    bounds : sequence of (int, int)
        First row and number of rows of every page.
    n_slots : int
    """

    bounds: Sequence[tuple[int, int]]
    n_slots: int

    @property
    def most_rows(self) -> int:
        """Rows of the largest page, for which every slot has room."""
        return max(n_rows for _, n_rows in self.bounds)


def evenly(n_rows: int, n_pages: int) -> list[tuple[int, int]]:
    """Return the first row and the number of rows of so many pages; sizes differ by 1 at most."""
    n_pages = max(1, min(n_rows, n_pages))
    begins = [n_rows * i // n_pages for i in range(n_pages + 1)]
    return [(a, b - a) for a, b in pairwise(begins)]
