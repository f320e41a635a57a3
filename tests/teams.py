"""Members of teams: threads that talk over sockets, and devices of one process."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import pairwise

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.device.team.limits import Limits
from pyopencl_gbdt.device.team.rendezvous import Rendezvous
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.device_team import leading
from pyopencl_gbdt.training.fitting import StartingPoint, Task

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


def trees_together(
    devices: Sequence[Device], params: Parameters, objective: Objective, data: Dataset, start: float
) -> list[Tree]:
    """Train as many rounds as ``params`` say from a margin; each device has an equal part."""
    edges = [data.n_rows * k // len(devices) for k in range(len(devices) + 1)]
    task = Task(params, objective, data, (), {}, StartingPoint(start, start))
    with leading(devices, task, list(pairwise(edges))) as fit:
        for _ in range(params.n_estimators):
            fit.step()
        return fit.model().ensemble.trees
