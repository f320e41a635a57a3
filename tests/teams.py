"""Members of teams: threads that talk over sockets, and devices of one process."""

import threading

from pyopencl_gbdt.device.team.handshake import Limits
from pyopencl_gbdt.device.team.rendezvous import Rendezvous

LIMITS = Limits(silence=5.0, patience=60.0)


def at_once(work, each):
    """Run ``work(one)`` for each one in a thread of its own; return results or errors."""
    found = {}

    def run(place, one):
        try:
            found[place] = work(one)
        except BaseException as error:
            found[place] = error

    threads = [threading.Thread(target=run, args=given) for given in enumerate(each)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    return [found[place] for place in range(len(threads))]


def members(size, work, limits=LIMITS, host="127.0.0.1"):
    """Run ``work(team, rank)`` in threads that talk over sockets; return results or errors."""
    doors = [Rendezvous(host, b"secret") for _ in range(size)]
    addresses = [door.address for door in doors]

    def run(rank):
        with doors[rank].join(rank, addresses, limits) as team:
            return work(team, rank)

    return at_once(run, range(size))
