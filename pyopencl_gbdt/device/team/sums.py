"""Sums of a team's arrays: copied from the device in pieces, added up, and copied back.

    device    read 0 | read 1 | write 0 | read 2 | write 1 | write 2     one queue, in this order
    host               add 0    add 1              add 2                 two buffers take turns

The host waits for a piece when it has been read. It does not wait for the last pieces to be
written: kernels that follow in the queue find them.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device.base import Array, Device, DeviceArray, Wait
from pyopencl_gbdt.lazy_dataclasses import dataclass

#: The rows of an array to add up, or what tells them when the device has computed them.
Window = slice | Callable[[], slice]
#: Bytes of a piece.
PIECE_BYTES = 2 * 1024 * 1024
_BUFFERS = 2


def rows_of(window: Window | None, array: DeviceArray) -> slice:
    """Return the rows of an array to add up; may wait for the device."""
    if window is None:
        return slice(0, array.shape[0])
    return window if isinstance(window, slice) else window()


class Buffers:
    """Page-locked memory of one member, as long as its longest piece so far.

    Attributes
    ----------
    n_sums, n_bytes : int
        Sums so far, and bytes of the arrays that were added up.
    waited, added : float
        Seconds that the member waited for its device, and that adding took, with its wait for the
        other members.
    """

    def __init__(self) -> None:
        self._kept: list[Array] = []
        self._former: list[Array] = []  # the device may still read them
        # a copy's event is kept until a later piece was read: pyopencl waits when it is freed
        self.writing: deque[Wait] = deque(maxlen=2 * _BUFFERS)
        self.n_sums = self.n_bytes = 0
        self.waited = self.added = 0.0

    def of(self, device: Device, nbytes: int) -> list[Array]:
        """Return buffers of so many bytes, whose contents are undefined."""
        if not self._kept or self._kept[0].size < nbytes:
            self._former += self._kept
            self._kept = [device.pinned(nbytes) for _ in range(_BUFFERS)]
        return [buffer[:nbytes] for buffer in self._kept]


class SumMember(Protocol):
    """A member of a team, as sums see it."""

    @property
    def buffers(self) -> Buffers:
        """Memory for copies from and to the member's device."""

    @property
    def rank(self) -> int: ...

    def add_in_place(self, part: npt.NDArray[Any]) -> None:
        """Replace integers by their sums over all members; ``part`` is 1-D."""

    def add_up_own(self, parts: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """Return the sum of all members' arrays, for this member."""


@dataclass(frozen=True)
class TeamReduce:
    """Replaces an array by its sum over a team. Calling it waits for the device and for the team.

    Attributes
    ----------
    window : slice, callable or None
    dtype : numpy.dtype
    """

    member: SumMember
    array: DeviceArray
    window: Window | None
    dtype: np.dtype[Any]
    name: str = "sum over the team"

    @property
    def piece_bytes(self) -> int:
        """Bytes that are added up at a time."""
        return max(1, PIECE_BYTES // self.dtype.itemsize) * self.dtype.itemsize

    def add(self, piece: npt.NDArray[Any]) -> None:
        """Replace a piece's integers by the sum over the members."""
        self.member.add_in_place(piece)

    def __call__(self) -> None:
        array = self.array
        rows = rows_of(self.window, array)
        row_bytes = array.nbytes // array.shape[0]
        self.member.buffers.n_sums += 1
        start, end = rows.start * row_bytes, rows.stop * row_bytes
        step = self.piece_bytes
        buffers = self.member.buffers.of(array.device, min(step, max(end - start, 1)))
        reading: deque[tuple[int, npt.NDArray[np.uint8], Wait]] = deque()
        for number, first in enumerate(range(start, end, step)):
            if len(reading) == _BUFFERS:
                self._finish(*reading.popleft())
            piece = buffers[number % _BUFFERS][: min(step, end - first)]
            reading.append((first, piece, array.device.read_later(array, piece, first)))
        while reading:
            self._finish(*reading.popleft())

    def _finish(self, first: int, piece: npt.NDArray[np.uint8], wait: Wait) -> None:
        """Add up a piece that is being read, and enqueue its copy to the device."""
        kept, times = self.member.buffers, [time.perf_counter()]
        for part in (wait, partial(self.add, piece.view(self.dtype))):
            part()
            times.append(time.perf_counter())
        kept.waited += times[1] - times[0]
        kept.added += times[2] - times[1]
        kept.n_bytes += piece.nbytes
        kept.writing.append(self.array.device.write_later(self.array, piece, first))


@dataclass(frozen=True)
class ReduceOwn(TeamReduce):
    """Replaces this member's elements of an array's rows by their sum over a team.

    Attributes
    ----------
    ends : sequence of int
        Where each member's elements of a row begin, and the length of a row.
    """

    ends: Sequence[int] = ()
    name: str = "sum of own features over the team"

    @property
    def piece_bytes(self) -> int:
        """The bytes of as many whole rows as fit, at least of one row."""
        row_bytes = self.ends[-1] * self.dtype.itemsize
        return max(1, PIECE_BYTES // row_bytes) * row_bytes

    def add(self, piece: npt.NDArray[Any]) -> None:
        """Replace this member's elements by the sum over the members."""
        rows = piece.reshape(-1, self.ends[-1])
        parts = [rows[:, a:b] for a, b in pairwise(self.ends)]
        parts[self.member.rank][:] = self.member.add_up_own(parts)
