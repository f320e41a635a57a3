"""A team whose members are threads of one process, each with its own device.

Arrays stay in the process: members add up each other's, or NCCL does on the cards.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device.team.member import Team
from pyopencl_gbdt.device.team.messages import Stamp, SumDone, SumPart, is_by_all
from pyopencl_gbdt.device.team.nccl import abort, release
from pyopencl_gbdt.errors import TeamError

#: Arrays of at most so many bytes are added up as a whole by each member: one wait less.
_WHOLE_BYTES = 1 << 16
#: Numbers that a thread adds up at a time: those of two members fit a core's cache.
_AT_A_TIME = 1 << 15
#: Most threads that add up numbers for one member.
_MOST_WORKERS = 4


def _ranges(first: int, end: int) -> list[tuple[int, int]]:
    return [(a, min(a + _AT_A_TIME, end)) for a in range(first, end, _AT_A_TIME)]


def _add(parts: list[npt.NDArray[Any]]) -> None:
    """Write the sum of all members' numbers to each of them."""
    total, *others = parts
    for other in others:
        np.add(total, other, out=total)
    for other in others:
        np.copyto(other, total)


class Meeting:
    """The place where the threads of a team exchange values.

    Values lie in two lists, which take turns: nobody writes a list again before all have read it,
    as all have to arrive for the exchange in between.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.values: list[list[Any]] = [[None] * size, [None] * size]
        self.barrier = threading.Barrier(size)
        self._workers = max(1, min(_MOST_WORKERS, (os.cpu_count() or 1) // size))
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self.communicators: list[Any] = []
        """Of NCCL, by rank; none where sums go through the host's memory."""
        self._aborted = False

    def run(self, work: Callable[[Any], None], items: Sequence[Any]) -> None:
        """Do some work for all items, in several threads if there are cores for them."""
        if self._workers == 1 or len(items) < 2 * self._workers:
            for item in items:
                work(item)
            return
        with self._lock:
            self._pool = self._pool or ThreadPoolExecutor(self._workers * self.size)
        shares = [items[i :: self._workers] for i in range(self._workers)]
        for done in [self._pool.submit(_each, work, share) for share in shares]:
            done.result()

    def abort(self) -> None:
        """End sums on the devices for which a member is waited for."""
        with self._lock:
            if not self._aborted:
                self._aborted = True
                abort(self.communicators)

    def close(self) -> None:
        """End the threads that add up numbers; no member may use the team from now on."""
        release(self.communicators)
        self.communicators = []
        if self._pool is not None:
            self._pool.shutdown()


def _each(work: Callable[[Any], None], items: Sequence[Any]) -> None:
    for item in items:
        work(item)


class Threads(Team):
    """A member of a team whose members are threads of one process, each with its own device.

    ``meeting``: shared by all members.
    """

    def __init__(self, rank: int, meeting: Meeting) -> None:
        self._rank, self.meeting = rank, meeting
        self._turn = 0

    @property
    def rank(self) -> int:
        return self._rank

    @property
    def size(self) -> int:
        return self.meeting.size

    @property
    def communicator(self) -> Any:
        """NCCL's, where it adds up on the cards; else None."""
        found = self.meeting.communicators
        return found[self.rank] if found else None

    def _exchange(self, stamp: Stamp, value: Any) -> tuple[list[Stamp], list[Any]]:
        """Return the stamps and values of all members, in the order of ranks.

        The values are not copied: nobody may change one before the next exchange.

        Raises
        ------
        TeamError
            If another member has failed.
        """
        values = self.meeting.values[self._turn]
        self._turn = 1 - self._turn
        values[self.rank] = stamp, value
        try:
            self.meeting.barrier.wait()
        except threading.BrokenBarrierError:
            raise TeamError("another device of the team failed; its own error tells why") from None
        stamps, found = zip(*values, strict=True)
        return list(stamps), list(found)

    def add_in_place(self, part: npt.NDArray[Any]) -> None:
        """Replace integers by their sums over all members. Each member adds up a share of them."""
        if part.nbytes <= _WHOLE_BYTES:
            part[:] = self.add_up(SumPart, part.copy())
            return
        every = self.exchange(SumPart, part)
        first, end = (part.size * k // self.size for k in (self.rank, self.rank + 1))
        self.meeting.run(_add, [[own[a:b] for own in every] for a, b in _ranges(first, end)])
        self.exchange(SumDone, None)  # all shares are there

    @contextlib.contextmanager
    def leaving(self) -> Iterator[None]:
        """Leave the team if the block raises."""
        try:
            yield
        except BaseException as error:
            self.leave(error)
            raise

    def leave(self, error: BaseException) -> None:
        """Tell the other members that this one has failed: they raise instead of waiting.

        An error of all members is raised by the others themselves.
        """
        if not is_by_all(error):
            self.meeting.barrier.abort()
        self.meeting.abort()


def threads(size: int) -> list[Threads]:
    """Return the members of a team of so many threads."""
    meeting = Meeting(size)
    return [Threads(rank, meeting) for rank in range(size)]
