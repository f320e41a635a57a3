"""``pyopencl-gbdt bench``: train the same data on every device of this machine, and compare."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyopencl_gbdt.cli.bar import Bar
from pyopencl_gbdt.cli.output import (
    check_output,
    complain,
    say,
    section,
    wrapped,
    write_text,
)
from pyopencl_gbdt.comparison.numbers import duration, size
from pyopencl_gbdt.errors import ParameterError

if TYPE_CHECKING:
    from pyopencl_gbdt.comparison.shapes import Shape

#: Options that apply to training, and so not to ``--merge``, with their defaults.
_DEFAULTS = {
    "devices": "all", "shapes": None, "quick": False, "rounds": None, "repeats": 3, "seed": 0,
}  # fmt: skip
_BOUNDS = {"rounds": (1, 100_000), "repeats": (1, 1000), "seed": (0, 2**32 - 1)}
EXIT_DIFFER = 1


def add(commands: Any) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "bench",
        help="compare the devices of this machine, or of several",
        description="Train the same data on every device, one after the other; check that the "
        "models are the same bytes; measure set-up, a round, prediction, memory, share of "
        "bandwidth and every kernel. The exit code is 1 if models differ or nothing was measured.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--devices",
        metavar="STR,...",
        help="comma-separated devices, also simulators; default: all but simulators",
    )
    parser.add_argument(
        "--shapes",
        metavar="NAME,...",
        help="comma-separated names or patterns such as 'rows-*', or all; see --list-shapes",
    )
    parser.add_argument(
        "--list-shapes", action="store_true", default=None, help="list the shapes and exit"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        default=None,
        help="small shapes; less than a minute a device",
    )
    parser.add_argument("--rounds", type=int, metavar="N", help="default: the shape's number")
    parser.add_argument("--repeats", type=int, metavar="N", help="timed fits; default 3")
    parser.add_argument("--seed", type=int, metavar="N", help="seed of the data; default 0")
    parser.add_argument("--json", metavar="FILE", help="save all figures; --merge reads them")
    parser.add_argument("--html", metavar="FILE", help="save a report with plots, in one file")
    parser.add_argument(
        "--merge", nargs="+", metavar="FILE", help="join files of --json, without training"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check the options; train, or join files."""
    _check_options(args)
    for name, default in _DEFAULTS.items():
        if getattr(args, name) is None:
            setattr(args, name, default)
    if args.list_shapes:
        return _list_shapes(quick=args.quick)
    if args.merge:
        return _merge(args)
    return _train(args)


def _check_options(args: argparse.Namespace) -> None:
    if args.merge:
        asked = (*_DEFAULTS, "list_shapes")
        given = [name for name in asked if getattr(args, name) is not None]
        if given:
            option = given[0].replace("_", "-")
            raise ParameterError(f"--merge trains nothing; leave out --{option}, or --merge")
    for name, (low, high) in _BOUNDS.items():
        value = getattr(args, name)
        if value is not None and not low <= value <= high:
            move = "raise" if value < low else "lower"
            raise ParameterError(f"--{name} {value}: expected {low}..{high}; {move} it")
    for name in ("json", "html"):
        if getattr(args, name):
            check_output(getattr(args, name), f"--{name}")
    if args.json and args.html and Path(args.json).resolve() == Path(args.html).resolve():
        raise ParameterError(f"--html {args.html}: --json has the same name; give another")


def _list_shapes(*, quick: bool) -> int:
    from pyopencl_gbdt.comparison import plan

    for shape in plan.choose_shapes("all", quick=quick):
        mark = "*" if quick or shape.name in plan.DEFAULT else " "
        text = f"{shape.name}: {_numbers(shape)}; {shape.title}"
        say(wrapped(text, f"{mark} ", "      "))
    say("* is trained if --shapes is left out.")
    return 0


def _numbers(shape: Shape) -> str:
    return f"{shape.n_rows} x {shape.n_features}, depth {shape.max_depth}, {shape.max_bin} bins"


def _merge(args: argparse.Namespace) -> int:
    from pyopencl_gbdt.cli.bench_table import BenchTable
    from pyopencl_gbdt.comparison import agreement
    from pyopencl_gbdt.comparison.merge import merge

    document = merge(args.merge)
    machines = document["machines"]
    for number, machine in enumerate(machines, 1):
        unfinished = "" if machine["finished"] else ", interrupted"
        say(wrapped(f"machine {number}: {machine['name']}, {machine['date']}{unfinished}"))
    table = BenchTable(sum(len(machine["devices"]) for machine in machines), len(machines))
    for compared in agreement.compare(document):
        say("\n".join(table.lines(compared)))
    return _finish(document, args)


def _train(args: argparse.Namespace) -> int:
    from pyopencl_gbdt.cli.bench_table import BenchTable
    from pyopencl_gbdt.comparison import agreement, plan
    from pyopencl_gbdt.comparison.merge import document
    from pyopencl_gbdt.comparison.run import describe_device, describe_machine, run

    options = plan.Options(repeats=args.repeats, seed=args.seed, quick=args.quick)
    shapes = plan.choose_shapes(args.shapes, quick=args.quick, n_rounds=args.rounds)
    infos = plan.choose_devices(args.devices)
    machine = describe_machine(options)
    memory = f", {size(machine['memory_bytes'])}" if machine["memory_bytes"] else ""
    section("Machine", f"{machine['name']}, {machine['threads']} threads{memory}")
    for number, info in enumerate(infos):
        device = describe_device(info)
        machine["devices"].append(device)
        section("Devices" if number == 0 else "", _device_line(device))
    table = BenchTable(len(infos))
    bar = Bar(_announce(machine, shapes), parts=3 + options.repeats)
    try:
        for last in run(machine, shapes, bar.begin):
            bar.clear()
            if args.json:  # save now, so that an interrupted run keeps its results
                _save_json(args.json, document([machine]))
            if last:
                compared = agreement.compare(document([machine]))[-1]
                say("\n".join(table.lines(compared)))
    except KeyboardInterrupt:
        bar.clear()
        if args.json and machine["results"]:
            complain(f"{args.json} holds what was measured; --merge {args.json} shows it")
        raise
    return _finish(document([machine]), args)


def _device_line(device: dict[str, Any]) -> str:
    caps, rate = device["capabilities"], device["copy_bytes_per_second"]
    state = f"copies {size(rate)}/s" if rate else f"FAILED: {device['problem']}"
    cost = device.get("int64_percent")
    if cost:
        state += f", 64-bit integers take {cost / 100:.1f} times as long as 32-bit ones"
    return f"{device['device']}  {caps['name']} ({caps['platform']}), {state}"


def _announce(machine: dict[str, Any], shapes: Sequence[Shape]) -> dict[str, float]:
    """Print what will run; return the estimated seconds of each task, by name."""
    from pyopencl_gbdt.comparison.plan import estimated_seconds, task_name

    seconds: dict[str, float] = {}
    for number, shape in enumerate(shapes):
        tasks = {
            task_name(shape, device["device"]): estimated_seconds(
                shape, device["copy_bytes_per_second"], machine["options"]["repeats"]
            )
            for device in machine["devices"]
            if not device["problem"]
        }
        seconds.update(tasks)
        text = f"{shape.name}: {_numbers(shape)}, {shape.n_rounds} rounds"
        amount = f"{size(shape.expected_bytes())}, ~{duration(sum(tasks.values()))}"
        section("Shapes" if number == 0 else "", f"{text}; {amount}")
    most = max(shape.expected_bytes() for shape in shapes)
    section("Memory", f"{size(most)} of data at most, and about as much on a device")
    section("Time", f"roughly {duration(sum(seconds.values()))}; Ctrl-C ends it")
    return seconds


def _save_json(path: str, document: dict[str, Any]) -> None:
    write_text(path, json.dumps(document, indent=1, allow_nan=False) + "\n")


def _finish(document: dict[str, Any], args: argparse.Namespace) -> int:
    """Save the files asked for; print the verdict and return it as an exit code."""
    from pyopencl_gbdt.comparison import agreement, report

    compared = agreement.compare(document)
    say()
    if args.json:
        _save_json(args.json, document)
        say(f"Saved    {args.json}")
    if args.html:
        write_text(args.html, report.html(document))
        say(f"Saved    {args.html}")
    good, text = agreement.overall(compared)
    say(wrapped(text, "Verdict  "))
    return 0 if good else EXIT_DIFFER
