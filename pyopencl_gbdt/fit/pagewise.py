"""Launches of pages, and the arrays of rows that they read and write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyopencl_gbdt.device import Launch

#: The name of a page's codes among its arrays of rows.
CODES = "codes"


@dataclass(frozen=True)
class PageWise:
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
