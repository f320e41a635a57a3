"""A tracker: processes that do not know each other's addresses register at it and get ranks.

    worker                                       tracker, at an address that all workers know
      proves that it knows the key        --->
      its task, the address of its door   --->   waits until all workers have registered
                                          <---   its rank, the addresses of all doors
      joins the others, see ``rendezvous``
      leaves its team, closes             --->   waits until all workers have left

Connections are proved and signed as those between members are (``handshake``, ``channel``). What
the two sides say is JSON: nothing of it is unpickled.
"""

from __future__ import annotations

import json
import math
import queue
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from pyopencl_gbdt.device.team.channel import VALUE, Channel, LostError
from pyopencl_gbdt.device.team.handshake import Limits, Listening, StrangerError, connect
from pyopencl_gbdt.device.team.rendezvous import Address, Arrivals, Rendezvous, listening
from pyopencl_gbdt.device.team.sockets import SocketTeam
from pyopencl_gbdt.errors import ParameterError, TeamError
from pyopencl_gbdt.lazy_dataclasses import dataclass

#: The tracker's place in a handshake, and a number above all that workers draw for theirs.
_TRACKER, _PLACES = 0, 2**31
#: Seconds between two looks whether the tracker is still open.
_LOOK = 0.2
#: The other side may take as long as it likes.
_PATIENT = Limits(math.inf, math.inf)


@dataclass(frozen=True)
class _Registered:
    channel: Channel
    task: str
    door: Address


class Tracker:
    """Gives so many workers their ranks, and waits until they have left.

    Parameters
    ----------
    host : str
        The name or address of this host, as the workers know it.
    port : int
        0: the system chooses one.
    by_task : bool
        Whether ranks are in the order of the workers' tasks, as texts; else in that of their hosts'
        addresses, and then of tasks.

    Attributes
    ----------
    key : bytes
        The secret that workers need.

    Raises
    ------
    ParameterError
        If this host has no such address, or the port is taken.
    """

    def __init__(self, n_workers: int, host: str, port: int = 0, *, by_task: bool = False) -> None:
        self._n_workers, self._by_task = n_workers, by_task
        self.key = secrets.token_bytes(32)
        self._listener = listening(host, port)
        self.address: Address = host, int(self._listener.getsockname()[1])
        self._closed, self._over = threading.Event(), threading.Event()
        self._registered: list[_Registered] = []

    def start(self) -> None:
        """Serve workers, in threads that end with the process."""
        meet = Arrivals(
            self._listener,
            lambda: not self._closed.is_set(),
            lambda: Listening(self.key, _TRACKER, _PLACES),
        )
        for work in (meet.run, lambda: self._serve(meet), self._beat):
            threading.Thread(target=work, daemon=True, name="tracker").start()

    def _serve(self, arrivals: Arrivals) -> None:
        while len(self._registered) < self._n_workers:
            if self._closed.is_set():
                return
            with suppress(queue.Empty, LostError):  # one that is gone again
                came = arrivals.members.get(timeout=_LOOK)
                channel = Channel(came.link, came.keys)
                said = json.loads(channel.receive(VALUE, Limits.of_environment()))
                door = str(said["host"]), int(said["port"])
                self._registered.append(_Registered(channel, str(said["task"]), door))
        everyone = sorted(self._registered, key=self._place)
        doors = [one.door for one in everyone]
        for rank, one in enumerate(everyone):
            with suppress(LostError):  # the others learn it when they join
                one.channel.send(VALUE, json.dumps([rank, doors]).encode(), _PATIENT)
        for one in everyone:
            with suppress(LostError):
                one.channel.receive(VALUE, _PATIENT)
            one.channel.close(None, _PATIENT)
        self._over.set()

    def _place(self, one: _Registered) -> tuple[str, ...]:
        return (one.task,) if self._by_task else (one.door[0], one.task)

    def _beat(self) -> None:
        """Give signs of life: a worker may wait long for others that are still to come."""
        while not self._closed.wait(1.0) and not self._over.is_set():
            for one in list(self._registered):
                one.channel.beat()

    def wait(self, seconds: float | None) -> bool:
        """Wait until all workers have come and left; return whether they have."""
        return self._over.wait(seconds)

    def close(self) -> None:
        """Serve nobody from now on."""
        self._closed.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@contextmanager
def _known(tracker: Address, key: bytes, limits: Limits) -> Iterator[tuple[socket.socket, Channel]]:
    """Yield a connection to a tracker; close it if the block raises."""
    link: socket.socket | None = None
    until = time.monotonic() + limits.silence
    try:
        link = socket.create_connection(tracker, timeout=limits.silence)
        place = 1 + secrets.randbelow(_PLACES - 1)
        yield link, Channel(link, connect(link, key, place, _TRACKER, until))
    except BaseException as error:
        if link is not None:
            link.close()
        if isinstance(error, StrangerError):
            raise ParameterError(
                f"what answers at {tracker} does not know the tracker's key: expected the tracker; "
                "give all that its worker_args() returns"
            ) from None
        if isinstance(error, OSError | EOFError):
            raise TeamError(f"the tracker at {tracker} {error}: see whether it runs") from error
        raise


def tracked_team(
    tracker: Address, key: bytes, task: str, limits: Limits
) -> tuple[SocketTeam, Channel]:
    """Register at a tracker, and join the other workers; waits until all have come.

    Returns the team, and the connection to the tracker, to be closed when the team is left.

    ``task``: the name by which the tracker may order workers.

    Raises
    ------
    TeamError
        If there is no tracker, or another worker is gone.
    ParameterError
        If the key is not the tracker's.
    """
    with _known(tracker, key, limits) as (link, channel):
        door = Rendezvous(str(link.getsockname()[0]), key)
        try:
            said: Any = {"task": task, "host": door.address[0], "port": door.address[1]}
            channel.send(VALUE, json.dumps(said).encode(), limits)
            rank, doors = json.loads(channel.receive(VALUE, Limits(limits.silence, math.inf)))
            team = door.join(rank, [(host, port) for host, port in doors], limits)
        finally:
            door.close()
        return team, channel
