"""How the members of a team of processes connect with each other.

Each member opens a door, an address of its own. Whoever starts the processes, such as Dask, tells
all members the addresses and a secret key. Then each connects to the members before it, and waits
for those behind it. ``handshake`` says how both sides of a connection prove that they know the key.

Strangers at a door get a little time and a little room. One thread serves all who connect. Whoever
has proved nothing within ``HANDSHAKE_SECONDS`` is turned away. At most ``MOST_WAITING`` wait at
once; further ones wait in the system's queue.
"""

from __future__ import annotations

import queue
import selectors
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from pyopencl_gbdt.device.team.channel import Channel
from pyopencl_gbdt.device.team.handshake import Keys, Limits, Listening, StrangerError, connect
from pyopencl_gbdt.device.team.sockets import SocketTeam
from pyopencl_gbdt.errors import ParameterError, TeamError
from pyopencl_gbdt.lazy_dataclasses import dataclass

#: Host name and port.
Address = tuple[str, int]
#: Seconds between two looks whether a socket is still open: the own one, or the door of a member
#: that is waited for.
_LOOK = 1.0
#: Members that may wait at a door.
_BACKLOG = 1024

#: A member sends its hello as soon as it connects, and its proof as soon as it has the answer.
HANDSHAKE_SECONDS = 10.0
#: Each has a descriptor; many systems give a process 1024.
MOST_WAITING = 128
#: Seconds without accepting anybody after the system has refused a descriptor.
PAUSE = 0.5


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


class Rendezvous:
    """A member's own address, at which others connect to it.

    ``host``: the name of this host, or its address, IPv4 or IPv6, as other hosts know it.
    ``key``: a secret that all members know, such as ``secrets.token_bytes(32)``: who knows it can
    run code in the members, as what arrives is unpickled.

    Attributes
    ----------
    address : (str, int)
        Host name and port, which the system chooses.

    Raises
    ------
    ParameterError
        If this host has no such name or address, or the key is empty.
    """

    def __init__(self, host: str, key: bytes) -> None:
        if not isinstance(key, bytes) or not key:
            raise ParameterError(
                f"key of type {type(key).__name__}: expected bytes, one at least; give all members "
                "the same secrets.token_bytes(32)"
            )
        host = host.removeprefix("[").removesuffix("]")  # as IPv6 stands in addresses with a port
        self._listener, self._key = listening(host), key
        self._is_open = True
        self.address: Address = host, int(self._listener.getsockname()[1])

    def join(
        self, rank: int, addresses: Sequence[Address], limits: Limits | None = None
    ) -> SocketTeam:
        """Connect to all members; all of them call this, with the same addresses.

        Parameters
        ----------
        rank : int
            The place of this door's address among the addresses.
        addresses : sequence of (str, int)
            All doors are open already.
        limits : Limits or None
            None takes those of the environment.

        Raises
        ------
        TeamError
            If a member's door is closed, it does not connect in time, or it has another key.
        """
        limits = limits or Limits.of_environment()
        arrivals = Arrivals(
            self._listener,
            lambda: self._is_open,
            lambda: Listening(self._key, rank, len(addresses)),
        )
        threading.Thread(target=arrivals.run, daemon=True, name="arriving members").start()
        found: dict[int, Channel] = {}
        begun: dict[int, float] = {}  # when a member's door was first found closed
        until = time.monotonic() + limits.patience
        try:
            for other, address in enumerate(addresses[:rank]):
                found[other] = _connected(address, self._key, until, rank, other)
            while len(found) < len(addresses) - 1:
                if _take_in(arrivals, found, _LOOK):
                    continue
                late = [i for i in range(len(addresses)) if i not in found and i != rank]
                closed = [other for other in late if not _is_open(addresses[other])]
                known = arrivals.known()  # one that joined before it closed is known, or in `found`
                while _take_in(arrivals, found, 0.0):
                    pass
                now = time.monotonic()
                over = [i for i in closed if now - begun.setdefault(i, now) > HANDSHAKE_SECONDS]
                gone = [i for i in closed if i not in found and (i in over or i not in known)]
                if gone or time.monotonic() > until:
                    why = "ended" if gone else f"did not connect within {limits.patience:g} s"
                    raise TeamError(f"rank {(gone or late)[0]} {why}, so rank {rank} ended too")
        except BaseException:
            for channel in found.values():
                channel.close(None, limits)
            raise
        finally:
            self.close()
        return SocketTeam(rank, found, limits)

    def close(self) -> None:
        """Let nobody in from now on."""
        self._is_open = False
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits for members
        self._listener.close()


def _take_in(arrivals: Arrivals, found: dict[int, Channel], seconds: float) -> bool:
    """Add the next member that arrives within so many seconds; tell whether one did."""
    try:
        one = arrivals.members.get(timeout=seconds)
    except queue.Empty:
        return False
    if one.rank in found:
        one.link.close()
    else:
        found[one.rank] = Channel(one.link, one.keys)
    return True


def listening(host: str, port: int = 0) -> socket.socket:
    """Return a socket that listens at a port of this host; 0 is a free one.

    Raises
    ------
    ParameterError
        If this host has no such name or address, or the port is taken.
    """
    why: OSError | None = None
    try:
        for family, _, _, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
            made = socket.socket(family)
            try:
                made.bind(address)
                made.listen(_BACKLOG)
            except OSError as error:
                made.close()
                why = why or error
            else:
                return made
    except OSError as error:  # the name is unknown
        why = error
    raise ParameterError(
        f"host={host!r}: expected a name or address of this host ({why}); give one by which the "
        f"other hosts reach it{', and a free port' if port else ''}"
    )


def _connected(address: Address, key: bytes, until: float, rank: int, other: int) -> Channel:
    """Return a channel to a member, as soon as it joins."""
    link: socket.socket | None = None
    try:
        link = socket.create_connection(address, timeout=max(0.1, until - time.monotonic()))
        channel = Channel(link, connect(link, key, rank, other, until))
    except TimeoutError:
        why = f"rank {other} at {address} does not join"
    except (OSError, EOFError) as error:
        why = f"rank {other} ended before it joined ({error})"
    except StrangerError:
        why = (
            f"what answers at {address}, the address of rank {other}, does not know the key: give "
            "all members the same key; if they have it, that rank has ended and a stranger took "
            "its address"
        )
    else:
        return channel
    if link is not None:
        link.close()
    raise TeamError(why)


def _is_open(address: Address) -> bool:
    """Tell whether a member's door is open."""
    try:
        socket.create_connection(address, timeout=5).close()
    except ConnectionRefusedError:
        return False
    except OSError:
        return True  # a busy host
    return True
