"""Sums over members that send each other messages, slice by slice, in as few bytes as pays.

Each member adds up its own slice of all members' arrays. Where all need the sums, it then sends it
to the others.
"""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device.base import Device
from pyopencl_gbdt.device.team.handshake import Limits
from pyopencl_gbdt.device.team.member import Integers, Team
from pyopencl_gbdt.device.team.messages import LinkIsSlow, LinkTimed
from pyopencl_gbdt.device.team.nccl import joined, leave

#: Integers of the upper plane by the width of a message.
_UPPER: dict[int, type[np.signedinteger[Any]]] = {5: np.int8, 6: np.int16}


def width_of(part: npt.NDArray[Any]) -> int:
    """Return the bytes that each integer of an array needs."""
    if part.dtype != np.int64 or part.size == 0:
        return part.dtype.itemsize
    bits = max(int(part.max()).bit_length(), int(~part.min()).bit_length()) + 1
    return next((width for width in (4, 5, 6) if bits <= 8 * width), 8)


def bytes_of(part: npt.NDArray[Any]) -> memoryview:
    """Return the bytes of an array as they lie in memory."""
    return np.ascontiguousarray(part).reshape(-1).view(np.uint8).data


def packed(part: npt.NDArray[Any]) -> memoryview:
    """Return the bytes of an array of integers in its message.

    Parameters
    ----------
    part : array of integers
        An array of any shape; only ``int64`` gets narrower.
    """
    flat = np.ascontiguousarray(part).reshape(-1)
    width, n = width_of(flat), flat.size
    if width == flat.dtype.itemsize:
        return bytes_of(flat)
    message = np.empty(n * width, np.uint8)
    message[: 4 * n].view(np.uint32)[:] = flat.view(np.uint32)[::2]
    if width in _UPPER:
        upper = np.dtype(_UPPER[width])
        each = 8 // upper.itemsize
        message[4 * n :].view(upper)[:] = flat.view(upper)[each // 2 :: each]
    return message.data


def unpacked(message: bytes, dtype: npt.DTypeLike, n: int) -> npt.NDArray[Any]:
    """Return the integers of a message.

    Parameters
    ----------
    dtype : numpy dtype
        The type of the array that was packed.
    n : int
        The number of its integers.
    """
    dtype = np.dtype(dtype)
    if len(message) == n * dtype.itemsize:
        return np.frombuffer(message, dtype)
    width = len(message) // n
    if width == 4:
        return np.frombuffer(message, np.int32)
    found = np.empty(n, dtype)
    found.view(np.uint32)[::2] = np.frombuffer(message, np.uint32, n)
    found.view(np.int32)[1::2] = np.frombuffer(message, _UPPER[width], n, 4 * n)
    return found


#: Integers are packed where the link to the others carries fewer bytes a second than this, ...
#: Over loopback, 1.2 to 1.6 GB/s, packed sums of own features took between 15 % less and 33 % more
#: time (2 to 8 processes, 2 cores of an AMD EPYC); at 1 Gbit/s, 2 MiB took 36 % less
#: (``python -m bench scaling``, ``docs/pages-and-teams.md``). MPI's messages through shared
#: memory, 0.6 GB/s and more, gain nothing either.
SLOW_LINK = 0.35e9
#: ... in messages of at least so many bytes: packing takes 30 us more than its bytes do.
PACKED_BYTES = 1 << 14
#: Bytes that members send each other to time the link, few and many, and how often: the fastest
#: messages count.
_FEW, _MANY, _PROBES = 1 << 10, 1 << 19, 6
#: With more members than so many, each gets fewer bytes.
_FEW_MEMBERS = 5


class HostTeam(Team):
    """A member that is a process, and exchanges messages with every other one.

    Attributes
    ----------
    narrows : bool or None
        Whether integers go in as few bytes as they need; None before the link was timed.
    """

    narrows: bool | None = None
    _communicator: Any = None
    _limits: Limits

    @property
    def communicator(self) -> Any:
        """NCCL's, within ``joined_cards``; else None."""
        return self._communicator

    @contextmanager
    def joined_cards(self, device: Device) -> Iterator[None]:
        """Let NCCL add up on the cards of the members' processes within the block, if it can."""
        self._communicator = found = joined(self, device)
        try:
            yield
        except BaseException:
            leave(found, failed=True)
            raise
        else:
            leave(found, failed=False)
        finally:
            self._communicator = None

    @abstractmethod
    def among(self, ranks: Sequence[int]) -> Any:
        """Return the team of some members, for one of them; all members call this."""

    @contextmanager
    def waiting_long(self) -> Iterator[None]:
        """Within the block, wait for the others as long as they give signs of life."""
        before, self._limits = self._limits, replace(self._limits, patience=math.inf)
        yield
        self._limits = before

    @abstractmethod
    def leave(self, error: BaseException | None = None) -> None:
        """End the team; with an error, tell the others that this member has failed, and why."""

    @abstractmethod
    def _with_every(self, message: Callable[[int], Any]) -> Iterator[tuple[int, Any]]:
        """Exchange messages with the others; yield rank and what came.

        Parameters
        ----------
        message : callable
            Returns the bytes for a rank.
        """

    @property
    def keeps_own(self) -> bool:
        """Whether sums travel between processes: not where one member has all rows."""
        return self.size > 1 and self._communicator is None

    def add_up_slices(self, part: Integers) -> Integers:
        """Return the sum of all members' arrays, for arrays of more than a few bytes."""
        flat = np.ascontiguousarray(part).reshape(-1)
        ends = [flat.size * rank // self.size for rank in range(self.size + 1)]
        slices = [slice(a, b) for a, b in pairwise(ends)]
        total, to_bytes = flat[slices[self.rank]].copy(), self._to_bytes()
        others = self._with_every(lambda other: to_bytes(flat[slices[other]]))
        for _, received in others:
            total += unpacked(received, flat.dtype, total.size)
        whole = np.empty_like(flat)
        whole[slices[self.rank]] = total
        message = to_bytes(total)
        for other, received in self._with_every(lambda _: message):
            own = whole[slices[other]]
            own[:] = unpacked(received, flat.dtype, own.size)
        return whole.reshape(part.shape)  # type: ignore[return-value]

    def add_up_own(self, parts: Sequence[Integers]) -> Integers:
        """Return the sum of all members' parts for this one: the first half of slices."""
        total: Integers = parts[self.rank].copy()
        to_bytes = self._to_bytes()
        for _, received in self._with_every(lambda other: to_bytes(parts[other])):
            total += unpacked(received, total.dtype, total.size).reshape(total.shape)
        return total

    def _packs(self) -> bool:
        """Return whether messages are packed, as all members agree; the first call times the link.

        Call it before members talk of something else.
        """
        if self.narrows is None:
            self.narrows = any(self.exchange(LinkIsSlow, self._link_is_slow()))
        return self.narrows

    def _link_is_slow(self) -> bool:
        """Return whether the link is slow; all members call this at the same time."""
        many = _MANY * _FEW_MEMBERS // max(_FEW_MEMBERS, self.size)
        seconds = self._seconds_of(many) - self._seconds_of(_FEW)
        return (self.size - 1) * (many - _FEW) < SLOW_LINK * seconds

    def _seconds_of(self, n_bytes: int) -> float:
        """Return the shortest time in which every member sends the others so many bytes each."""
        message, fastest = bytes(n_bytes), math.inf
        for _ in range(_PROBES):
            self.exchange(LinkTimed, None)
            began = time.perf_counter()
            for _, received in self._with_every(lambda _: message):
                del received
            fastest = min(fastest, time.perf_counter() - began)
        return fastest

    def _to_bytes(self) -> Callable[[Integers], memoryview]:
        """Return the function that makes a message of an array."""
        if not self._packs():
            return bytes_of
        return lambda part: (packed if part.nbytes >= PACKED_BYTES else bytes_of)(part)
