"""Time rounds of a training that local processes share, by the ways to add up a level.

One process a rank trains the same rows with sums of all features, of own features, and with those
that the library chooses; the ways take turns.
"""

from __future__ import annotations

import math
import multiprocessing
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.callbacks import TrainingCallback
from pyopencl_gbdt.device.team.handshake import Limits
from pyopencl_gbdt.device.team.rendezvous import Rendezvous
from pyopencl_gbdt.device.timing import Stopwatch, middle
from pyopencl_gbdt.growth import level_sums

#: Smallest levels of which a rank keeps the sums of its own features alone, in bytes.
WAYS = {"all features": math.inf, "own features": 0, "chosen": level_sums.OWN_BYTES}


@dataclass(frozen=True)
class Training:
    """A training that is timed.

    Attributes
    ----------
    n_rows, n_features : int
        Of all ranks together; normal values.
    params : dict
        Parameters, ``n_rounds`` and repeats apart.
    n_rounds, n_turns : int
        Rounds of a training, of which the first two are not timed, and turns of all ways.
    """

    n_rows: int
    n_features: int
    params: dict[str, Any]
    n_rounds: int = 12
    n_turns: int = 2


class _Laps(TrainingCallback):
    def __init__(self) -> None:
        self.watch = Stopwatch()
        self.seconds: list[float] = []

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        self.seconds.append(self.watch.lap())
        return False


def rank_of(rank: int, size: int, pipe: Any, training: Training) -> None:
    """Train as one of several processes; send the seconds of a round by way."""
    rng = np.random.default_rng(1)
    values = rng.normal(size=(training.n_rows, training.n_features)).astype(np.float32)
    label = values[:, 0] * values[:, 1] + values[:, 2] + rng.normal(size=training.n_rows)
    own = slice(*(training.n_rows * k // size for k in (rank, rank + 1)))
    data = Dataset(values[own], label[own])
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(training.n_turns):
        for way, least in WAYS.items():
            level_sums.OWN_BYTES = least
            door = Rendezvous("127.0.0.1", b"bench")
            pipe.send(door.address)
            laps, given = _Laps(), {"verbosity": 0, **training.params}
            with door.join(rank, pipe.recv(), Limits()) as team:
                train(given, data, training.n_rounds, callbacks=[laps], communicator=team)
            seconds[way] += laps.seconds[2:]
    pipe.send({way: middle(its) for way, its in seconds.items() if its})


def timed(size: int, training: Training) -> dict[str, float]:
    """Return the median seconds of a round by way, as rank 0 sees them."""
    context = multiprocessing.get_context("spawn")
    pipes, running = [], []
    for rank in range(size):
        ours, theirs = context.Pipe()
        process = context.Process(target=rank_of, args=(rank, size, theirs, training))
        process.start()
        pipes.append(ours)
        running.append(process)
    for _ in range(training.n_turns * len(WAYS)):
        addresses = [pipe.recv() for pipe in pipes]
        for pipe in pipes:
            pipe.send(addresses)
    found: list[dict[str, float]] = [pipe.recv() for pipe in pipes]
    for process in running:
        process.join()
    return found[0]


def show(sizes: list[int], shape: str, depths: list[int], device: str) -> None:
    """Print the time of a round for each number of processes and each depth."""
    n_rows, n_features = (int(number) for number in shape.split("x"))
    print(f"\nms a round, {n_rows} x {n_features}, all processes on {device}")
    print("processes  depth" + "".join(f"{way:>15}" for way in WAYS))
    for size in sizes:
        for depth in depths:
            params = {"device": device, "max_depth": depth}
            found = timed(size, Training(n_rows, n_features, params))
            print(f"{size:9}  {depth:5}" + "".join(f"{1e3 * found[way]:15.2f}" for way in WAYS))
