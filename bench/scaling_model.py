"""What a round costs where several workers share the rows: bytes, messages, seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

#: Bytes of a code's sums: gradient and Hessian, 8 each.
CODE_BYTES = 16
#: Sums of a tree beside its histograms: exponents, roots, and children of every level but one.
SMALL_SUMS = 2
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


@dataclass(frozen=True)
class Shape:
    """A training.

    Attributes
    ----------
    n_rows, n_features, n_bins, depth : int
    """

    n_rows: int
    n_features: int
    n_bins: int
    depth: int

    def level_bytes(self, level: int) -> int:
        """Return the bytes of the histograms that a level builds: of each split's smaller child."""
        nodes = 1 if level == 0 else 1 << (level - 1)
        return nodes * self.n_features * self.n_bins * CODE_BYTES


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


def round_seconds(
    shape: Shape,
    net: Network,
    workers: int,
    values_speed: float,
    sum_speed: float,
    way: Way = in_halves,
) -> tuple[float, float]:
    """Return the seconds of a round's histograms, and of its sums over the workers.

    Parameters
    ----------
    shape : Shape
    net : Network
    workers : int
    values_speed : float
        Values a second that a worker adds to histograms.
    sum_speed : float
        Bytes a second that a worker adds to others.
    way : callable
    """
    values = shape.n_rows * shape.n_features * (1 + 0.5 * (shape.depth - 1))
    work = values / workers / values_speed
    if workers == 1:
        return work, 0.0
    sums = sum(
        way(net, workers, shape.level_bytes(level), sum_speed) for level in range(shape.depth)
    )
    small = (SMALL_SUMS + shape.depth - 1) * way(net, workers, 4096, sum_speed)
    return work, sums + small


def best_workers(shape: Shape, net: Network, values_speed: float, sum_speed: float) -> int:
    """Return the number of workers from which twice as many are not 1.2 times as fast."""
    for few, many in pairwise(WORKERS):
        first = sum(round_seconds(shape, net, few, values_speed, sum_speed))
        second = sum(round_seconds(shape, net, many, values_speed, sum_speed))
        if first / second < 1.2:
            return few
    return WORKERS[-1]
