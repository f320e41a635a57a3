"""``python -m bench train``: ours and every installed peer, trained in one run on one machine.

Each system trains each shape in a process of its own (`bench.children`), with the same rows and
equal parameters. What is measured, by `bench.fitting`:

set-up       from NumPy arrays to ready to train, median of fits; of libraries that train in one
             go (CatBoost, scikit-learn) what a training takes beyond its rounds, in addition
1st          the first round, which does what set-up put off
ms a round   median over groups of rounds of all fits; the device is idle at both ends of a group
x floor      the same over the floor of ours' first device: the least bytes that a round moves
             (`pyopencl_gbdt.comparison.plan.floor_bytes`) over the rate of a copy in this run::

                 16 n                      gradients: read margin and label, write a pair of them
                 n (codes + 8)             root: each code that is there, 1 or 2 bytes; the pair
                 n (codes + 8 + 4) / 2     every later level: half of the rows at most, and ids
                 n (8 + code)              every level's partition: read and write ids, read a code
                 12 n                      leaves: row id, read and write the margin

predict      held-out rows, NumPy to NumPy, median
quality      on held-out rows after the last round
cold         a process's first fit: import, open, build kernels (caches empty), set-up, a round
peak         device memory: ours as it counts itself, else sampled through NVIDIA's library, which
             counts the driver's share too

The JSON file holds ``format`` (1), ``command``, ``date`` (UTC), ``seed``, ``host`` (cpu, n_cpus,
load before the run, memory_bytes, platform, python), ``versions`` of packages,
``devices`` (capabilities, ``label``, ``copy_bytes_per_second``) and ``shapes``: its attributes,
``n_held_out``, ``floor_bytes``, ``floor_seconds``, ``problem`` (why it was left out, or empty),
``systems`` and ``ratios``. A system has ``name``, ``ours``, ``device``, ``problem``, and unless it
failed ``version``, ``cold_seconds``, ``setup_seconds``, ``first_round_seconds`` (or null),
``round_seconds``, ``round_samples``, ``times_floor``, ``predict_seconds``, ``n_fits``,
``quality`` (``auc`` and ``logloss``, or ``rmse``), ``prediction_digest`` (SHA-256), ``peak_bytes``,
``sampled_bytes`` and ``host_peak_bytes`` (or null). A ratio has ``ours``, ``peer`` and how many
times faster ours is: ``setup``, ``round``, ``predict``.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bench.children import FORKS, in_child
from bench.fitting import Task, measure
from bench.host import free_bytes, n_cpus, report_head
from bench.ours import facts
from bench.peers import ON_CPUS_ALONE, choose_peers
from bench.system import F32, Settings
from bench.train_table import announce, estimated_seconds, ratios, table
from pyopencl_gbdt.comparison.plan import DEFAULT, choose_shapes, floor_bytes
from pyopencl_gbdt.comparison.shapes import Shape
from pyopencl_gbdt.errors import GBDTError

FORMAT = 1
QUICK_SHAPES, QUICK_ROWS, QUICK_ROUNDS = ("higgs", "small"), 10_000, 10
#: Rows whose predictions are timed and judged.
_MOST_HELD_OUT, _LEAST_HELD_OUT = 1_000_000, 10_000
#: Seconds to open a device and measure its copies.
_FACTS_LIMIT = 300.0

Rows = tuple[F32, F32]
Record = dict[str, Any]


def main(arguments: list[str]) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        shapes = _shapes(options)
        devices = _devices(options.device)
        cuda = any(d["kind"] == "gpu" and "nvidia" in d["vendor"].lower() for d in devices)
        peers = choose_peers(options.peers, cuda=cuda)
        if options.plot:
            from bench.plots import plot  # fails now rather than after the work
    except (GBDTError, ImportError, RuntimeError, ValueError) as error:
        parser.error(str(error))
    systems = [("ours", device["device_id"]) for device in devices]
    systems += [(name, "cuda" if cuda else "cpu") for name in peers]
    report: Record = {
        "format": FORMAT,
        **report_head("train", arguments),
        "seed": options.seed,
        "devices": devices,
        "shapes": [],
    }
    if (report["host"]["load"] or 0) > 0.5:
        print(
            f"other work runs here (load {report['host']['load']:.1f}): times on the processor lie"
        )
    for device in devices:
        print(f"{device['label']}: copies {device['copy_bytes_per_second'] / 1e9:.1f} GB/s")
    for shape in shapes:
        report["shapes"].append(run_shape(shape, systems, devices, options))
        if options.json:  # after every shape: a run that is cut short keeps what it has
            Path(options.json).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if options.plot:
        print(f"\n{plot(report, options.plot)}")
    ours = [s for shape in report["shapes"] for s in shape["systems"] if s["ours"]]
    return int(any(system["problem"] for system in ours))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench train",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--shapes", metavar="A,B", help="names, patterns such as 'bins-*', or all")
    add("--rows-scale", type=float, default=1.0, help="a factor on every shape's rows")
    add("--rows", type=int, help="so many rows instead")
    add("--rounds", type=int, help="so many rounds instead of each shape's own")
    add("--device", default="auto", help="of ours, with commas between: opencl,cuda")
    add("--peers", default="auto", help="auto (what is installed), none, or names with commas")
    add("--repeats", type=int, default=3, help="fits after the cold one")
    add("--budget", type=float, default=60.0, help="seconds of a system, then no further fit")
    add("--limit", type=float, default=600.0, help="seconds after which a system is stopped")
    add("--keep-caches", action="store_true", help="cold start with kernels that were built before")
    add("--seed", type=int, default=0)
    add("--quick", action="store_true", help="few rows, rounds and fits")
    add("--json", metavar="FILE", help="write the results there as well")
    add("--plot", metavar="FILE", help="draw them there; a folder gets train.png")
    return parser


def _shapes(options: argparse.Namespace) -> list[Shape]:
    """Return the shapes to train, at the sizes asked for."""
    for name, low in (("rows", 10), ("rounds", 2), ("repeats", 1)):
        value = getattr(options, name)
        if value is not None and value < low:
            raise ValueError(f"--{name} {value}: expected {low} or more")
    if options.quick:
        options.repeats, options.keep_caches = 1, True
    default = QUICK_SHAPES if options.quick else (*DEFAULT, "predict")
    shapes = []
    for shape in choose_shapes(options.shapes or ",".join(default), quick=False):
        n_rows = options.rows or max(10, round(shape.n_rows * options.rows_scale))
        n_rounds = options.rounds or shape.n_rounds
        if options.quick:
            n_rows, n_rounds = min(n_rows, QUICK_ROWS), min(n_rounds, QUICK_ROUNDS)
        shapes.append(replace(shape, n_rows=n_rows, n_rounds=n_rounds))
    return shapes


def _devices(text: str) -> list[Record]:
    found = [in_child(facts, spec.strip(), limit=_FACTS_LIMIT) for spec in text.split(",")]
    return list({device["device_id"]: device for device in found}.values())


def run_shape(
    shape: Shape,
    systems: list[tuple[str, str]],
    devices: list[Record],
    options: argparse.Namespace,
) -> Record:
    """Announce a shape, train it with every system, print and return its record."""
    n_held_out = min(_MOST_HELD_OUT, max(_LEAST_HELD_OUT, shape.n_rows // 4))
    if shape.name.endswith("predict"):
        n_held_out = shape.n_rows
    n_bytes = shape.expected_bytes() + shape.expected_bytes(n_held_out)
    floor = floor_bytes(shape)
    record: Record = {
        **asdict(shape),
        "n_held_out": n_held_out,
        "floor_bytes": floor,
        "floor_seconds": floor / devices[0]["copy_bytes_per_second"],
        "problem": "",
        "systems": [],
        "ratios": [],
    }
    cards = {d["device_id"] for d in devices if d["kind"] == "gpu"} | {"cuda"}
    on_card = [where in cards and name not in ON_CPUS_ALONE for name, where in systems]
    seconds = estimated_seconds(shape, on_card, options.repeats, n_cpus(), options.budget)
    free = free_bytes()
    print(announce(record, n_bytes, free, seconds), flush=True)
    if free is not None and n_bytes > free:
        record["problem"] = f"the data take {n_bytes} bytes, {free} are free; lower --rows-scale"
    else:
        data = make(shape, options.seed, n_held_out) if FORKS else None
        for name, where in systems:
            task = Task(shape, name, Settings(where, n_cpus()), options.repeats, options.budget)
            record["systems"].append(_run(task, data, n_held_out, options, record["floor_seconds"]))
        record["ratios"] = ratios(record["systems"])
    print(table(record), flush=True)
    return record


def make(
    shape: Shape, seed: int, n_held_out: int, n_trained: int | None = None
) -> tuple[Rows, Rows]:
    """Make the rows to train on, and the held-out ones."""
    return shape.make(seed, n_trained), shape.make(seed, n_held_out, held_out=True)


def measure_made(task: Task, data: tuple[Rows, Rows] | None, seed: int, n_held_out: int) -> Record:
    """Measure; where the parent's data cannot be shared, make them first."""
    return measure(task, *(data or make(task.shape, seed, n_held_out)))


def _run(
    task: Task,
    data: tuple[Rows, Rows] | None,
    n_held_out: int,
    options: argparse.Namespace,
    floor_seconds: float,
) -> Record:
    where = task.settings.device
    name = f"ours {where}" if task.system == "ours" else task.system
    record: Record = {"name": name, "ours": task.system == "ours", "device": where, "problem": ""}
    if sys.stderr.isatty():
        print(f"  {name} ...", end="\r", file=sys.stderr, flush=True)
    try:
        record |= in_child(
            measure_made, task, data, options.seed, n_held_out,
            limit=options.limit, empty_caches=not options.keep_caches,
        )  # fmt: skip
        record["times_floor"] = record["round_seconds"] / floor_seconds
    except RuntimeError as error:
        record["problem"] = str(error)
    return record
