"""The team that a thread works for, for functions of users that run in the middle of a training.

Threads of one process may be members of different teams, so each thread has its own.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyopencl_gbdt.device.team.member import Team


class _Current(threading.local):
    """The team of one thread; None where it works alone."""

    team: Team | None = None


_CURRENT = _Current()


def current_team() -> Team | None:
    """Return the team that this thread works for, or None."""
    return _CURRENT.team


def set_current_team(team: Team | None) -> None:
    """Let this thread work for a team from now on; None: alone."""
    _CURRENT.team = team


@contextmanager
def working_for(team: Team | None) -> Iterator[None]:
    """Let this thread work for a team within the block; None: alone."""
    before = _CURRENT.team
    _CURRENT.team = team
    try:
        yield
    finally:
        _CURRENT.team = before
