"""What the sums of a round cost where several workers share the rows: bytes, messages, seconds.

`pyopencl_gbdt/training/division.py` has the cost of a round, to which these are links.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.division import RoundCost, round_cost

#: Seconds that packing and unpacking take for each byte of the integers; AMD EPYC, Zen 5, one core.
PACKING = 0.2e-9
#: Workers of the simulation.
WORKERS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096)


@dataclass(frozen=True)
class Network:
    """A network between workers.

    Attributes
    ----------
    name : str
    latency : float
        Seconds of a small message.
    speed : float
        Bytes a second that a worker sends, while it receives as many.
    """

    name: str
    latency: float
    speed: float


#: Latencies are those of small messages between processes, as makers and benchmarks state them.
NETWORKS = (
    Network("1 GbE", 50e-6, 0.117e9),
    Network("25 GbE", 15e-6, 2.9e9),
    Network("400 Gb InfiniBand", 1.5e-6, 48e9),
)
#: Returns the seconds of a sum: network, workers, bytes, bytes a second that a worker adds up.
Way = Callable[[Network, int, float, float], float]


def to_all(net: Network, workers: int, n_bytes: float, sum_speed: float) -> float:
    """Return the seconds of a sum in which each worker sends its whole array to every other."""
    others = workers - 1
    return others * (net.latency + n_bytes / net.speed + n_bytes / sum_speed)


def in_slices(net: Network, workers: int, n_bytes: float, sum_speed: float) -> float:
    """Return the seconds of a sum in which each worker adds up a slice, and sends it to all."""
    part = n_bytes * (workers - 1) / workers
    return 2 * (workers - 1) * net.latency + 2 * part / net.speed + part / sum_speed


def in_halves(net: Network, workers: int, n_bytes: float, sum_speed: float) -> float:
    """Return the seconds of a sum by halves and doublings, as MPI has it for large arrays.

    Rabenseifner 2004, "Optimization of collective reduction operations": the bytes of slices, and
    2 log2(workers) messages.
    """
    part = n_bytes * (workers - 1) / workers
    steps = 2 * (workers - 1).bit_length()
    return steps * net.latency + 2 * part / net.speed + part / sum_speed


def by_features(net: Network, workers: int, n_bytes: float, sum_speed: float) -> float:
    """Return the seconds if a worker keeps the sums of its features, and tells its best splits.

    Half of the bytes of ``in_halves``; as MPI has it.
    """
    part = n_bytes * (workers - 1) / workers
    steps = 2 * (workers - 1).bit_length()
    return steps * net.latency + part / net.speed + part / sum_speed


def packed_features(net: Network, workers: int, n_bytes: float, sum_speed: float) -> float:
    """Return the seconds of ``by_features`` with 5 bytes of 8, and of packing them.

    Up to 2^15 rows in a bin need no more.
    """
    part = n_bytes * (workers - 1) / workers
    packing = part * PACKING + part / sum_speed * 3 / 8
    return by_features(net, workers, n_bytes * 5 / 8, sum_speed) + packing


def own_slices(net: Network, workers: int, n_bytes: float, sum_speed: float) -> float:
    """Return the seconds as ``by_features``, with a message to every other worker: over sockets."""
    part = n_bytes * (workers - 1) / workers
    return 2 * (workers - 1) * net.latency + part / net.speed + part / sum_speed


@dataclass(frozen=True)
class Workers:
    """Workers that add up over a network, each as fast as the others.

    Attributes
    ----------
    net : Network
    values_speed : float
        Values a second that a worker adds to histograms.
    sum_speed : float
        Bytes a second that a worker adds to others.
    way : callable
        How they add up.
    """

    net: Network
    values_speed: float
    sum_speed: float
    way: Way = in_halves

    def seconds(self, size: int, n_bytes: float, n_sums: int) -> float:
        """Return the seconds of some sums of so many bytes together, as ``TeamLink`` does."""
        if size == 1:
            return 0.0
        every, none = (self.way(self.net, size, n, self.sum_speed) for n in (n_bytes, 0.0))
        return every + (n_sums - 1) * none

    def round(self, size: int, params: Parameters, n_rows: int, n_features: int) -> RoundCost:
        """Return what a round costs that so many of them share."""
        return round_cost([self.values_speed] * size, params, n_rows, n_features, self)

    def best(self, params: Parameters, n_rows: int, n_features: int) -> int:
        """Return the number of workers from which twice as many are not 1.2 times as fast."""
        shape = params, n_rows, n_features
        for few, many in pairwise(WORKERS):
            if self.round(few, *shape).seconds < 1.2 * self.round(many, *shape).seconds:
                return few
        return WORKERS[-1]
