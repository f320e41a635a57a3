"""Members of teams: threads that talk over sockets, and devices of one process."""

from __future__ import annotations

import threading

from pyopencl_gbdt.device.team.handshake import Limits
from pyopencl_gbdt.device.team.rendezvous import Rendezvous

LIMITS = Limits(silence=5.0, patience=60.0)


def members(size, work, limits=LIMITS, host="127.0.0.1"):
    """Run ``work(team, rank)`` in threads that talk over sockets; return results or errors."""
    doors = [Rendezvous(host, b"secret") for _ in range(size)]
    found = [None] * size

    def run(rank):
        try:
            team = doors[rank].join(rank, [door.address for door in doors], limits)
            found[rank] = work(team, rank)
        except BaseException as error:
            found[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    return found
