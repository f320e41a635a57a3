"""``python -m bench sparse``: sparse matrices, exact search and missing values, beside peers.

Every system trains the same seeded rows with equal parameters in a process of its own; they take
turns. Ours has ``tree_method="auto"`` on sparse matrices, which picks ``exact`` on these, XGBoost
``hist`` (``--peer-device cuda`` for a GPU), LightGBM its own on the processor. On dense rows of
``exact-d6`` and ``exact-d8`` XGBoost is ``exact`` on the processor. Measured by `bench.fitting`:

set-up       from SciPy or NumPy matrices (``Dataset``) to the end of the first round; kernels are
             built before, in a fit to warm up
ms/round     median over groups of the rounds that follow; the device is idle at both ends of one
x            how many times as fast as the peer ours is
device       most device memory, MB: of ours as ``Device.peak_bytes`` counts it, of peers sampled
             through NVIDIA's library, which counts the driver's share too
host         most host memory of the process, MB, the matrices that it was given included
quality      on held-out rows, after the last round

The JSON file holds ``format`` (1), ``command``, ``date`` (UTC), ``host``, ``versions``, ``device``
(capabilities, ``label``, ``copy_bytes_per_second``) and ``runs``: ``shape`` (its attributes),
``seed``, ``n_held_out``, ``n_values`` (entries, or all values of dense rows) and ``systems``:
``name``, ``problem`` (or empty), and unless it failed what `bench.train` says of a system.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bench import ours, peers
from bench.children import FORKS, in_child
from bench.fitting import Task
from bench.host import n_cpus, report_head
from bench.ours import facts
from bench.sparse_shapes import SHAPES, SearchShape
from bench.system import F32, Settings, System
from bench.train import make, measure_made

FORMAT = 1
_MOST_HELD_OUT = 100_000
MB = 1e6

Record = dict[str, Any]


class Ours(ours.Ours):
    """Ours, with the shape's method."""

    def __init__(self, shape: SearchShape, settings: Settings) -> None:
        super().__init__(shape, settings)
        self.params |= shape.params


class XGBoost(peers.XGBoost):
    """XGBoost ``hist``, or ``exact``, which runs on the processor; what is absent is missing."""

    def __init__(self, shape: SearchShape, settings: Settings) -> None:
        super().__init__(shape, settings)
        self.params |= shape.params
        self.exact = shape.tree_method == "exact"
        if self.exact:
            self.device = "cpu"
            del self.params["max_bin"]
        self.params |= {"device": self.device, "tree_method": "exact" if self.exact else "hist"}

    def setup(self, values: Any, label: F32) -> None:
        if not self.exact:
            super().setup(values, label)
            return
        self.data = self.library.DMatrix(values, label, nthread=self.settings.n_threads)
        self._begin()


class LightGBM(peers.LightGBM):
    """LightGBM on the processor; what is absent is missing here too."""

    def __init__(self, shape: SearchShape, settings: Settings) -> None:
        super().__init__(shape, settings)
        self.params["zero_as_missing"] = shape.per_row > 0
        if shape.n_classes:
            self.params |= {"objective": "multiclass", "num_class": shape.n_classes}


SYSTEMS: dict[str, type[System]] = {"ours": Ours, "xgboost": XGBoost, "lightgbm": LightGBM}


def main(arguments: list[str]) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    for name, low in (("rows_scale", 0.001), ("rounds", 2), ("seeds", 1)):
        value = getattr(options, name)
        if value is not None and not value >= low:
            parser.error(f"--{name.replace('_', '-')} {value}: expected {low} or more")
    try:
        device = in_child(facts, options.device, limit=options.limit)
    except RuntimeError as error:
        parser.error(str(error))
    report: Record = {
        "format": FORMAT,
        **report_head("sparse", arguments),
        "device": device,
        "runs": [],
    }
    print(device["label"])
    for name in options.only:
        shape = sized(SHAPES[name], options, cpu=device["kind"] == "cpu")
        for seed in range(options.seeds):
            report["runs"].append(_run(shape, seed, options))
            if options.json:  # after every run: one that is cut short keeps what it has
                Path(options.json).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    return int(any(run["systems"][0]["problem"] for run in report["runs"]))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench sparse",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--only", nargs="+", choices=SHAPES, default=list(SHAPES), help="these shapes alone")
    add("--quick", action="store_true", help="sizes for a machine of two cores")
    add("--rows-scale", type=float, default=1.0, help="a factor on every shape's rows")
    add("--rounds", type=int, help="so many rounds instead of each shape's own")
    add("--device", default="auto", help="ours, as for open_device")
    add("--peer-device", default="cpu", choices=("cpu", "cuda"), help="XGBoost's")
    add("--peers", nargs="*", choices=list(SYSTEMS)[1:], default=list(SYSTEMS)[1:],
        help="these alone, of those that a shape has and that are installed")  # fmt: skip
    add("--seeds", type=int, default=1, help="runs of every shape, each with its own rows")
    add("--limit", type=float, default=600.0, help="seconds after which a system is stopped")
    add("--json", metavar="FILE", help="write the results there as well")
    return parser


def sized(shape: SearchShape, options: argparse.Namespace, *, cpu: bool) -> SearchShape:
    """Return the shape at the size that was asked for."""
    if options.quick:
        shape = replace(shape, **shape.quick)
    elif cpu and shape.cpu_rows:
        shape = replace(shape, n_rows=shape.cpu_rows)
    n_rows = max(100, round(shape.n_rows * options.rows_scale))
    return replace(shape, n_rows=n_rows, n_rounds=options.rounds or shape.n_rounds)


def _run(shape: SearchShape, seed: int, options: argparse.Namespace) -> Record:
    n_held_out = min(_MOST_HELD_OUT, shape.n_rows // 4)
    data = make(shape, seed, n_held_out) if FORKS else None
    n_values = data[0][0].size if data else None
    record: Record = {
        "shape": asdict(shape), "seed": seed, "n_held_out": n_held_out, "n_values": n_values,
        "systems": [],
    }  # fmt: skip
    peers = [name for name in shape.peers if name in options.peers]
    rounds = f"{shape.n_rounds} rounds of depth {shape.max_depth}"
    print(f"\n{shape.name}: {shape.title}; {shape.n_rows} x {shape.n_features}, {rounds}")
    columns = f"{'set-up s':>9}{'ms/round':>11}{'x':>7}{'device':>9}{'host':>9}  quality"
    print(f"{f'seed {seed}':<18}{columns}")
    for name in ["ours", *(name for name in peers if importlib.util.find_spec(name))]:
        where = options.device if name == "ours" else options.peer_device
        task = Task(shape, name, Settings(where, n_cpus()), 1, 0.0, SYSTEMS[name])
        system: Record = {"name": name, "problem": ""}
        try:
            system |= in_child(measure_made, task, data, seed, n_held_out, limit=options.limit)
        except RuntimeError as error:
            system["problem"] = str(error)
        record["systems"].append(system)
        print(_line(system, record["systems"][0]), flush=True)
    return record


def _line(system: Record, ours: Record) -> str:
    if system["problem"]:
        return f"{system['name']:<18}failed: {system['problem']}"
    seconds = system["round_seconds"]
    known = system is not ours and not ours["problem"]
    times = f"{seconds / ours['round_seconds']:.2f}" if known else ""
    quality = ", ".join(f"{name} {value:.5f}" for name, value in system["quality"].items())
    return (
        f"{system['name'] + ' ' + system['version']:<18}"
        f"{system['setup_seconds'] + system['first_round_seconds']:>9.3f}{1e3 * seconds:>11.3f}"
        f"{times:>7}{_mb(system['peak_bytes'] or system['sampled_bytes'])}"
        f"{_mb(system['host_peak_bytes'])}  {quality}"
    )


def _mb(n_bytes: int | None) -> str:
    return f"{n_bytes / MB:>9.0f}" if n_bytes else f"{'-':>9}"
