"""A team whose members are processes, on one or several hosts, that talk over sockets.

Every member has a connection to every other, of the standard library's
``multiprocessing.connection``; ``doors`` makes them.
"""

from __future__ import annotations

import math
import os
import pickle
import socket
import struct
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from pyopencl_gbdt.device.limits import Limits
from pyopencl_gbdt.device.team import Alone, Integers, Member, Team
from pyopencl_gbdt.errors import TeamError

#: Arrays of at least so many bytes are added up slice by slice: each member adds up one slice and
#: sends it to the others, 2 (n - 1) / n times the array instead of n - 1 times. Two messages
#: instead of one cost more below this size (4 processes of one host; ``python -m bench scaling``).
SLICED_BYTES = 1 << 16
#: What a message begins with. An empty message is a sign of life.
_VALUE, _ARRAY, _FAILURE = b"V", b"A", b"F"


class SocketTeam(Member):
    """A member with a connection to every other one; see ``Door``.

    Attributes
    ----------
    sent_bytes, n_messages : int
        What this member has sent so far, without signs of life.
    """

    def __init__(self, rank: int, connections: Mapping[int, Connection], limits: Limits) -> None:
        self._rank, self._limits = rank, limits
        self._connections = dict(connections)
        self._called = list(range(len(connections) + 1))  # ranks, as errors name them
        self._locks = {other: threading.Lock() for other in connections}
        self._ended = threading.Event()
        self.sent_bytes = self.n_messages = 0
        for connection in self._connections.values():
            _prepare(connection, limits.patience)
        self._beats = threading.Thread(target=self._beat, daemon=True, name="signs of life")
        self._beats.start()

    @property
    def rank(self) -> int:
        return self._rank

    @property
    def size(self) -> int:
        return len(self._connections) + 1

    # -- values ----------------------------------------------------------------------------
    def exchange(self, value: Any) -> list[Any]:
        """Return the values of all members, in the order of ranks; see ``Team``."""
        packed = pickle.dumps(value, protocol=5)
        found: list[Any] = [None] * self.size
        found[self._rank] = value
        for other, received in self._with_every(lambda _: (_VALUE, packed)):
            found[other] = pickle.loads(received)
        return found

    def add_up(self, part: Integers) -> Integers:
        """Return the sum of all members' arrays."""
        if self.size == 1 or part.nbytes < SLICED_BYTES:
            return super().add_up(part)
        flat = np.ascontiguousarray(part).reshape(-1)
        ends = [flat.size * rank // self.size for rank in range(self.size + 1)]
        slices = [slice(a, b) for a, b in pairwise(ends)]
        total = flat[slices[self._rank]].copy()
        for _, received in self._with_every(lambda other: (_ARRAY, flat[slices[other]].data)):
            total += np.frombuffer(received, flat.dtype)
        whole = np.empty_like(flat)
        whole[slices[self._rank]] = total
        for other, received in self._with_every(lambda _: (_ARRAY, total.data)):
            whole[slices[other]] = np.frombuffer(received, flat.dtype)
        return whole.reshape(part.shape)  # type: ignore[return-value]

    def _with_every(self, message: Any) -> Any:
        """Exchange messages with the others, one after the other; yield rank and what came.

        In step s, members whose ranks add up to s (modulo their number) are partners, and the lower
        rank sends first: nobody waits in a circle.
        """
        for step in range(self.size):
            other = (step - self._rank) % self.size
            if other == self._rank:
                continue
            kind, data = message(other)
            if self._rank < other:
                self._send(other, kind, data)
                yield other, self._receive(other)
            else:
                received = self._receive(other)
                self._send(other, kind, data)
                yield other, received

    # -- messages --------------------------------------------------------------------------
    def _send(self, other: int, kind: bytes, data: Any) -> None:
        connection = self._connections[other]
        try:
            with self._locks[other]:
                connection.send_bytes(kind)
                connection.send_bytes(data)
        except OSError:
            self._said(other)
            raise self._lost(other, "ended") from None
        self.n_messages += 1
        self.sent_bytes += memoryview(data).nbytes + 9

    def _receive(self, other: int) -> bytes:
        connection, began = self._connections[other], time.monotonic()
        heard = began
        try:
            while True:
                now = time.monotonic()
                if not connection.poll(min(1.0, self._limits.silence / 4)):
                    if time.monotonic() - heard > self._limits.silence:
                        raise self._lost(other, f"gave no sign of life for {now - heard:.0f} s")
                    continue
                heard = time.monotonic()
                kind = connection.recv_bytes()
                if kind == _FAILURE:
                    raise TeamError(connection.recv_bytes().decode())
                if kind:
                    return connection.recv_bytes()
                if heard - began > self._limits.patience:
                    raise self._lost(other, f"sent nothing for {heard - began:.0f} s")
        except (EOFError, OSError):
            raise self._lost(other, "ended") from None

    def _said(self, other: int) -> None:
        """Raise what a member said before it ended, if it did."""
        connection = self._connections[other]
        with suppress(OSError, EOFError):
            while connection.poll():
                if connection.recv_bytes() == _FAILURE:
                    raise TeamError(connection.recv_bytes().decode())

    def _lost(self, other: int, what: str) -> TeamError:
        lost, own = self._called[other], self._called[self._rank]
        return TeamError(f"rank {lost} {what}, so rank {own} ended too")

    def _beat(self) -> None:
        while not self._ended.wait(self._limits.beat):
            for other, connection in self._connections.items():
                lock = self._locks[other]
                if lock.acquire(blocking=False):  # else something is being sent, a sign of life
                    with suppress(OSError):
                        connection.send_bytes(b"")
                    lock.release()

    # -- the end ---------------------------------------------------------------------------
    def leave(self, error: BaseException | None = None) -> None:
        """End the team; with an error, tell the others that this member has failed, and why."""
        self._ended.set()
        own = self._called[self._rank]
        why = str(error) if isinstance(error, TeamError) else f"rank {own}: {_of(error)}"
        for other, connection in self._connections.items():
            with suppress(OSError):
                if error is not None and self._locks[other].acquire(timeout=self._limits.beat):
                    connection.send_bytes(_FAILURE)
                    connection.send_bytes(why.encode())
                connection.close()

    def wait_long(self) -> None:
        """Wait for the others as long as they give signs of life."""
        self._limits = replace(self._limits, patience=math.inf)

    def among(self, ranks: Sequence[int]) -> Team:
        """Return the team of some members, for one of them; signs of life stay with this one."""
        return _Some(self, ranks) if self._rank in ranks else Alone()


class _Some(SocketTeam):
    """Some members of a team; it shares the connections."""

    def __init__(self, team: SocketTeam, ranks: Sequence[int]) -> None:
        own = [rank for rank in ranks if rank != team.rank]
        place = {rank: number for number, rank in enumerate(ranks)}
        self._rank, self._limits, self._ended = place[team.rank], team._limits, team._ended
        self._connections = {place[rank]: team._connections[rank] for rank in own}
        self._locks = {place[rank]: team._locks[rank] for rank in own}
        self._called = [team._called[rank] for rank in ranks]
        self.sent_bytes = self.n_messages = 0


def _of(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {error}" if error is not None else "ended"


def _prepare(connection: Connection, patience: float) -> None:
    """Send messages at once, and give up a peer that takes nothing."""
    own = socket.socket(fileno=connection.fileno())
    try:
        own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if os.name != "posix":
            return
        time_limit = struct.pack("ll", int(patience) + 1, 0)
        with suppress(OSError):
            own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, time_limit)
            own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, time_limit)
    finally:
        own.detach()
