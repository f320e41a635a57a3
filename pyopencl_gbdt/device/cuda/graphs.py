"""CUDA graphs: kernels whose launches follow one another are enqueued by one call.

A launch through CuPy takes the host about 10 us, and members of a team share one interpreter. A
graph of the same launches, recorded once, takes as long as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from pyopencl_gbdt.device.program import Action, Launch
from pyopencl_gbdt.device.team.nccl import NcclSum, neighbours_joined


class _Replay:
    """Enqueues a recorded graph; a class, as a traceback would keep a closure's memory alive."""

    def __init__(self, device: Any, graph: Any, launches: list[Action]) -> None:
        self.device, self.graph = device, graph
        self.launches = launches  # keep the kernels and their arrays alive

    def __call__(self) -> None:
        self.device.send()
        self.device.n_launches += 1
        with self.device.cuda, self.device.guarded("launching a graph of kernels"):
            self.graph.launch(self.device.stream)


def recorded(device: Any, actions: Sequence[Action]) -> list[Action]:
    """Return the same actions; launches, and sums by NCCL, that follow one another are one graph.

    Parameters
    ----------
    device : CudaDevice
        Not profiled: a graph has no times of its kernels.
    actions : sequence of Action
        Actions that run on the host stay as they are.
    """
    found: list[Action] = []
    for together, run in groupby(actions, _is_fixed):
        own = list(run)
        found += [_graph(device, own)] if together and len(own) > 1 else own
    return found


def _is_fixed(action: Action) -> bool:
    return isinstance(action, Launch) or (isinstance(action, NcclSum) and action.fixed)


def _graph(device: Any, launches: list[Action]) -> Launch:
    counted, unsent = device.n_launches, device.unsent
    device.unsent = None  # first contents go up when the graph runs, not as a part of it
    with device.cuda, device.guarded("recording kernels"):
        device.stream.begin_capture()
        try:
            for action in neighbours_joined(launches):
                action()
        finally:
            graph = device.stream.end_capture()
        graph.upload(device.stream)
    device.n_launches, device.unsent = counted, unsent  # nothing has run yet
    return Launch(f"{len(launches)} kernels", _Replay(device, graph, launches))
