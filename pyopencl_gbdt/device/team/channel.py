"""A connection between two members of a team: whole messages, signs of life, and limits of time.

    | kind: 1 byte | size: 8 bytes | signature: 16 bytes | so many bytes |   a sign of life: none

A signature is a BLAKE2b of kind, size, the message's number and its bytes, under a key of this
connection and direction. A message that somebody on the network has made, changed, repeated or left
out ends the connection and is not handed on. The bytes of ``NUMBERS``, which are added up and never
unpickled, are not signed: signed, sums of 64 KiB to 8 MiB took 1.5 to 4 times as long (2 processes,
2 cores of an AMD EPYC, loopback).

Nothing blocks in here: a member that waits for the other one, to take or to send bytes, looks every
second how long it has heard nothing, also in the middle of a message.
"""

from __future__ import annotations

import hashlib
import hmac
import select
import socket
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pyopencl_gbdt.device.team.handshake import Keys, Limits

#: What a message is.
VALUE, NUMBERS, FAILURE, _BEAT = b"V", b"N", b"F", b"B"
_SIGNATURE_BYTES = 16
_HEAD = struct.Struct(f"<cQ{_SIGNATURE_BYTES}s")
HEAD_BYTES = _HEAD.size
#: Bytes of a message up to which its head is copied in front of it, to be sent at once.
_SMALL = 1 << 16


class LostError(ConnectionError):
    """The other member is gone; the text says how that was noticed, as in "rank 1 ended"."""


class OtherKindError(Exception):
    """The other member sent a message of another kind than the one that was expected."""

    def __init__(self, kind: bytes, data: bytearray) -> None:
        super().__init__(kind)
        self.kind, self.data = kind, data


class SaidError(Exception):
    """The other member failed, and said why: the text."""


class _Signatures:
    """Signatures of the messages of one direction, in their order."""

    def __init__(self, key: bytes) -> None:
        self._key, self._number = key, 0

    def next(self, kind: bytes, view: memoryview | bytearray) -> bytes:
        """Return the signature of the next message."""
        begins = struct.pack("<cQQ", kind, len(view), self._number)
        found = hashlib.blake2b(begins, key=self._key, digest_size=_SIGNATURE_BYTES)
        if kind != NUMBERS:
            found.update(view)
        self._number += 1
        return found.digest()


class Channel:
    """One end of a connection. One thread sends and receives; another may send signs of life.

    ``link``: both ends know each other already.

    Attributes
    ----------
    is_gone : bool
        Whether a sign of life found no other end.
    is_whole : bool
        Whether every message was sent to its end. After one that an exception has cut, nothing can
        be sent.
    """

    def __init__(self, link: socket.socket, keys: Keys) -> None:
        self._socket = link
        self._sent, self._received = _Signatures(keys.sends), _Signatures(keys.receives)
        with suppress(OSError):
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setblocking(False)
        self._sending = threading.Lock()
        self._rest = b""  # of a sign of life
        self._head, self._filled = bytearray(_HEAD.size), 0
        self._body: bytearray | None = None
        self._came: deque[tuple[bytes, bytearray]] = deque()
        self.is_gone, self.is_whole = False, True
        self._n_read = 0
        self._came_before, self._came_at = (-1, 0), 0.0  # bytes that are read and unread, and when

    # -- messages --------------------------------------------------------------------------
    def send(
        self, kind: bytes, data: Any, limits: Limits, look: Callable[[], None] = lambda: None
    ) -> None:
        """Send a message.

        Parameters
        ----------
        data : bytes-like
        look : callable
            Is called while this waits; may raise an error.

        Raises
        ------
        LostError, SaidError
        """
        view = memoryview(data)
        view = view.cast("B") if view.nbytes else memoryview(b"")
        clock = _Clock(limits)
        with self._sending:
            if not self.is_whole:
                raise LostError("gets no more messages, as one was cut")
            self.is_whole = False
            head = self._head_of(kind, view)
            if view.nbytes <= _SMALL:
                self._put(memoryview(self._rest + head + view), clock, look)
            else:
                self._put(memoryview(self._rest + head), clock, look)
                self._put(view, clock, look)
            self._rest, self.is_whole = b"", True

    def receive(
        self, expected: bytes, limits: Limits, look: Callable[[], None] = lambda: None
    ) -> bytearray:
        """Return the next message, of the expected kind; the rest is as for ``send``.

        Raises
        ------
        OtherKindError
            If the message is of another kind.
        """
        clock = _Clock(limits)
        while not self._came:
            if self._take_in(clock):
                continue
            look()
            clock.check("sent nothing")
            self._wait(clock)
        kind, data = self._came.popleft()
        if kind == FAILURE:
            raise SaidError(data.decode())
        if kind != expected:
            raise OtherKindError(kind, data)
        return data

    def beat(self) -> None:
        """Send a sign of life, unless something else is being sent."""
        if not self._sending.acquire(blocking=False):
            return
        try:
            if self.is_whole:
                self._rest = self._rest or self._head_of(_BEAT, memoryview(b""))
                self._rest = self._rest[self._socket.send(self._rest) :]
        except BlockingIOError:
            pass  # the other member has not read the last ones
        except OSError:
            self.is_gone = True
        finally:
            self._sending.release()

    def has_ended(self, limits: Limits) -> bool:
        """Tell whether the other member closed its end, or gives no sign of life; reads nothing.

        For a thread that looks while nobody receives: a member that sends a large message waits
        until it is read, and gives no signs of life. Linux only, as NCCL is.
        """
        import fcntl
        import termios

        poll, now = select.poll(), time.monotonic()
        poll.register(self._socket, select.POLLRDHUP)
        if poll.poll(0):
            return True
        unread = bytearray(4)
        fcntl.ioctl(self._socket, termios.FIONREAD, unread)
        came = self._n_read, int.from_bytes(unread, sys.byteorder)
        if came != self._came_before or came[1] > _SMALL:
            self._came_before, self._came_at = came, now
        return now - self._came_at > limits.silence

    def close(self, why: str | None, limits: Limits) -> None:
        """Close the connection; say why first, if there is a reason and the other end listens."""
        with suppress(OSError, SaidError):
            if why is not None:
                beat = Limits(limits.beat, limits.beat)
                if self._sending.acquire(timeout=limits.beat):
                    self._sending.release()
                    self.send(FAILURE, why.encode(), beat)
            self._socket.shutdown(socket.SHUT_WR)
            while self._socket.recv(_SMALL):  # what is unread would take back what was sent
                pass
        self._socket.close()

    # -- bytes -----------------------------------------------------------------------------
    def _head_of(self, kind: bytes, view: memoryview) -> bytes:
        """Return the head of the next message to send."""
        return _HEAD.pack(kind, view.nbytes, self._sent.next(kind, view))

    def _put(self, view: memoryview, clock: _Clock, look: Callable[[], None]) -> None:
        while view.nbytes:
            try:
                view = view[self._socket.send(view) :]
                clock.moved()
                continue
            except BlockingIOError:
                pass
            except OSError:
                self._said()
                raise LostError("ended") from None
            self._take_in(clock)
            if self._came and self._came[-1][0] == FAILURE:
                raise SaidError(self._came.pop()[1].decode())
            look()
            clock.check("took nothing")
            self._wait(clock, to_send=True)

    def _take_in(self, clock: _Clock) -> bool:
        """Read what has come, up to the end of a message; tell whether anything has."""
        came = False
        while True:
            into = memoryview(self._head if self._body is None else self._body)
            if self._filled < into.nbytes:
                try:
                    n_bytes = self._socket.recv_into(into[self._filled :])
                except BlockingIOError:
                    return came
                except OSError:
                    n_bytes = 0
                if not n_bytes:
                    raise LostError("ended")
                came, self._filled = True, self._filled + n_bytes
                self._n_read += n_bytes
                clock.heard()
            if self._body is not None:
                clock.moved()
            if self._filled < into.nbytes:
                continue
            kind, size, signature = _HEAD.unpack(self._head)
            if self._body is None and kind != _BEAT:
                self._body, self._filled = bytearray(size), 0
                continue
            body, self._body, self._filled = self._body, None, 0
            expected = self._received.next(kind, bytearray() if body is None else body)
            if not hmac.compare_digest(signature, expected):
                raise LostError(
                    "sent a message with a wrong signature (somebody on the network changes "
                    "messages: use a network that you trust)"
                )
            if body is not None:
                self._came.append((kind, body))
                return True

    def _said(self) -> None:
        """Raise what the other member said before it ended, if it did."""
        with suppress(LostError):
            while self._take_in(_Clock(Limits())):
                kind, data = self._came[-1] if self._came else (b"", b"")
                if kind == FAILURE:
                    raise SaidError(data.decode())

    def _wait(self, clock: _Clock, *, to_send: bool = False) -> None:
        """Wait until bytes come, or can be sent, for a part of the limit."""
        if hasattr(select, "poll"):
            poll = select.poll()
            poll.register(self._socket, select.POLLIN | (select.POLLOUT if to_send else 0))
            poll.poll(1000 * clock.step)
        else:
            own = [self._socket]
            select.select(own, own if to_send else [], [], clock.step)


class _Clock:
    """How long the other member has given no sign of life, and has moved no message."""

    def __init__(self, limits: Limits) -> None:
        self._limits, self.step = limits, min(1.0, limits.silence / 4)
        self._heard = self._moved = time.monotonic()

    def heard(self) -> None:
        """Note that something has come."""
        self._heard = time.monotonic()

    def moved(self) -> None:
        """Note that bytes of a message have come or were sent."""
        self._heard = self._moved = time.monotonic()

    def check(self, what: str) -> None:
        """Raise ``LostError`` if the other member is to be given up."""
        now = time.monotonic()
        if now - self._heard > self._limits.silence:
            raise LostError(f"gave no sign of life for {now - self._heard:.0f} s")
        if now - self._moved > self._limits.patience:
            raise LostError(f"{what} for {now - self._moved:.0f} s")
