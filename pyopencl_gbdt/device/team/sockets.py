"""A team whose members are processes, on one or several hosts, that talk over sockets.

Every member has a connection to every other; ``doors`` makes them.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pyopencl_gbdt.device.base import Device
from pyopencl_gbdt.device.team.channel import (
    HEAD_BYTES,
    NUMBERS,
    VALUE,
    Channel,
    LostError,
    OtherKindError,
    SaidError,
)
from pyopencl_gbdt.device.team.handshake import Limits
from pyopencl_gbdt.device.team.member import Alone, Integers, Team
from pyopencl_gbdt.device.team.messages import NOTHING, Message, Stamp, is_by_all, other_step
from pyopencl_gbdt.device.team.messages import NUMBERS as SUMS
from pyopencl_gbdt.device.team.nccl import SumError, abort
from pyopencl_gbdt.device.team.sliced_sums import HostTeam
from pyopencl_gbdt.errors import DeviceError, TeamError

#: Arrays of at least so many bytes are added up slice by slice: each member adds up one slice and
#: sends it to the others, 2 (n - 1) / n times the array instead of n - 1 times. Two messages
#: instead of one cost more below this size (4 processes of one host; ``python -m bench scaling``).
SLICED_BYTES = 1 << 16


class SocketTeam(HostTeam):
    """A member with a connection to every other one; see ``Door``.

    A team can train several models, one after the other. After an error, or an interrupt, its
    members leave it, and it has ended. In a ``with`` block, they leave it at the block's end.

    Attributes
    ----------
    sent_bytes, n_messages : int
        What this member has sent so far, without signs of life.
    """

    _stamp = NOTHING  # of the last message
    _lost: int | None = None  # the member without which sums on the cards were ended

    def __init__(self, rank: int, channels: Mapping[int, Channel], limits: Limits) -> None:
        self._rank, self._limits = rank, limits
        self._channels = dict(channels)
        self._called = list(range(len(channels) + 1))  # ranks, as errors name them
        self._apart: dict[int, Channel] = {}  # members of another team that this one is a part of
        self._ended = threading.Event()
        self.sent_bytes = self.n_messages = 0
        self._beats = threading.Thread(target=self._beat, daemon=True, name="signs of life")
        self._beats.start()

    @property
    def rank(self) -> int:
        return self._rank

    @property
    def size(self) -> int:
        return len(self._channels) + 1

    # -- values ----------------------------------------------------------------------------
    @property
    def ranks(self) -> Sequence[int]:
        return self._called

    def _exchange(self, stamp: Stamp, value: Any) -> tuple[list[Stamp], list[Any]]:
        """Return the stamps and values of all members, in the order of ranks."""
        if self._ended.is_set():
            raise TeamError(
                f"rank {self._called[self._rank]} has left this team: expected a team that no "
                "member has left, and that no error has ended; let all members join again"
            )
        message, self._stamp = pickle.dumps((stamp, value), protocol=5), stamp
        stamps, values = [stamp] * self.size, [value] * self.size
        for other, received in self._with_every(lambda _: message, VALUE):
            stamps[other], values[other] = pickle.loads(received)
        return stamps, values

    def add_up(self, message: Message[Any], part: Integers) -> Integers:
        """Return the sum of all members' arrays."""
        if self.size == 1 or part.nbytes < SLICED_BYTES:
            return super().add_up(message, part)
        return self.add_up_slices(part)

    def _with_every(
        self, message: Callable[[int], Any], kind: bytes = NUMBERS
    ) -> Iterator[tuple[int, Any]]:
        """Exchange messages with the others, one after the other; yield rank and what came.

        In step s, members whose ranks add up to s (modulo their number) are partners, and the lower
        rank sends first: nobody waits in a circle.
        """
        for step in range(self.size):
            other = (step - self._rank) % self.size
            if other == self._rank:
                continue
            data = message(other)
            if self._rank < other:
                self._send(other, kind, data)
                yield other, self._receive(other, kind)
            else:
                received = self._receive(other, kind)
                self._send(other, kind, data)
                yield other, received

    # -- messages --------------------------------------------------------------------------
    def _send(self, other: int, kind: bytes, data: Any) -> None:
        try:
            self._channels[other].send(kind, data, self._limits, self._look)
        except (LostError, SaidError) as error:
            raise self._ended_by(other, error) from None
        self.n_messages += 1
        self.sent_bytes += memoryview(data).nbytes + HEAD_BYTES

    def _receive(self, other: int, kind: bytes) -> bytearray:
        try:
            return self._channels[other].receive(kind, self._limits, self._look)
        except OtherKindError as error:
            numbers = SUMS, self.buffers.n_sums
            stamps = {VALUE: self._stamp, NUMBERS: numbers}
            theirs = pickle.loads(error.data)[0] if error.kind == VALUE else numbers
            own, called = self._called[self._rank], self._called[other]
            raise other_step(own, stamps[kind], called, theirs) from None
        except (LostError, SaidError) as error:
            raise self._ended_by(other, error) from None

    def _ended_by(self, other: int, error: Exception) -> TeamError:
        if isinstance(error, SaidError):
            return TeamError(str(error))
        lost, own = self._called[other], self._called[self._rank]
        return TeamError(f"rank {lost} {error}, so rank {own} ended too")

    def _look(self) -> None:
        """Raise an error if a member is gone that takes no part until this team has trained."""
        for called, channel in self._apart.items():
            if channel.is_gone:
                own = self._called[self._rank]
                raise TeamError(f"rank {called} ended, so rank {own} ended too")

    @contextmanager
    def joined_cards(self, device: Device) -> Iterator[None]:
        """Join the cards; while they add up, nobody reads messages, so a thread looks for ends."""
        over = threading.Event()
        with super().joined_cards(device):
            guard = threading.Thread(target=self._guard, args=(over,), daemon=True, name="guard")
            if self.communicator is not None:
                guard.start()
            try:
                yield
            except DeviceError as error:
                names_a_rank = isinstance(error, TeamError) and not isinstance(error, SumError)
                if self._lost is None or names_a_rank:
                    raise
                raise self._ended_by(self._lost, LostError("ended")) from error
            finally:
                over.set()
                if self.communicator is not None:
                    guard.join()

    def _guard(self, over: threading.Event) -> None:
        """End sums on the cards when a member is gone: this one would wait for it for ever."""
        while not over.wait(self._limits.beat):
            for other, channel in self._channels.items():
                if channel.has_ended(self._limits):
                    self._lost = other
                    abort([self.communicator])
                    return

    def _beat(self) -> None:
        while not self._ended.wait(self._limits.beat):
            for channel in self._channels.values():
                channel.beat()

    # -- the end ---------------------------------------------------------------------------
    def leave(self, error: BaseException | None = None) -> None:
        """End the team; with an error, tell the others that this member has failed, and why.

        A team that has ended stays as it is.
        """
        if self._ended.is_set():
            return
        self._ended.set()
        own = self._called[self._rank]
        why = str(error) if isinstance(error, TeamError) else f"rank {own}: {_of(error)}"
        for channel in self._channels.values():
            channel.close(None if error is None else why, self._limits)

    def __enter__(self) -> SocketTeam:
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self.leave(None if error is not None and is_by_all(error) else error)

    def among(self, ranks: Sequence[int]) -> Team:
        """Return the team of some members, for one of them; signs of life stay with this one."""
        return _Some(self, ranks) if self._rank in ranks else Alone()


class _Some(SocketTeam):
    """Some members of a team; it shares the connections."""

    def __init__(self, team: SocketTeam, ranks: Sequence[int]) -> None:
        place = {rank: number for number, rank in enumerate(ranks)}
        self._rank, self._limits, self._ended = place[team.rank], team._limits, team._ended
        every = team._channels.items()
        self._channels = {place[rank]: one for rank, one in every if rank in place}
        self._apart = {team._called[rank]: one for rank, one in every if rank not in place}
        self._called = [team._called[rank] for rank in ranks]
        self.sent_bytes = self.n_messages = 0


def _of(error: BaseException | None) -> str:
    return f"{type(error).__name__}: {error}" if error is not None else "ended"
