"""Devices that train one model together, each with some of the rows.

Every member of a team runs the same list of actions. Where a result depends on all rows, the list
has a ``TeamReduce``: it adds up the members' arrays, which are integers, so that any order of
members gives the same bits. All else that a member computes follows from such sums, and from values
that members exchange, so the members' trees are the same. ``docs/pages-and-teams.md`` lists the
sums.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device.base import Device, DeviceArray
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.device.team.messages import (
    Failure,
    KnownFacts,
    Message,
    OwnParts,
    Stamp,
    SumPart,
    Value,
    by_all,
    check_step,
)
from pyopencl_gbdt.errors import TeamError
from pyopencl_gbdt.messages import show

if TYPE_CHECKING:
    from pyopencl_gbdt.device.team.sums import Buffers, Window

#: An array of integers.
Integers = TypeVar("Integers", bound=npt.NDArray[Any])


class Team(ABC):
    """The members of a team, seen by one of them. All members make the same calls, in one order.

    A subclass says how values travel.
    """

    @property
    @abstractmethod
    def rank(self) -> int:
        """The member's number, from 0."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of members."""

    @property
    def ranks(self) -> Sequence[int]:
        """The numbers by which errors call the members."""
        return range(self.size)

    @property
    def communicator(self) -> Any:
        """NCCL's, where it adds up on the members' cards; else None."""
        return None

    @property
    def enqueues(self) -> bool:
        """Whether sums are enqueued as kernels are, NCCL's: then the host need not wait."""
        return self.communicator is not None

    @property
    def keeps_own(self) -> bool:
        """Whether sums travel between processes: it may pay if a member gets only its own."""
        return False

    def joined_cards(self, device: Device) -> AbstractContextManager[None]:
        """Let NCCL add up on the cards of the members' processes within the block, if it can."""
        return nullcontext()

    @cached_property
    def buffers(self) -> Buffers:
        """Memory for copies from and to the member's device."""
        from pyopencl_gbdt.device.team.sums import Buffers

        return Buffers()

    @abstractmethod
    def _exchange(self, stamp: Stamp, value: Any) -> tuple[list[Stamp], list[Any]]:
        """Return the stamps and the values of all members, in the order of ranks."""

    def exchange(self, message: Message[Value], value: Value) -> list[Value]:
        """Return the values of all members, in the order of ranks; waits for all members.

        ``message``: one of ``device/team/messages.py``, the same in all members.

        Raises
        ------
        TeamError
            If another member has failed, or sends another message.
        """
        stamps, values = self._exchange((message.name, self.buffers.n_sums), value)
        check_step(stamps, self.ranks)
        return values

    def least(self, message: Message[int], number: int) -> int:
        """Return the smallest of all members' numbers; waits for all members."""
        return min(self.exchange(message, number))

    def most(self, message: Message[int], number: int) -> int:
        """Return the largest of all members' numbers; waits for all members."""
        return max(self.exchange(message, number))

    def add_up(self, message: Message[Any], part: Integers) -> Integers:
        """Return the sum of all members' arrays of integers, which have one shape."""
        total: Integers = _sum(self.exchange(message, part))
        return total

    def add_up_own(self, parts: Sequence[Integers]) -> Integers:
        """Return the sum of all members' arrays, for this member.

        ``parts``: one for each member, in the order of ranks; those for one member have one shape.
        """
        own = [theirs[self.rank] for theirs in self.exchange(OwnParts, list(parts))]
        total: Integers = _sum(own)
        return total

    def add_in_place(self, part: npt.NDArray[Any]) -> None:
        """Replace integers by their sums over all members.

        Parameters
        ----------
        part : array of integers, 1-D, changed
            The arrays of all members have the same length.
        """
        part[:] = self.add_up(SumPart, part)

    def sum(
        self, array: DeviceArray, window: Window | None = None, dtype: npt.DTypeLike | None = None
    ) -> list[Action]:
        """Return the actions after which an array holds the sum over all members.

        Parameters
        ----------
        array : DeviceArray of integers
            The arrays of all members have the same shape.
        window : slice, callable or None
            Rows to add up, or a function that returns them; None is all. A callable may wait
            for the device.
        dtype : numpy dtype or None
            Integers as which the array's bytes are added up; None is the array's dtype.
        """
        from pyopencl_gbdt.device.team.nccl import NcclSum
        from pyopencl_gbdt.device.team.sums import TeamReduce

        as_dtype = array.dtype if dtype is None else np.dtype(dtype)
        if self.communicator is not None:
            return [NcclSum(self.communicator, array, window, as_dtype)]
        return [TeamReduce(self, array, window, as_dtype)]

    def sum_own(
        self, array: DeviceArray, window: Window | None, ends: Sequence[int]
    ) -> list[Action]:
        """Return the actions after which this member's elements of the rows are sums over all.

        Other elements keep what they were.

        Parameters
        ----------
        array : DeviceArray of integers
            The arrays of all members have the same shape.
        window : slice, callable or None
            As for ``sum``.
        ends : sequence of int, shape (size + 1,)
            Where each member's elements of a row begin, and the length of a row.
        """
        from pyopencl_gbdt.device.team.sums import ReduceOwn

        return [ReduceOwn(self, array, window, array.dtype, ends=tuple(ends))]


def _sum(parts: Sequence[Integers]) -> Integers:
    total: Integers = parts[0].copy()
    for part in parts[1:]:
        total += part
    return total


class Alone(Team):
    """A team of one, whose arrays are the sums."""

    rank, size = 0, 1

    def _exchange(self, stamp: Stamp, value: Any) -> tuple[list[Stamp], list[Any]]:
        return [stamp], [value]

    def sum(
        self, array: DeviceArray, window: Window | None = None, dtype: npt.DTypeLike | None = None
    ) -> list[Action]:
        """Return no actions."""
        return []


_Made = TypeVar("_Made")


def all_or_none(team: Team, work: Callable[[], _Made]) -> _Made:
    """Do something in every member; if it fails in one, raise an error in all.

    Raises
    ------
    TeamError
        If another member has failed, with its rank and its error; a member that failed raises its
        own error.
    """
    error: Exception | None = None
    try:
        made = work()
    except Exception as own:
        error = own
    text = None if error is None else f"{type(error).__name__}: {error}"
    said = team.exchange(Failure, text)
    if error is not None:
        raise by_all(error)
    for rank, text in enumerate(said):
        if text is not None:
            raise by_all(TeamError(f"rank {rank}: {text}"))
    return made


def check_same(
    team: Team, facts: Mapping[str, Any], move: str, error: type[Exception], where: str = ""
) -> None:
    """Raise an error in all members unless they know the same facts.

    Parameters
    ----------
    facts : mapping of str to object
        Facts of this member; None where it cannot know them.
    move : str
        What to do about other facts.
    error : type
        The class of the error.
    where : str
        What this member read, for the error; empty if that is not known.
    """
    known: tuple[str, Mapping[str, Any]] | None = None
    for rank, (theirs, place) in enumerate(team.exchange(KnownFacts, (dict(facts), where))):
        if not theirs:
            continue
        own = f"rank {rank}" + (f" ({place})" if place else "")
        if known is None:
            known = own, theirs
        for name in sorted(theirs.keys() | known[1].keys()):
            one, other = theirs.get(name), known[1].get(name)
            if one != other:
                raise by_all(
                    error(
                        f"{name} is {show(one)} on {own}, {show(other)} on {known[0]}: "
                        f"expected the same on all ranks; {move}"
                    )
                )


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
