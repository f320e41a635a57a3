"""How two members of a team prove to each other that they know the team's key.

    the one that connects                                    the one that listens
      hello: magic, its rank, the other's rank, nonce  --->
                                                       <---  nonce, proof
      proof                                            --->

A proof is the HMAC-SHA256, under the team's key, of who proves, both ranks and both nonces. So it
is worth nothing in another connection, from another rank or in the other direction: a stranger
gains nothing by passing it on. Keys that sign later messages come from the same bytes, one for each
direction. All that is sent has a fixed size; nothing of it is unpickled.

``Limits`` says how long members wait for each other.
"""

from __future__ import annotations

import hmac
import math
import os
import secrets
import socket
import struct
import time
from dataclasses import field

from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass

#: Environment variables, in seconds.
SILENCE, PATIENCE = "PYOPENCL_GBDT_TEAM_SILENCE", "PYOPENCL_GBDT_TEAM_PATIENCE"


_MOST_SECONDS = 1e6


@dataclass(frozen=True)
class Limits:
    """Seconds after which a member gives up another one.

    Attributes
    ----------
    silence : float
        Without a sign of life. A member gives one every second, also while it computes; one that
        died or was stopped gives none.
    patience : float
        Without the value that it owes, though it gives signs of life: longer than any member
        computes between two exchanges.
    """

    silence: float = 30.0
    patience: float = 600.0

    @classmethod
    def of_environment(cls) -> Limits:
        """Return the limits that environment variables set, or the defaults.

        Raises
        ------
        ParameterError
        """
        return cls(_of_variable(SILENCE, cls.silence), _of_variable(PATIENCE, cls.patience))

    @property
    def beat(self) -> float:
        """Seconds between two signs of life."""
        return min(1.0, self.silence / 10)


def _of_variable(name: str, default: float) -> float:
    text = os.environ.get(name)
    return seconds(text, name, default) if text else default


def seconds(given: object, name: str, default: float) -> float:
    """Return a number of seconds that clocks can wait.

    Raises
    ------
    ParameterError
    """
    try:
        found = float(str(given))
    except ValueError:
        found = math.nan
    if not 0 < found <= _MOST_SECONDS:
        raise ParameterError(
            f"{name}={given}: expected seconds above 0, at most {_MOST_SECONDS:g}, such as "
            f"{default:g}"
        )
    return found


_MAGIC = b"gbdt\0\0\0\1"
_NONCE_BYTES = 32
_HELLO = struct.Struct(f">8sII{_NONCE_BYTES}s")
#: Bytes of the three messages, in their order.
HELLO_BYTES, PROOF_BYTES = _HELLO.size, 32
ANSWER_BYTES = _NONCE_BYTES + PROOF_BYTES
_CONNECTS, _LISTENS = b"connects", b"listens"


class StrangerError(Exception):
    """The other side has not proved that it knows the key."""


@dataclass(frozen=True)
class Keys:
    """The keys that sign the messages of a connection, for one of its ends."""

    sends: bytes = field(repr=False)
    receives: bytes = field(repr=False)


@dataclass(frozen=True)
class _Session:
    """What both sides have said of a connection."""

    key: bytes
    hello: bytes
    nonce: bytes

    def _mac(self, purpose: bytes) -> bytes:
        said = purpose.ljust(32, b"\0") + self.hello + self.nonce
        return hmac.digest(self.key, said, "sha256")

    def proof(self, side: bytes) -> bytes:
        return self._mac(b"proof: " + side)

    def check(self, proof: bytes, side: bytes) -> None:
        if not hmac.compare_digest(proof, self.proof(side)):
            raise StrangerError

    def keys(self, side: bytes) -> Keys:
        sends, receives = self._mac(b"sent: " + _CONNECTS), self._mac(b"sent: " + _LISTENS)
        return Keys(sends, receives) if side == _CONNECTS else Keys(receives, sends)


class Listening:
    """The side that listens, in one connection.

    ``rank``, ``size``: the member's own rank, and the number of members: those behind it connect to
    it.
    """

    def __init__(self, key: bytes, rank: int, size: int) -> None:
        self._key, self._rank, self._size = key, rank, size
        self._session: _Session | None = None
        self.other = -1

    @property
    def n_bytes(self) -> int:
        """Number of bytes that the other side sends next."""
        return HELLO_BYTES if self._session is None else PROOF_BYTES

    def take(self, message: bytes) -> bytes | Keys:
        """Return the answer to a hello, or the keys after a proof.

        Raises
        ------
        StrangerError
        """
        if self._session is not None:
            self._session.check(message, _CONNECTS)
            return self._session.keys(_LISTENS)
        magic, other, rank, _ = _HELLO.unpack(message)
        if magic != _MAGIC or rank != self._rank or not rank < other < self._size:
            raise StrangerError
        self.other = other
        self._session = _Session(self._key, message, secrets.token_bytes(_NONCE_BYTES))
        return self._session.nonce + self._session.proof(_LISTENS)


def connect(link: socket.socket, key: bytes, rank: int, other: int, until: float) -> Keys:
    """Prove that this member knows the key, on the side that connects, once the other has.

    ``rank``, ``other``: this member's rank, and that of the member that is expected to listen.
    ``until``: on the clock of ``time.monotonic``.

    Raises
    ------
    StrangerError
        If the other side does not know the key, or is another member.
    TimeoutError, EOFError, OSError
    """
    hello = _HELLO.pack(_MAGIC, rank, other, secrets.token_bytes(_NONCE_BYTES))
    link.sendall(hello)
    answer = _received(link, ANSWER_BYTES, until)
    session = _Session(key, hello, answer[:_NONCE_BYTES])
    session.check(answer[_NONCE_BYTES:], _LISTENS)
    link.sendall(session.proof(_CONNECTS))
    return session.keys(_CONNECTS)


def _received(link: socket.socket, n_bytes: int, until: float) -> bytes:
    """Return so many bytes; one that sends them slowly gets no more time."""
    came = b""
    while len(came) < n_bytes:
        left = until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        link.settimeout(left)
        more = link.recv(n_bytes - len(came))
        if not more:
            raise EOFError("it closed the connection")
        came += more
    return came
