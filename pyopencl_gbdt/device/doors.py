"""How the members of a team of processes connect with each other.

Each member opens a door, an address of its own. Whoever starts the processes, such as Dask, tells
all members the addresses and a secret key. Then each connects to the members before it, and waits
for those behind it.
"""

from __future__ import annotations

import queue
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from typing import Any

from pyopencl_gbdt.device.limits import Limits
from pyopencl_gbdt.device.socket_team import SocketTeam
from pyopencl_gbdt.errors import ParameterError, TeamError

#: Host name and port.
Address = tuple[str, int]
#: Seconds between two looks whether a member that is waited for still has its door open.
_LOOK = 1.0
#: Members that may wait at a door.
_BACKLOG = 1024


class Door:
    """A member's own address, at which others connect to it.

    Parameters
    ----------
    host : str
        The name of this host, or its address, IPv4 or IPv6, as other hosts know it.
    key : bytes
        A secret that all members know: what arrives is unpickled.

    Attributes
    ----------
    address : (str, int)
        Host name and port, which the system chooses.

    Raises
    ------
    ParameterError
        If this host has no such name or address.
    """

    def __init__(self, host: str, key: bytes) -> None:
        host = host.removeprefix("[").removesuffix("]")  # as IPv6 stands in addresses with a port
        self._listener, self._key = _listening(host), key
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
            If a member's door is closed, or it does not connect in time.
        """
        limits = limits or Limits.of_environment()
        arrived: queue.Queue[tuple[int, Connection]] = queue.Queue()
        threading.Thread(target=self._accept, args=(arrived,), daemon=True).start()
        found: dict[int, Connection] = {}
        until = time.monotonic() + limits.patience
        try:
            for other, address in enumerate(addresses[:rank]):
                found[other] = _connected(address, self._key, until, other)
                found[other].send(rank)
            while len(found) < len(addresses) - 1:
                with suppress(queue.Empty):
                    other, connection = arrived.get(timeout=_LOOK)
                    found[other] = connection
                    continue
                late = [i for i in range(len(addresses)) if i not in found and i != rank]
                closed = [other for other in late if not _is_open(addresses[other])]
                while not arrived.empty():  # it connected, and closed its door
                    other, connection = arrived.get()
                    found[other] = connection
                gone = [other for other in closed if other not in found]
                if gone or time.monotonic() > until:
                    why = "ended" if gone else f"did not connect within {limits.patience:g} s"
                    raise TeamError(f"rank {(gone or late)[0]} {why}, so rank {rank} ended too")
        finally:
            self.close()
        return SocketTeam(rank, found, limits)

    def close(self) -> None:
        """Let nobody in from now on."""
        self._is_open = False
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that waits for members
        self._listener.close()

    def _accept(self, arrived: queue.Queue[tuple[int, Connection]]) -> None:
        while self._is_open:
            with suppress(OSError):
                come, _ = self._listener.accept()
                threading.Thread(target=self._admit, args=(come, arrived), daemon=True).start()

    def _admit(self, come: socket.socket, arrived: queue.Queue[tuple[int, Connection]]) -> None:
        """Take in a member; a stranger has no key, and may say nothing at all."""
        come.settimeout(None)  # whatever socket.setdefaulttimeout says
        with suppress(AuthenticationError, OSError, EOFError):
            connection: Connection = Connection(come.detach())
            deliver_challenge(connection, self._key)
            answer_challenge(connection, self._key)
            arrived.put((connection.recv(), connection))


def _listening(host: str) -> socket.socket:
    """Return a socket that listens at a free port of this host."""
    why: OSError | None = None
    try:
        for family, _, _, _, address in socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM):
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
        "other hosts reach it"
    )


def _connected(address: Address, key: bytes, until: float, rank: int) -> Connection:
    """Return a connection to a member, as soon as it joins."""
    try:
        made: Connection = _within(until, lambda: _known(address, key))
    except (OSError, EOFError) as error:
        raise TeamError(f"rank {rank} ended before it joined ({error})") from None
    except AuthenticationError:
        raise TeamError(f"rank {rank} at {address} has another key: give all the same") from None
    except queue.Empty:
        raise TeamError(f"rank {rank} at {address} does not join") from None
    return made


def _known(address: Address, key: bytes) -> Connection:
    """Return a connection to a door, once both sides have proved that they know the key."""
    made = socket.create_connection(address)
    made.settimeout(None)
    connection: Connection = Connection(made.detach())
    answer_challenge(connection, key)
    deliver_challenge(connection, key)
    return connection


def _within(until: float, work: Callable[[], Any]) -> Any:
    """Return what a function returns; raise ``queue.Empty`` if it takes longer."""
    results: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue()

    def run() -> None:
        try:
            results.put((work(), None))
        except BaseException as error:
            results.put((None, error))

    threading.Thread(target=run, daemon=True).start()
    result, error = results.get(timeout=max(0.1, until - time.monotonic()))
    if error is not None:
        raise error
    return result


def _is_open(address: Address) -> bool:
    """Tell whether a member's door is open."""
    try:
        socket.create_connection(address, timeout=5).close()
    except ConnectionRefusedError:
        return False
    except OSError:
        return True  # a busy host
    return True
