"""Devices that train one model together, each with some of the rows.

Every member of a team runs the same list of actions. Where a result depends on all rows, the list
has a ``Reduce``: it adds up the members' arrays, which are integers, so that any order of members
gives the same bits. All else that a member computes follows from such sums, and from values that
members exchange, so the members' trees are the same. ``docs/pages-and-teams.md`` lists the sums.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device.base import DeviceArray
from pyopencl_gbdt.errors import DeviceError

#: An array of integers.
Integers = TypeVar("Integers", bound=npt.NDArray[Any])
#: Tells which rows of an array to add up, when the device has computed it.
Window = Callable[[], slice]


class Team(Protocol):
    """The members of a team, seen by one of them. All members make the same calls, in one order.

    Attributes
    ----------
    rank, size : int
        The member's number, from 0, and the number of members.
    """

    @property
    def rank(self) -> int: ...

    @property
    def size(self) -> int: ...

    def exchange(self, value: Any) -> list[Any]:
        """Return the values of all members, in the order of ranks; waits for all members.

        Raises
        ------
        DeviceError
            If another member has failed.
        """

    def add_up(self, part: Integers) -> Integers:
        """Return the sum of all members' arrays of integers, which have one shape."""

    def sum(
        self, array: DeviceArray, window: Window | None = None, dtype: npt.DTypeLike | None = None
    ) -> list[Action]:
        """Return the actions after which an array holds the sum over all members.

        Parameters
        ----------
        array : DeviceArray of integers
            Of the same shape in every member.
        window : callable or None
            Returns the rows of the array to add up; None is all. It may wait for the device.
        dtype : numpy dtype or None
            Integers as which the array's bytes are added up; None is the array's dtype.
        """

    def least(self, number: int) -> int:
        """Return the smallest of all members' numbers; waits for all members."""

    def most(self, number: int) -> int:
        """Return the largest of all members' numbers; waits for all members."""


class Alone:
    """A team of one, which has nothing to exchange."""

    rank, size = 0, 1

    def exchange(self, value: Any) -> list[Any]:
        """Return the one value."""
        return [value]

    def add_up(self, part: Integers) -> Integers:
        """Return the array."""
        return part

    def sum(
        self, array: DeviceArray, window: Window | None = None, dtype: npt.DTypeLike | None = None
    ) -> list[Action]:
        """Return no actions."""
        return []

    def least(self, number: int) -> int:
        """Return the number."""
        return number

    def most(self, number: int) -> int:
        """Return the number."""
        return number


class Member(ABC):
    """A member of a team of several. A subclass says how values travel."""

    @property
    @abstractmethod
    def rank(self) -> int: ...

    @property
    @abstractmethod
    def size(self) -> int: ...

    @abstractmethod
    def exchange(self, value: Any) -> list[Any]:
        """Return the values of all members, in the order of ranks; see ``Team``."""

    def add_up(self, part: Integers) -> Integers:
        """Return the sum of all members' arrays."""
        first, *others = self.exchange(part)
        total: Integers = first.copy()
        for other in others:
            total += other
        return total

    def sum(
        self, array: DeviceArray, window: Window | None = None, dtype: npt.DTypeLike | None = None
    ) -> list[Action]:
        """Return the sum over the members, one action."""
        as_dtype = array.dtype if dtype is None else np.dtype(dtype)
        return [Reduce(self, array, window, as_dtype)]

    def least(self, number: int) -> int:
        """Return the smallest of all members' numbers."""
        found: int = min(self.exchange(number))
        return found

    def most(self, number: int) -> int:
        """Return the largest of all members' numbers."""
        found: int = max(self.exchange(number))
        return found


@dataclass(frozen=True)
class Reduce:
    """Replaces an array by its sum over a team. Calling it waits for the device and for the team.

    Attributes
    ----------
    member : Member
    array : DeviceArray
    window : callable or None
    dtype : numpy.dtype
    """

    member: Member
    array: DeviceArray
    window: Window | None
    dtype: np.dtype[Any]
    name: str = "sum over the team"

    def __call__(self) -> None:
        own = self.array.get()
        rows = slice(0, own.shape[0]) if self.window is None else self.window()
        part = np.ascontiguousarray(own[rows]).view(self.dtype)
        total = self.member.add_up(part)
        start = rows.start * (own.size // own.shape[0])
        self.array.set(total.view(own.dtype), start)


class Action(Protocol):
    """What a tree's list consists of: launches, sums over the team, and what else takes a turn."""

    @property
    def name(self) -> str: ...

    def __call__(self) -> None:
        """Do it, or enqueue it."""


@dataclass
class Meeting:
    """The place where the threads of a team exchange values."""

    size: int
    values: list[Any] = field(init=False)
    barrier: threading.Barrier = field(init=False)

    def __post_init__(self) -> None:
        self.values = [None] * self.size
        self.barrier = threading.Barrier(self.size)


@dataclass(frozen=True)
class Threads(Member):
    """A member of a team whose members are threads of one process, each with its own device.

    Attributes
    ----------
    number : int
        The member's rank.
    meeting : Meeting
        Shared by all members.
    """

    number: int
    meeting: Meeting

    @property
    def rank(self) -> int:
        return self.number

    @property
    def size(self) -> int:
        return self.meeting.size

    def exchange(self, value: Any) -> list[Any]:
        """Return the values of all members, in the order of ranks.

        Raises
        ------
        DeviceError
            If another member has failed.
        """
        meeting = self.meeting
        try:
            meeting.values[self.rank] = value
            meeting.barrier.wait()
            values = list(meeting.values)
            meeting.barrier.wait()  # nobody writes the next value before all have read
        except threading.BrokenBarrierError:
            raise DeviceError(
                "another device of the team failed; its own error tells why"
            ) from None
        return values

    def leave(self) -> None:
        """Tell the other members that this one has failed: they raise instead of waiting."""
        self.meeting.barrier.abort()


def threads(size: int) -> list[Threads]:
    """Return the members of a team of so many threads."""
    meeting = Meeting(size)
    return [Threads(rank, meeting) for rank in range(size)]
