"""Let members in at a listening socket; strangers get a little time and a little room.

One thread serves all who connect. Whoever has proved nothing within ``HANDSHAKE_SECONDS`` is turned
away. At most ``MOST_WAITING`` wait at once; further ones wait in the system's queue.
"""

from __future__ import annotations

import queue
import selectors
import socket
import time
from collections.abc import Callable

from pyopencl_gbdt.device.team.handshake import Keys, Listening, StrangerError
from pyopencl_gbdt.lazy_dataclasses import dataclass

#: A member sends its hello as soon as it connects, and its proof as soon as it has the answer.
HANDSHAKE_SECONDS = 10.0
#: Each has a descriptor; many systems give a process 1024.
MOST_WAITING = 128
#: Seconds without accepting anybody after the system has refused a descriptor.
PAUSE = 0.5
#: Seconds between two looks whether the socket is still open.
_LOOK = 1.0


@dataclass(frozen=True)
class Arrived:
    """A member that has proved that it knows the key."""

    rank: int
    link: socket.socket
    keys: Keys


@dataclass
class _Waiting:
    """A connection whose other side has proved nothing yet."""

    link: socket.socket
    side: Listening
    until: float
    came: bytes = b""

    def read(self) -> Keys | None:
        """Take what has come; return the keys if the other side is known now.

        Raises
        ------
        StrangerError, OSError
        """
        more = self.link.recv(self.side.n_bytes - len(self.came))
        if not more:
            raise StrangerError
        self.came += more
        if len(self.came) < self.side.n_bytes:
            return None
        found = self.side.take(self.came)
        if isinstance(found, Keys):
            return found
        self.came = b""
        if self.link.send(found) < len(found):  # an empty buffer takes it whole
            raise StrangerError
        return None


class Arrivals:
    """Those who connect to a listening socket; ``run`` serves them in a thread of its own.

    Parameters
    ----------
    is_open : callable
        Tells whether to go on. After ``listener`` was closed, this must return False.
    meet : callable
        Returns the listening side of a new connection.

    Attributes
    ----------
    members : queue of Arrived
    """

    def __init__(
        self,
        listener: socket.socket,
        is_open: Callable[[], bool],
        meet: Callable[[], Listening],
    ) -> None:
        self.members: queue.SimpleQueue[Arrived] = queue.SimpleQueue()
        self._listener, self._is_open, self._meet = listener, is_open, meet
        self._waiting: dict[socket.socket, _Waiting] = {}
        self._accepts, self._again = False, 0.0
        self._selector = selectors.DefaultSelector()

    def run(self) -> None:
        """Serve those who connect until the socket is closed."""
        try:
            self._listener.setblocking(False)
            while self._is_open():
                self._serve()
        except (OSError, ValueError):
            if self._is_open():  # else the socket was closed in between
                raise
        finally:
            self._selector.close()
            for one in self._waiting.values():
                one.link.close()

    def known(self) -> set[int]:
        """Return the ranks of those who said who they are, and have not proved it yet.

        Whoever is in ``members`` afterwards, too, has just proved it.
        """
        return {one.side.other for one in list(self._waiting.values())}

    def _serve(self) -> None:
        """Wait for whoever connects or sends something; turn away those whose time is over."""
        self._register()
        for found, _ in self._selector.select(self._seconds()):
            if found.data is None:
                self._accept()
            else:
                self._read(found.data)
        now = time.monotonic()
        for one in [one for one in self._waiting.values() if one.until < now]:
            self._turn_away(one)

    def _register(self) -> None:
        """Look at the listening socket only while somebody may be accepted."""
        accepts = len(self._waiting) < MOST_WAITING and time.monotonic() >= self._again
        if accepts and not self._accepts:
            self._selector.register(self._listener, selectors.EVENT_READ)
        if self._accepts and not accepts:
            self._selector.unregister(self._listener)
        self._accepts = accepts

    def _seconds(self) -> float:
        """Return how long to wait at most."""
        now = time.monotonic()
        ends = [one.until for one in self._waiting.values()]
        if self._again > now:
            ends.append(self._again)
        return max(0.0, min([_LOOK, *(end - now for end in ends)]))

    def _accept(self) -> None:
        try:
            link, _ = self._listener.accept()
        except (BlockingIOError, ConnectionError):  # it is gone again
            return
        except OSError:  # no descriptor or no memory is left; the socket stays ready
            self._again = time.monotonic() + PAUSE
            return
        link.setblocking(False)  # whatever socket.setdefaulttimeout says
        one = _Waiting(link, self._meet(), time.monotonic() + HANDSHAKE_SECONDS)
        self._waiting[link] = one
        self._selector.register(link, selectors.EVENT_READ, one)

    def _read(self, one: _Waiting) -> None:
        try:
            keys = one.read()
        except BlockingIOError:
            return
        except (StrangerError, OSError):
            self._turn_away(one)
            return
        if keys is not None:
            self._selector.unregister(one.link)
            self.members.put(Arrived(one.side.other, one.link, keys))
            del self._waiting[one.link]  # after `members` has it: see `known`

    def _turn_away(self, one: _Waiting) -> None:
        self._forget(one)
        one.link.close()

    def _forget(self, one: _Waiting) -> None:
        del self._waiting[one.link]
        self._selector.unregister(one.link)
