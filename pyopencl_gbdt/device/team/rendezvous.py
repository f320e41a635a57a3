"""How the members of a team of processes connect with each other.

Each member opens a door, an address of its own. Whoever starts the processes, such as Dask, tells
all members the addresses and a secret key. Then each connects to the members before it, and waits
for those behind it. ``handshake`` says how both sides of a connection prove that they know the key.
"""

from __future__ import annotations

import queue
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress

from pyopencl_gbdt.device.team.arrivals import HANDSHAKE_SECONDS, Arrivals
from pyopencl_gbdt.device.team.channel import Channel
from pyopencl_gbdt.device.team.handshake import Limits, Listening, StrangerError, connect
from pyopencl_gbdt.device.team.sockets import SocketTeam
from pyopencl_gbdt.errors import ParameterError, TeamError

#: Host name and port.
Address = tuple[str, int]
#: Seconds between two looks whether a member that is waited for still has its door open.
_LOOK = 1.0
#: Members that may wait at a door.
_BACKLOG = 1024


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
