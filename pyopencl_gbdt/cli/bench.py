"""``pyopencl-gbdt bench``: train the same data on every device of this machine, and compare."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyopencl_gbdt.cli.options import add_command
from pyopencl_gbdt.cli.output import (
    check_output,
    complain,
    say,
    section,
    wrapped,
    write_text,
)
from pyopencl_gbdt.comparison.schema import duration, size
from pyopencl_gbdt.errors import ParameterError

if TYPE_CHECKING:
    from pyopencl_gbdt.comparison.shapes import Shape
import sys
import time
from collections.abc import Mapping

from pyopencl_gbdt.cli.output import TextTable, escaped, width
from pyopencl_gbdt.comparison.agreement import Compared, Row

_FIGURES = (
    ("set-up s", 9), ("ms/round", 10), ("% of copy", 10), ("Mrows/s", 9), ("MB", 7), ("first s", 8)
)  # fmt: skip


def title(compared: Compared) -> str:
    """Describe a shape in one line."""
    s = compared.shape
    models = f", {s['n_models']} models" if s["n_models"] > 1 else ""
    return (
        f"{s['name']}: {s['n_rows']} x {s['n_features']}, depth {s['max_depth']}, "
        f"{s['max_bin']} bins, {s['n_rounds']} rounds{models}"
    )


class BenchTable:
    """Formats shapes one at a time: a table for each, or one table if there is only one device.

    ``n_devices``: number of devices of all machines.
    ``n_machines``: number of machines; with several, machine numbers precede devices.
    """

    def __init__(self, n_devices: int, n_machines: int = 1) -> None:
        self.alone, self.n_machines = n_devices == 1, n_machines
        first = ("shape" if self.alone else "device", 14)
        self.table = TextTable(first, _FIGURES, "model", indent=2)
        self._has_head = False

    def lines(self, compared: Compared) -> list[str]:
        """Return a shape's lines."""
        if compared.shape["problem"] and not compared.rows:
            problem = f"not trained: {compared.shape['problem']}"
            return ["", title(compared), wrapped(problem, "  ")]
        rows = [self._row(row) for row in compared.rows]
        if not self.alone:
            verdict = wrapped(compared.verdict, "  ")
            return ["", wrapped(title(compared), "", "  "), *self.table.head(), *rows, verdict]
        begun, self._has_head = self._has_head, True
        return [*([] if begun else ["", *self.table.head()]), *rows]

    def _row(self, row: Row) -> str:
        name = f"{row.machine + 1} " if self.n_machines > 1 else ""
        name += row.result["shape"] if self.alone else row.device["device"]
        r = row.result
        if row.failed:
            return wrapped(f"{name:<14} failed: {r['problem']}", "  ", "    ")
        figures = (
            f"{r['setup_seconds']:.3f}", f"{r['round_ms']:.2f}", f"{100 * r['share_of_copy']:.1f}",
            f"{r['predicted_rows_per_second'] / 1e6:.2f}", f"{r['peak_bytes'] / 1e6:.0f}",
            f"{r['first_fit_seconds']:.2f}",
        )  # fmt: skip
        again = "" if r["repeats_agree"] else " UNSTEADY"
        return self.table.row(name, figures, f"{r['model_digest'][:8]}{again}")


_CELLS = 20
#: Share of the work after which the remaining time is shown.
_ENOUGH = 0.05


class Bar:
    """A progress bar, overwritten in place on a terminal; elsewhere one line per task, no bar.

    ``seconds``: each task and its estimated seconds.
    ``parts``: number of parts of a task, assumed to be equally long.
    """

    def __init__(self, seconds: Mapping[str, float], parts: int) -> None:
        self.seconds, self.parts = seconds, parts
        self.total = sum(seconds.values()) or 1.0
        self.finished: set[str] = set()
        self.task, self.part = "", 0
        self.live = sys.stderr.isatty()
        self.start = time.monotonic()

    @property
    def share(self) -> float:
        """The share of the work that is done."""
        done = sum(seconds for task, seconds in self.seconds.items() if task in self.finished)
        begun = self.seconds.get(self.task, 0.0) * min(self.part / self.parts, 1.0)
        return min((done + begun) / self.total, 1.0)

    def begin(self, task: str, part: str) -> None:
        """Show the current task and part; a new task marks the previous one as done."""
        if task != self.task:
            self.finished.add(self.task)
            self.task, self.part = task, 0
            if not self.live:
                self._write(f"{escaped(task)} ({self.share:.0%} done)\n")
        else:
            self.part += 1
        if self.live:
            cells = width() - 1
            self._write("\r" + escaped(self.line(part))[:cells].ljust(cells))

    def line(self, part: str) -> str:
        """Return the bar with its text."""
        share, passed = self.share, time.monotonic() - self.start
        full = round(share * _CELLS)
        left = ""
        if share >= _ENOUGH:
            minutes, seconds = divmod(round(passed / share * (1 - share)), 60)
            left = f", {minutes}:{seconds:02d} left"
        return f"[{'#' * full}{'.' * (_CELLS - full)}]{share:>4.0%}{left}  {self.task}: {part}"

    def clear(self) -> None:
        """Clear the line, before other lines are written."""
        if self.live:
            self._write("\r" + " " * (width() - 1) + "\r")

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


#: Options that apply to training, and so not to ``--merge``, with their defaults.
_DEFAULTS = {
    "devices": "all", "shapes": None, "quick": False, "rounds": None, "repeats": 3, "seed": 0,
}  # fmt: skip
_BOUNDS = {"rounds": (1, 100_000), "repeats": (1, 1000), "seed": (0, 2**32 - 1)}
EXIT_DIFFER = 1


def add(commands: Any) -> None:
    """Add the subcommand."""
    text = """
compare the devices of this machine, or of several

Train the same data on every device, one after the other; check that the models are the same
bytes; measure set-up, a round, prediction, memory, share of bandwidth and every kernel. The exit
code is 1 if models differ or nothing was measured.

--devices STR,...  comma-separated devices, also simulators; default: all but simulators
--shapes NAME,...  comma-separated names or patterns such as 'rows-*', or all; see --list-shapes
--list-shapes      list the shapes and exit
--quick            small shapes; less than a minute a device
--rounds N         default: the shape's number
--repeats N        timed fits; default 3
--seed N           seed of the data; default 0
--json FILE        save all figures; --merge reads them
--html FILE        save a report with plots, in one file
--merge FILE       join files of --json, without training
"""
    parser = add_command(commands, "bench", text, merge={"nargs": "+"})
    parser.set_defaults(run=run, list_shapes=None, quick=None)


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
    from pyopencl_gbdt.comparison import agreement
    from pyopencl_gbdt.comparison.schema import merge

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
    from pyopencl_gbdt.comparison import agreement, plan
    from pyopencl_gbdt.comparison.run import describe_device, describe_machine, run
    from pyopencl_gbdt.comparison.schema import document

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
