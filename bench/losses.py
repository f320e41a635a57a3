"""``python -m bench losses``: a round of every loss, sampler and way of growing.

Every line is trained on the same values, depth 6 where it does not say else. Its ms a round is the
median of five groups of rounds, with the device idle at both ends of a group, after rounds that
warm up (and, for GOSS, see all rows). The ratio is to ``reg:squarederror``, of which a group is
timed beside every group of the line: what else the machine does meanwhile slows both. On a CPU a
second ratio is that of the process's processor time, which other processes change less. XGBoost's
time is that of ``Booster.update`` in as many rounds, on ``cuda`` beside an NVIDIA card.

The JSON file holds ``format`` (1), ``command``, ``date`` (UTC), ``host``, ``versions``, ``device``
(capabilities, ``label``, ``copy_bytes_per_second``), ``rows``, ``features``, ``rounds``, ``seed``
and ``lines``: ``name``, ``kind`` (loss or way), ``params``, ``problem`` (or empty), and unless it
failed ``round_seconds``, ``round_samples``, ``base_samples``, ``ratio``, ``processor_ratio`` and
``peer_seconds`` (null where XGBoost lacks it or was not asked for).
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.host import n_cpus, parser_of, report_head
from bench.lines import BASE, Line, data_of, lines, make_values
from bench.ours import facts
from bench.page_lines import F32
from bench.system import LEARNING_RATE
from pyopencl_gbdt import Dataset
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.timing import clock, clocked, middle
from pyopencl_gbdt.errors import GBDTError
from pyopencl_gbdt.training.preparing import prepare
from pyopencl_gbdt.training.running_task import RunningTask

FORMAT = 1
#: Groups of rounds that are timed, and rounds before them.
_GROUPS, _WARM_UP = 5, 2
_SHARED = {"max_depth": 6, "max_bin": 256, "learning_rate": LEARNING_RATE}

Record = dict[str, Any]


@dataclass(frozen=True)
class Work:
    """What all lines share."""

    values: F32
    score: F32
    rounds: int
    seed: int
    device: str
    peer: str

    def data(self, line: Line) -> Record:
        return data_of(line, self.score, self.values.shape[1], self.seed)

    def groups(self) -> list[int]:
        """Return the rounds of each group."""
        parts = np.array_split(np.arange(self.rounds), min(_GROUPS, self.rounds))
        return [len(part) for part in parts]


class Ours:
    """A line under way, warmed up."""

    def __init__(self, work: Work, line: Line, data: Dataset) -> None:
        own = {"objective": line.objective, "n_estimators": _WARM_UP + work.rounds}
        params = {**_SHARED, **own, **line.params, "device": work.device}
        task = prepare(params, data, (), None, None)
        self.fit = RunningTask(open_device(work.device), task)
        goss = task.params.sampling_method == "goss"
        self.rounds(max(_WARM_UP, task.params.rounds_of_all_rows if goss else 0))

    def rounds(self, n: int) -> tuple[float, float]:
        """Train so many rounds; return the seconds of one, on the wall and of the processor."""
        wall, processor = clocked(self._train, n)
        return wall / n, processor / n

    def _train(self, n: int) -> None:
        for _ in range(n):
            self.fit.step()
        self.fit.fit.finished_trees()
        self.fit.device.finish()


def main(arguments: list[str]) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    for name, low in (("rows", 100), ("features", 2), ("rounds", 1)):
        if getattr(options, name) < low:
            parser.error(f"--{name} {getattr(options, name)}: expected {low} or more")
    every = lines(options.features)
    chosen = [line for line in every if not options.only or line.name in options.only]
    unknown = set(options.only or ()) - {line.name for line in every}
    if unknown:
        names = ", ".join(repr(line.name) for line in every)
        parser.error(f"--only {sorted(unknown)[0]!r}: expected some of {names}")
    try:
        device = facts(options.device)
        if options.peers:
            import xgboost  # noqa: F401  # fails now rather than after the work
    except (GBDTError, ImportError) as error:
        parser.error(str(error))
    cuda = device["kind"] == "gpu" and "nvidia" in device["vendor"].lower()
    peer = ("cuda" if cuda else "cpu") if options.peers else ""
    values, score = make_values(options.rows, options.features, options.seed)
    work = Work(values, score, options.rounds, options.seed, options.device, peer)
    report = {
        "format": FORMAT,
        **report_head("losses", arguments),
        "device": device,
        **{name: getattr(options, name) for name in ("rows", "features", "rounds", "seed")},
        "lines": [],
    }
    print(f"{device['label']}: {options.rows} x {options.features}, {options.rounds} rounds")
    second = f"{'processor':>11}" if device["kind"] == "cpu" else ""
    print(f"{'':<26}{'ms a round':>11}{'x ' + BASE:>20}{second}{'XGBoost':>10}{'x as fast':>11}")
    data = Dataset(values, score)  # of the base; its codes stay on the device
    for line in chosen:
        report["lines"].append(_measure(work, data, line))
        print(_text(report["lines"][-1], processor=bool(second)), flush=True)
        if options.json:  # after every line: a run that is cut short keeps what it has
            Path(options.json).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return int(any(line["problem"] for line in report["lines"]))


def _parser() -> argparse.ArgumentParser:
    parser = parser_of("losses", __doc__)
    add = parser.add_argument
    add("--rows", type=int, default=1_000_000)
    add("--features", type=int, default=28)
    add("--rounds", type=int, default=30, help="that are timed, of every line")
    add("--device", default="auto", help="as for open_device")
    add("--peers", action="store_true", help="take XGBoost's time as well")
    add("--only", nargs="+", metavar="NAME", help="these lines alone")
    add("--seed", type=int, default=0)
    add("--json", metavar="FILE", help="write the results there as well")
    return parser


def _measure(work: Work, base_data: Dataset, line: Line) -> Record:
    record: Record = {"name": line.name, "kind": line.kind, "params": line.params, "problem": ""}
    try:
        ours = Ours(work, line, Dataset(work.values, **work.data(line)))
        base = Ours(work, Line(BASE, "loss"), base_data)
        times = [(base.rounds(n), ours.rounds(n)) for n in work.groups()]
        wall, busy = np.median(times, axis=0).T  # of the base and the line
        record |= {
            "round_seconds": float(wall[1]),
            "round_samples": [own[0] for _, own in times],
            "base_samples": [other[0] for other, _ in times],
            "ratio": float(wall[1] / wall[0]),
            "processor_ratio": float(busy[1] / busy[0]),
            "peer_seconds": None,
        }
        del ours, base
        if work.peer and line.peer in ("any", work.peer):
            record["peer_seconds"] = _peer_seconds(work, line)
    except (GBDTError, ValueError) as error:  # XGBoost's errors are ValueErrors
        record["problem"] = " ".join(str(error).split())[:200]
    return record


def _peer_seconds(work: Work, line: Line) -> float:
    """Return XGBoost's seconds of a round."""
    import xgboost

    threads = n_cpus()
    data = xgboost.QuantileDMatrix(
        work.values, **work.data(line), max_bin=_SHARED["max_bin"], nthread=threads
    )
    own = {"objective": line.objective, "tree_method": "hist", "device": work.peer}
    params = {**_SHARED, **own, **line.params, "nthread": threads, "verbosity": 0}
    booster = xgboost.Booster(params, [data])

    def rounds(n: int) -> None:
        first = booster.num_boosted_rounds()
        for number in range(first, first + n):
            booster.update(data, number)

    rounds(_WARM_UP)
    return middle([clock(rounds, n) / n for n in work.groups()])


def _text(record: Record, *, processor: bool) -> str:
    name = f"{record['name']:<26}"
    if "ratio" not in record:
        return f"{name}failed: {record['problem']}"
    text = f"{name}{1e3 * record['round_seconds']:>11.3f}{record['ratio']:>20.2f}"
    if processor:
        text += f"{record['processor_ratio']:>11.2f}"
    if record["problem"]:
        return f"{text}  XGBoost failed: {record['problem']}"
    peer = record["peer_seconds"]
    if peer is None:
        return f"{text}{'-':>10}"
    return f"{text}{1e3 * peer:>10.3f}{peer / record['round_seconds']:>11.2f}"
