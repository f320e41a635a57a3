"""Systems that take turns: each in a process of its own, all alive at once, one working at a time.

Machines change their speed from minute to minute, so a system that is measured after another one
may meet another machine. Here every turn of every system stands beside a turn of the others::

    begin      ours, xgboost, ..      libraries, set-up, first rounds; not timed, but for ``cold``
    turn 1     ours, xgboost, ..      a new model: set-up, first round, a group of rounds
    turn 2     ours, xgboost, ..
    ..
    predict    ours, xgboost, ..      as often as there are turns
"""

from __future__ import annotations

import hashlib
import multiprocessing
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from bench.children import FORKS
from bench.compiled import COMPILED
from bench.gpu_memory import GpuMemory
from bench.host import peak_bytes
from bench.ours import Ours
from bench.page_lines import F32, Line
from bench.peers import PEERS
from bench.system import Settings, System
from pyopencl_gbdt.device.timing import Stopwatch, clock, middle
from pyopencl_gbdt.metrics import auc, logloss, mae, mlogloss, ndcg, rmse

Record = dict[str, Any]
Data = tuple[tuple[F32, F32], tuple[F32, F32]]
#: Rounds of a model before those that are timed, the first one included.
WARM_UP = 3
#: Turns that begin with a set-up of their own; later ones keep the data that are set up.
_SETUPS = 3
#: Rounds of ours that are profiled, and kernels that are reported.
_PROFILED, _KERNELS = 5, 6
#: Seconds before a turn, in which threads of the system before go to sleep.
_PAUSE = 0.02
_LEAVING = 30.0


@dataclass(frozen=True)
class Player:
    """A system that takes part.

    Attributes
    ----------
    name, device : str
        ``ours``, or one of ``PEERS`` or ``COMPILED``; and where it runs.
    n_threads : int
    """

    name: str
    device: str
    n_threads: int

    @property
    def label(self) -> str:
        return f"ours {self.device}" if self.name == "ours" else self.name


class Work:
    """What a process does for one system; each method returns when the device has no work left."""

    def __init__(self, player: Player, line: Line, data: Data) -> None:
        self.player, self.line = player, line
        (self.values, self.label), self.held_out = data

    def begin(self) -> Record:
        """Set up, and train a little: or, for a line of prediction, to the end."""
        watch = Stopwatch()
        with GpuMemory() as memory:  # the other systems' processes rest
            self._setup()
            self.system.rounds(1)
            cold = watch.lap()
        self.system.relabel(self.values, self.label)
        self.system.rounds(self.line.trained or WARM_UP)
        compiled = clock(self.system.compile)
        return {
            "version": self.system.version, "device": self.system.device, "cold_seconds": cold,
            "compile_seconds": compiled, "sampled_bytes": memory.peak_bytes,
        }  # fmt: skip

    def _setup(self) -> None:
        settings = Settings(self.player.device, self.player.n_threads)
        self.system: System = _kind(self.player.name)(self.line, settings)
        self.system.setup(self.values, self.label)

    def turn(self, number: int) -> Record:
        """Train a new model; return the seconds of its parts."""
        record: Record = {}
        if number < _SETUPS:
            del self.system  # its memory, before the next one takes its own
            record["setup"] = clock(self._setup)
        else:
            self.system.relabel(self.values, self.label)
        n = self.line.n_rounds
        if not self.system.incremental:  # a longer training less a shorter one
            short = clock(self.system.rounds, WARM_UP)
            record["round"] = (clock(self.system.rounds, WARM_UP + n) - short) / n
            return record
        record["first"] = clock(self.system.rounds, 1)
        self.system.rounds(WARM_UP - 1)
        record["round"] = clock(self.system.rounds, n) / n
        return record

    def predict(self, number: int) -> Record:
        """Predict the held-out rows, and one row many times."""
        values = self.held_out[0]
        if number == 0:
            self.prediction = self.system.predict(values)  # the first one builds kernels
            self.system.predict(values[:1])
        record = {"predict": clock(self.system.predict, values)}
        one = [clock(self.system.predict, values[row : row + 1]) for row in range(20)]
        record["one"] = middle(one)
        return record

    def finish(self) -> Record:
        """Return the quality, the memory and, of ours, what its kernels take."""
        record: Record = {
            "quality": judged(self.line, self.prediction, self.held_out[1]),
            "peak_bytes": self.system.peak_bytes(), "host_peak_bytes": peak_bytes(),
            "digest": hashlib.sha256(np.ascontiguousarray(self.prediction).tobytes()).hexdigest(),
        }  # fmt: skip
        if self.player.name == "ours" and not self.line.trained:
            record["kernels"] = self._kernels()
        return record

    def _kernels(self) -> list[Record]:
        """Profile some rounds; return the longest kernels."""
        from pyopencl_gbdt import Dataset, train
        from pyopencl_gbdt.comparison.measure import kernel_times

        params: Any = self.system.params  # type: ignore[attr-defined]
        data = Dataset(self.values, self.label)
        del self.system
        return kernel_times([train(params, data, WARM_UP + _PROFILED, profile=True)])[:_KERNELS]


def _kind(name: str) -> type[System]:
    return Ours if name == "ours" else (PEERS | COMPILED)[name][0]


def judged(line: Line, predicted: F32, label: F32) -> dict[str, float]:
    """Return the metrics of a line's objective; ``predicted`` may have a column for each class."""
    prediction = np.asarray(predicted, np.float32)
    if line.objective == "binary:logistic":
        return {"auc": auc(label, prediction), "logloss": logloss(label, prediction)}
    if line.objective == "multi:softprob":
        return {"mlogloss": mlogloss(label, prediction.T)}
    if line.objective == "reg:absoluteerror":
        return {"mae": mae(label, prediction)}
    if (sizes := line.queries(len(label))) is not None:
        return {"ndcg@10": ndcg(label, prediction, None, np.cumsum([0, *sizes]), top=10)}
    return {"rmse": rmse(label, prediction)}


class Process:
    """A system's process; it answers one question at a time."""

    def __init__(self, player: Player, line: Line, data: Data) -> None:
        self.player, self.problem = player, ""
        context: Any = multiprocessing.get_context("fork" if FORKS else "spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=_answer, args=(theirs, player, line, data), daemon=True
        )
        self._process.start()
        theirs.close()

    def ask(self, what: str, *arguments: Any, limit: float) -> Record:
        """Return what ``Work`` answers; empty, with ``problem`` set, once it has failed."""
        if self.problem:
            return {}
        time.sleep(_PAUSE)
        try:
            self._pipe.send((what, arguments))
            if not self._pipe.poll(limit):
                raise RuntimeError(f"{what} took longer than {limit:.0f} s")
            self.problem, found = self._pipe.recv()
        except (EOFError, OSError):
            self._process.join(_LEAVING)
            self.problem = f"its process died, exit code {self._process.exitcode}"
        except RuntimeError as error:
            self.problem = str(error)
        if self.problem:
            self.end()
            return {}
        answer: Record = found
        return answer

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.join()


def _answer(pipe: Connection, player: Player, line: Line, data: Data) -> None:
    work = Work(player, line, data)
    while True:
        try:
            what, arguments = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(("", getattr(work, what)(*arguments)))
        except BaseException as error:
            reason = " ".join(str(error).split())[:300]
            pipe.send((f"{type(error).__name__}: {reason}", None))


def in_turns(
    line: Line, players: Sequence[Player], data: Data, turns: int, limit: float
) -> list[Record]:
    """Measure a line; return a record for every system, see `bench.pages`."""
    everyone = [Process(player, line, data) for player in players]
    try:
        begun = [one.ask("begin", limit=limit) for one in everyone]
        samples: list[dict[str, list[float]]] = [{} for _ in everyone]
        rounds = 0 if line.trained else turns
        asked = [("turn", n) for n in range(rounds)] + [("predict", n) for n in range(turns)]
        for what, number in asked:
            for one, kept in zip(everyone, samples, strict=True):
                for part, seconds in one.ask(what, number, limit=limit).items():
                    kept.setdefault(part, []).append(seconds)
        ended = [one.ask("finish", limit=limit) for one in everyone]
    finally:
        for one in everyone:
            one.end()
    return [
        {
            "name": one.player.label, "ours": one.player.name == "ours",
            "device": one.player.device, **first, **last, "problem": one.problem,
            "seconds": kept,
        }
        for one, first, last, kept in zip(everyone, begun, ended, samples, strict=True)
    ]  # fmt: skip
