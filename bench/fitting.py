"""Trains a shape with one system and takes the times: what a measuring process does."""

from __future__ import annotations

import gc
import hashlib
import statistics
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench.gpu_memory import GpuMemory
from bench.host import peak_bytes
from bench.ours import Ours
from bench.peers import PEERS
from bench.system import F32, Settings, System
from pyopencl_gbdt.comparison.shapes import Shape
from pyopencl_gbdt.device.timing import Stopwatch, clock, middle
from pyopencl_gbdt.metrics import auc, logloss, mlogloss, rmse

#: Groups of rounds that are timed, in one fit of one model.
_GROUPS = 3


@dataclass(frozen=True)
class Task:
    """One shape for one system.

    Attributes
    ----------
    system : str
        ``ours`` or a peer's name.
    repeats : int
        Fits after the cold one.
    budget : float
        Seconds after which no further fit begins.
    kind : type of System or None
        None: the one that `bench.peers` or `bench.ours` has under this name.
    """

    shape: Shape
    system: str
    settings: Settings
    repeats: int
    budget: float
    kind: type[System] | None = None


@dataclass
class Samples:
    """Seconds, as measured."""

    setup: list[float] = field(default_factory=list)
    first_round: list[float] = field(default_factory=list)
    rounds: list[float] = field(default_factory=list)
    predict: list[float] = field(default_factory=list)


def warm_up_rounds(shape: Shape) -> int:
    """Return the rounds that come before the timed ones."""
    return max(1, min(10, shape.n_rounds // 5))


def measure(task: Task, data: tuple[F32, F32], held_out: tuple[F32, F32]) -> dict[str, Any]:
    """Measure a system on a shape; return its record, see `bench.train`.

    A cold fit of some rounds comes first, with the device memory watched; then ``repeats`` whole
    fits. A fit is set-up, a first round, the rest of the warm-up, and what is left in three
    groups, at whose ends the device is idle. The median is over the groups of all fits.
    """
    watch = Stopwatch()
    values, labels = data[0], np.ascontiguousarray(data[1].reshape(len(data[1]), -1).T)
    times = Samples()
    with GpuMemory() as memory:
        system = _make(task)
        system.setup(values, labels[0])
        system.rounds(1)
        cold = watch.lap()
        system.rounds(warm_up_rounds(task.shape))
    quality: list[dict[str, float]] = []
    taken = cold
    for number in range(task.repeats):
        del system
        gc.collect()
        system = _make(task)
        for model in range(task.shape.n_models):
            _fit(system, task.shape, values, labels[model], times, new=model == 0)
            if number == 0:
                quality.append(_quality(task.shape, system, held_out, model))
        taken += watch.lap()
        if taken > task.budget:
            break
    round_seconds = middle(times.rounds)
    if round_seconds <= 0:  # of a difference of two trainings
        raise RuntimeError("rounds are too short to be told from noise; raise --rounds or --rows")
    peak, host_peak = system.peak_bytes(), peak_bytes()
    prediction = _predict(system, held_out[0], times, task.repeats)
    return {
        "version": system.version,
        "device": system.device,
        "cold_seconds": cold,
        "setup_seconds": middle(times.setup),
        "first_round_seconds": middle(times.first_round) if times.first_round else None,
        "round_seconds": round_seconds,
        "round_samples": times.rounds,
        "n_fits": number + 1,
        "predict_seconds": middle(times.predict),
        "prediction_digest": hashlib.sha256(prediction.tobytes()).hexdigest(),
        "quality": {name: statistics.fmean(q[name] for q in quality) for name in quality[0]},
        "peak_bytes": peak,
        "sampled_bytes": memory.peak_bytes,
        "host_peak_bytes": host_peak,
    }


def _make(task: Task) -> System:
    known = Ours if task.system == "ours" else PEERS[task.system][0]
    return (task.kind or known)(task.shape, task.settings)


def _fit(
    system: System, shape: Shape, values: F32, label: F32, times: Samples, *, new: bool
) -> None:
    """Train a model to its last round."""
    setup = 0.0
    if new:
        setup = clock(system.setup, values, label)
    else:
        system.relabel(values, label)
    warm_up = warm_up_rounds(shape)
    left = shape.n_rounds - warm_up
    if not system.incremental:  # a whole training, less one of the warm-up's rounds alone
        short = clock(system.rounds, warm_up)
        seconds = (clock(system.rounds, shape.n_rounds) - short) / left
        times.rounds.append(seconds)
        setup += max(0.0, short - warm_up * seconds)
    else:
        times.first_round.append(clock(system.rounds, 1))
        system.rounds(warm_up - 1)
        for group in np.array_split(np.arange(left), min(_GROUPS, left)):
            times.rounds.append(clock(system.rounds, len(group)) / len(group))
    if new:
        times.setup.append(setup)


def _predict(system: System, values: F32, times: Samples, repeats: int) -> F32:
    """Time predictions from a NumPy array to a NumPy array; the first is to warm up."""
    prediction = system.predict(values)
    times.predict += [clock(system.predict, values) for _ in range(repeats)]
    return prediction


def _quality(
    shape: Shape, system: System, held_out: tuple[F32, F32], model: int
) -> dict[str, float]:
    return judged(shape, system.predict(held_out[0]), held_out[1], model)


def judged(shape: Shape, predicted: F32, labels: F32, model: int = 0) -> dict[str, float]:
    """Return the metrics of a shape's objective.

    Parameters
    ----------
    shape : Shape
    predicted : array, shape (n_rows,) or (n_rows, n_classes)
    labels : float32 array, shape (n_rows,) or (n_rows, n_models)
    model : int
        The label's number, if there are several.
    """
    label = labels.reshape(len(labels), -1)[:, model]
    prediction = np.asarray(predicted, np.float32)
    if shape.objective == "binary:logistic":
        return {"auc": auc(label, prediction), "logloss": logloss(label, prediction)}
    if shape.objective == "multi:softprob":
        return {"mlogloss": mlogloss(label, prediction.T)}
    return {"rmse": rmse(label, prediction)}
