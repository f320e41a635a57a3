"""``python -m bench devices``: the same training on 1, 2, 4 devices, beside what was expected.

A shape is ROWSxFEATURES:DEPTH, or ROWSxFEATURES:DEPTH:CLASSES. Its rows are made once. Then each
number of devices trains them, the first devices of ``--devices``, each with an equal part; their
trees must be the same. Rows are values that the library quantises; more than ``--codes-from`` rows
are codes, made at once, which take turns on a single device where they do not fit. No fit starts
when ``--seconds`` are over. The table comes last, and a line as soon as it is known:

way       how sums are added up: by NCCL on the cards, or through the host's memory; on one device
          whose pages take turns, how many of the pages it has room for
set-up s  from the rows to the end of the first round
expected  ms a round by the model of ``docs/scaling.md``, which the rule uses that chooses devices
measured  median over groups of rounds
x         how many times as fast as one device: expected, measured
sums MB   of a round, that each device adds to the others'
wait, add parts of a round in which the first device's thread waits for its device, and adds up sums
rule      how many of the devices the library would take
trees     the first digits of the trees' digest
"""

from __future__ import annotations

import argparse
import gc
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.devices_fits import Rounds, digest_of, of_codes, of_values
from bench.devices_rows import coded_rows, made_rows
from bench.host import parser_of, report_head
from pyopencl_gbdt import Dataset
from pyopencl_gbdt.device import Device, open_device, selection
from pyopencl_gbdt.device.team.nccl import may_join
from pyopencl_gbdt.device.timing import Stopwatch, middle
from pyopencl_gbdt.model.tree import Tree
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.division import (
    LAUNCHES,
    ON_CARDS,
    THROUGH_HOST,
    best_team,
    histogram_speed,
    round_cost,
    streamed_seconds,
    sum_bytes,
)

MB = 1e6
#: Rounds longer than this are timed twice only.
_LONG_ROUND = 0.5
#: Seconds that a fit takes at least: none starts with less left.
_LEAST = 10.0
HEAD = (
    f"{'shape':<22}{'devices':>8} {'way':<14}{'set-up s':>9}{'expected':>10}{'measured':>10}"
    f"{'x':>7}{'x':>7}{'sums MB':>9}{'wait':>6}{'add':>6}{'rule':>5}  trees"
)


@dataclass(frozen=True)
class Shape:
    """A training.

    Attributes
    ----------
    n_rows, n_features, depth : int
    n_classes : int
        2: a tree a round.
    """

    n_rows: int
    n_features: int
    depth: int
    n_classes: int = 2

    @classmethod
    def of(cls, text: str) -> Shape:
        """Return the shape that a text such as ``11e6x28:8`` or ``1e6x28:6:10`` names."""
        sizes, depth, *classes = text.split(":")
        n_rows, n_features = (int(float(number)) for number in sizes.split("x"))
        return cls(n_rows, n_features, int(depth), *map(int, classes))

    def __str__(self) -> str:
        more = f", {self.n_classes} cl." if self.n_classes > 2 else ""
        return f"{self.n_rows / 1e6:g} M x {self.n_features}, {self.depth}{more}"

    @property
    def n_outputs(self) -> int:
        """Trees of a round."""
        return self.n_classes if self.n_classes > 2 else 1

    @property
    def params(self) -> dict[str, Any]:
        """Parameters of the training."""
        if self.n_classes == 2:
            return {"objective": "binary:logistic", "max_depth": self.depth, "verbosity": 0}
        return {
            "objective": "multi:softprob", "num_class": self.n_classes, "max_depth": self.depth,
            "verbosity": 0,
        }  # fmt: skip


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    selection.ALLOWS_TWICE = True  # several queues of a device show what sums cost
    watch, left = Stopwatch(), options.seconds
    lines, runs, shapes = [], [], [Shape.of(text) for text in options.shapes]
    same, rows, made_for = True, None, None
    for shape in shapes:
        key = shape.n_rows, shape.n_features, shape.n_classes
        device = open_device(options.devices[0])
        if key != made_for:
            rows, made_for = None, key
            gc.collect()
            rows = _rows(shape, device, options)
            left -= (seconds := watch.lap())
            print(f"{shape}: made in {seconds:.1f} s; {left:.0f} s left", flush=True)
        own: list[dict[str, Any]] = []
        trees: list[list[Tree]] = []
        taken = _LEAST
        for count in options.counts:
            if left < taken:
                lines.append(f"{shape!s:<22}{count:>8} no time was left")
                continue
            run = _expected(shape, options.devices[:count], device)
            try:
                _measure(shape, options.devices[:count], rows, options, run, trees)
            except Exception as error:  # the other lines are worth having
                run["error"] = f"{type(error).__name__}: {error}"
            own.append(run)
            left -= (taken := watch.lap())
            lines.append(_line(shape, run, own[0]))
            print(f"{lines[-1]}; {left:.0f} s left", flush=True)
            gc.collect()
        same &= _same(trees)
        runs += own
        if options.json:
            report = {"format": 2, **report_head("devices", arguments), "runs": runs}
            Path(options.json).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print("\n".join(["", HEAD, *lines, "", f"the same trees: {'yes' if same else 'NO'}"]))
    return int(not same)


def _parser() -> argparse.ArgumentParser:
    parser = parser_of("devices", __doc__)
    add = parser.add_argument
    add("--devices", nargs="+", default=["gpu:0", "gpu:1"], help="as for open_device")
    add("--counts", nargs="+", type=int, default=[1, 2], help="numbers of devices")
    add("--shapes", nargs="+", default=["11e6x28:6", "11e6x28:8"])
    add("--codes-from", type=float, default=2e8, help="rows from which codes are made")
    add("--rounds", type=int, default=10, help="of a group")
    add("--groups", type=int, default=3)
    add("--seed", type=int, default=0)
    add("--seconds", type=float, default=1e9, help="after which no fit starts")
    add("--json", metavar="FILE", help="write the results there as well, shape by shape")
    return parser


def _rows(shape: Shape, device: Device, options: argparse.Namespace) -> Any:
    """Return a data set of values, or rows and pages of codes."""
    sizes = shape.n_rows, shape.n_features, options.seed
    if shape.n_rows >= options.codes_from:
        return coded_rows(device, *sizes)
    return Dataset(*made_rows(*sizes, n_classes=shape.n_classes))


def _expected(shape: Shape, names: Sequence[str], device: Device) -> dict[str, Any]:
    """Return a run before it is measured: what it is expected to take, and whom the rule takes."""
    size, caps = len(names), device.caps
    joined = may_join([open_device(name) for name in names]) and caps.api == "cuda"
    params = Parameters.from_dict(shape.params)
    facts = [histogram_speed(device)] * size, params, shape.n_rows, shape.n_features
    more = {"n_outputs": shape.n_outputs, "launches": LAUNCHES if caps.kind == "gpu" else 0.0}
    cost = round_cost(*facts, ON_CARDS if joined else THROUGH_HOST, **more)
    n_bytes = sum_bytes(params, shape.n_rows, shape.n_features, shape.n_outputs)
    return {
        "shape": vars(shape), "n_devices": size, "device": caps.label, "expected": cost.seconds,
        "parts": vars(cost), "speed": facts[0][0], "sum_bytes": n_bytes if size > 1 else 0,
        "rule": len(best_team(*facts, joined=joined, n_outputs=shape.n_outputs)),
    }  # fmt: skip


def _measure(
    shape: Shape,
    names: Sequence[str],
    rows: Any,
    options: argparse.Namespace,
    run: dict[str, Any],
    trees: list[list[Tree]],
) -> None:
    """Add what a fit takes to a run, and its trees to those of other numbers of devices."""
    n_rounds, groups = options.rounds, options.groups
    params = {**shape.params, "n_estimators": n_rounds * (groups + 1) + 1}
    watch = Stopwatch()
    fit: Rounds
    make = of_codes(names, *rows, params) if isinstance(rows, tuple) else None
    with make or of_values(names, rows, params) as fit:
        fit.run(1)
        run["setup_seconds"] = watch.lap()
        fit.run(2)
        if watch.lap() / 2 > _LONG_ROUND:
            n_rounds, groups = 2, 1
        fit.run(n_rounds - 2)
        run["way"] = fit.way
        copies = streamed_seconds(shape.n_rows, shape.n_features, shape.depth, fit.staying)
        run["expected"] = max(run["expected"], copies)
        before = [(one.n_bytes, one.waited, one.added) for one in fit.buffers]
        watch.lap()
        run["groups"] = []
        for _ in range(groups):
            fit.run(n_rounds)
            run["groups"].append(watch.lap())
        run["round_seconds"] = middle(run["groups"]) / n_rounds
        total = n_rounds * groups, sum(run["groups"])
        for one, (n_bytes, waited, added) in zip(fit.buffers, before, strict=True):
            run["sum_bytes"] = (one.n_bytes - n_bytes) / total[0]
            run["waited"] = (one.waited - waited) / total[1]
            run["added"] = (one.added - added) / total[1]
        trees.append(fit.trees())
        run["digest"] = digest_of(trees[-1])


def _same(trees: list[list[Tree]]) -> bool:
    """Tell whether fits grew the same trees, as many of them as all have."""
    common = min((len(own) for own in trees), default=0)
    return len({digest_of(own[:common]) for own in trees}) <= 1


def _line(shape: Shape, run: dict[str, Any], alone: dict[str, Any]) -> str:
    start = f"{shape!s:<22}{run['n_devices']:>8} "
    if "error" in run:
        return f"{start}{run['error'][:300]}"
    times = alone["expected"] / run["expected"]
    measured = alone.get("round_seconds", float("nan")) / run["round_seconds"]
    text = (
        f"{start}{run['way']:<14}{run['setup_seconds']:>9.2f}{1e3 * run['expected']:>10.3f}"
        f"{1e3 * run['round_seconds']:>10.3f}{times:>7.2f}{measured:>7.2f}"
        f"{run['sum_bytes'] / MB:>9.2f}"
    )
    waits = f"{run['waited']:>6.0%}{run['added']:>6.0%}" if "waited" in run else f"{'':>12}"
    return f"{text}{waits}{run['rule']:>5}  {run['digest'][:16]}"
