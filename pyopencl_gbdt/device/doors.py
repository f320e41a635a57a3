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
from multiprocessing.connection import (
    Client,
    Connection,
    Listener,
    answer_challenge,
    deliver_challenge,
)
from typing import Any

from pyopencl_gbdt.device.limits import Limits
from pyopencl_gbdt.device.socket_team import SocketTeam
from pyopencl_gbdt.errors import TeamError

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
        The name of this host, or its address, as other hosts know it.
    key : bytes
        A secret that all members know: what arrives is unpickled.

    Attributes
    ----------
    address : (str, int)
        Host name and port, which the system chooses.
    """

    def __init__(self, host: str, key: bytes) -> None:
        self._listener, self._key = Listener((host, 0), backlog=_BACKLOG), key
        self._is_open = True
        self.address: Address = host, int(self._listener.address[1])

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
        self._listener.close()

    def _accept(self, arrived: queue.Queue[tuple[int, Connection]]) -> None:
        while self._is_open:
            with suppress(OSError):
                come = self._listener.accept()
                threading.Thread(target=self._admit, args=(come, arrived), daemon=True).start()

    def _admit(self, come: Connection, arrived: queue.Queue[tuple[int, Connection]]) -> None:
        """Take in a member; a stranger has no key, and may say nothing at all."""
        with suppress(AuthenticationError, OSError, EOFError):
            deliver_challenge(come, self._key)
            answer_challenge(come, self._key)
            arrived.put((come.recv(), come))


def _connected(address: Address, key: bytes, until: float, rank: int) -> Connection:
    """Return a connection to a member, as soon as it joins."""
    try:
        made: Connection = _within(until, lambda: Client(address, authkey=key))
    except (OSError, EOFError) as error:
        raise TeamError(f"rank {rank} ended before it joined ({error})") from None
    except queue.Empty:
        raise TeamError(f"rank {rank} at {address} does not join") from None
    return made


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
