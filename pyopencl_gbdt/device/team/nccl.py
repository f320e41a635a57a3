"""Sums of a team of CUDA cards by NCCL: they stay on the cards, and the host waits for none.

NCCL comes with CuPy's NVIDIA packages (``nvidia-nccl-cu12``). Without it, or where a device of the
team is no CUDA card, sums go through the host's memory. Both give the same integers.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Sequence
from itertools import groupby
from typing import Any, Protocol

import numpy as np

from pyopencl_gbdt.device.base import Device, DeviceArray
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.device.team.messages import CardOfMember, CardsJoined, Message, NcclName, Value
from pyopencl_gbdt.device.team.sums import Window, rows_of
from pyopencl_gbdt.errors import TeamError
from pyopencl_gbdt.lazy_dataclasses import dataclass

#: ``off`` sends all sums through the host's memory.
ENVIRONMENT = "PYOPENCL_GBDT_NCCL"
#: One team at a time has communicators: sums of two could wait for each other on the cards.
_in_use = threading.Lock()
#: Seconds in which the processes of a host join their cards and add up a number; else sums go
#: through its memory.
_JOIN_SECONDS = 60.0


class SumError(TeamError):
    """NCCL failed; the cause may be that another member is gone."""


class Processes(Protocol):
    """A member of a team of processes, as far as its cards are joined."""

    @property
    def rank(self) -> int: ...

    @property
    def size(self) -> int: ...

    def exchange(self, message: Message[Value], value: Value) -> list[Value]:
        """Return the values of all members."""


def may_join(devices: Sequence[Device]) -> bool:
    """Tell whether NCCL may add up for a team: different CUDA cards, and it is not turned off."""
    ids = {device.caps.device_id for device in devices}
    cuda = all(device.caps.api == "cuda" for device in devices)
    return cuda and len(ids) == len(devices) and os.environ.get(ENVIRONMENT) != "off"


def communicators(devices: Sequence[Device]) -> list[Any]:
    """Return a communicator for every device of a team; none if NCCL cannot join them.

    Whoever gets some calls ``release`` in the end. Until then another team gets none.
    """
    ids = [device.caps.device_id for device in devices]
    if not may_join(devices):
        return []
    if not _in_use.acquire(blocking=False):
        return []
    found: list[Any] = []
    with contextlib.suppress(Exception):  # not installed, or the cards cannot reach each other
        from cupy.cuda import nccl

        found = nccl.NcclCommunicator.initAll([int(i.split(":")[1]) for i in ids])
    if not found:
        _in_use.release()
    return found


def joined(team: Processes, device: Device) -> Any:
    """Return a process's communicator with the cards of the others; None if NCCL cannot join them.

    It joins different cards of one host, a process each. All members call this; whoever gets a
    communicator calls ``leave`` in the end.
    """
    owns = may_join([device]) and team.size > 1 and _in_use.acquire(blocking=False)
    made: Any = None
    try:
        places = team.exchange(CardOfMember, _card_of(device) if owns else None)
        hosts = {place[0] for place in places if place is not None}
        if None in places or len(hosts) > 1 or len(set(places)) < team.size:
            return None
        name = team.exchange(NcclName, _new_name() if team.rank == 0 else None)[0]
        if name is None:
            return None
        found = _joined_in_time(device, team.size, name, team.rank)
        if all(team.exchange(CardsJoined, found is not None)):
            made = found
        else:
            abort([] if found is None else [found])
        return made
    finally:
        if owns and made is None:
            _in_use.release()


def leave(communicator: Any, *, failed: bool) -> None:
    """Give up a communicator of ``joined``; if a member failed, end its sums.

    Else it ends with the last graph that has its sums: ``destroy`` would wait for these.
    """
    if communicator is not None:
        if failed:
            abort([communicator])
        _in_use.release()


def _card_of(device: Any) -> tuple[str, str] | None:
    """Return the host and the place of a card on its bus; None where it cannot be told."""
    with contextlib.suppress(Exception):
        return socket.gethostname(), str(device.cuda.pci_bus_id)
    return None


def _new_name() -> Any:
    """Return the name of a new team of cards; None without NCCL."""
    with contextlib.suppress(Exception):
        from cupy.cuda import nccl

        return nccl.get_unique_id()
    return None


def _joined_in_time(device: Any, size: int, name: Any, rank: int) -> Any:
    """Return a communicator whose first sum is right; None if NCCL raises, or takes too long."""
    found: list[Any] = []
    proved, given_up, deciding = threading.Event(), threading.Event(), threading.Lock()

    def join() -> None:
        with contextlib.suppress(Exception), device.cuda:
            from cupy.cuda import nccl

            made = nccl.NcclCommunicator(size, name, rank)
            with deciding:
                found.append(made)
                if given_up.is_set():  # the training has the stream
                    abort(found)
                    return
            array = device.upload(np.array([rank + 1], np.int64))
            NcclSum(found[0], array, None, array.dtype)()
            if array.get()[0] == size * (size + 1) // 2:
                proved.set()

    thread = threading.Thread(target=join, daemon=True, name="joining cards")
    thread.start()
    thread.join(_JOIN_SECONDS)
    if proved.is_set():
        return found[0]
    with deciding:
        given_up.set()
        abort(found)
    return None


def release(found: Sequence[Any]) -> None:
    """Let another team have communicators, when all sums of this one have ended."""
    if found:
        _in_use.release()


def abort(found: Sequence[Any]) -> None:
    """End sums for which another member is waited for; the communicators are of no use then."""
    for communicator in found:
        with contextlib.suppress(Exception):  # it may have failed itself
            communicator.abort()


@dataclass(frozen=True)
class NcclSum:
    """Enqueues the sum of an array over a team; the result replaces the array.

    Attributes
    ----------
    communicator : cupy.cuda.nccl.NcclCommunicator
        The member's own.
    array, window, dtype
        As for ``TeamReduce``.
    """

    communicator: Any
    array: DeviceArray
    window: Window | None
    dtype: np.dtype[Any]
    name: str = "sum over the team"

    @property
    def fixed(self) -> bool:
        """Whether it adds up the same rows each time, so that a graph can record it."""
        return self.window is None or isinstance(self.window, slice)

    def __call__(self) -> None:
        from cupy.cuda import nccl

        array: DeviceArray = self.array
        rows = rows_of(self.window, array)
        row_bytes = array.nbytes // array.shape[0]
        count = (rows.stop - rows.start) * row_bytes // self.dtype.itemsize
        if not count:
            return
        device: Any = array.device
        place = array.handle.data.ptr + rows.start * row_bytes
        kind = getattr(nccl, f"NCCL_{self.dtype.name.upper()}")
        try:
            with device.cuda:
                self.communicator.allReduce(
                    place, place, count, kind, nccl.NCCL_SUM, device.stream.ptr
                )
        except nccl.NcclError as error:
            raise _failed(device, error) from error


def _failed(device: Device, error: Exception) -> SumError:
    return SumError(
        f"{device.caps.label}: NCCL failed: {error}; if no other device failed, set "
        f"{ENVIRONMENT}=off, which sends sums through the host's memory"
    )


@dataclass(frozen=True)
class NcclSums:
    """Enqueues sums that follow one another as one: they wait for the other cards once.

    Attributes
    ----------
    sums : sequence of NcclSum
        The sums of one communicator.
    """

    sums: Sequence[NcclSum]
    name: str = "sums over the team"

    def __call__(self) -> None:
        from cupy.cuda import nccl

        try:
            nccl.groupStart()
            try:
                for one in self.sums:
                    one()
            finally:
                nccl.groupEnd()
        except nccl.NcclError as error:
            raise _failed(self.sums[0].array.device, error) from error


def neighbours_joined(actions: Sequence[Action]) -> list[Action]:
    """Return the same actions; sums by NCCL that follow one another are one."""
    found: list[Action] = []
    for are_sums, run in groupby(actions, lambda action: isinstance(action, NcclSum)):
        own: list[Any] = list(run)
        found += [NcclSums(own)] if are_sums and len(own) > 1 else own
    return found
