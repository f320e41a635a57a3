"""``pyopencl-gbdt tune``: measure kernels' variants and sizes on this machine, keep the best."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyopencl_gbdt.cli.options import add_command, add_options
from pyopencl_gbdt.cli.output import TextTable, complain, say, section, wrapped
from pyopencl_gbdt.errors import ParameterError

if TYPE_CHECKING:
    from pyopencl_gbdt.comparison.tuning_fits import TuningData
    from pyopencl_gbdt.device import Capabilities
    from pyopencl_gbdt.device.variants.search import Tuned
    from pyopencl_gbdt.device.variants.tuning import Choice

#: Minutes, normal and quick. Of these a part is for the check of what was chosen.
_LIMIT = (10.0, 3.0)
_CHECK = 0.3
_MOST_MINUTES = 24 * 60
#: Headings and widths of the tables' figures.
_FIGURES = (("tried", 6), ("table ms", 10), ("tuned ms", 10), ("gain", 7))


def add(commands: Any) -> None:
    """Add the subcommand."""
    text = f"""
measure which variants and sizes of kernels are fastest here

Measure variants and sizes of the kernels on a device, with synthetic data, and store the fastest
in the cache folder, for this device and driver. They do not change models. It takes minutes, at
most those of --limit; if the device is busy with something else, the times are useless.

--device DEVICE  default auto; see pyopencl-gbdt devices
--quick          fewer rows, fewer candidates
--limit MINUTES  after which what was not measured stays as it is; default {_LIMIT[0]:.0f}, with
                 --quick {_LIMIT[1]:.0f}
"""
    parser = add_command(commands, "tune", text)
    text = """
--dry-run  measure and show, store nothing
--reset    remove what is stored for the device, measure nothing
"""
    add_options(parser.add_mutually_exclusive_group(), text)
    parser.set_defaults(run=run, device="auto")


def run(args: argparse.Namespace) -> int:
    """Measure, show, store."""
    from pyopencl_gbdt.comparison.tuning_fits import KernelTimes, TuningData
    from pyopencl_gbdt.device import find
    from pyopencl_gbdt.device.variants import tuning
    from pyopencl_gbdt.device.variants.search import tune

    info = find(args.device)
    assert info.caps is not None
    if args.reset:
        removed = tuning.reset(info.caps)
        path = tuning.path_of(info.caps)
        say(f"removed {path}" if removed else f"nothing is stored for {info.caps.label}")
        return 0
    if tuning.is_off():
        complain(f"note: {tuning.ENVIRONMENT} is off: what is stored will not be used")
    minutes = _LIMIT[args.quick] if args.limit is None else args.limit
    if not 0 < minutes <= _MOST_MINUTES:
        move = "raise" if minutes <= 0 else "lower"
        raise ParameterError(
            f"--limit {minutes:g}: expected more than 0 and at most {_MOST_MINUTES}; {move} it"
        )
    start = time.monotonic()
    section("Device", info.caps.label)
    section("Limit", f"{minutes:g} minutes; Ctrl-C ends it and stores nothing")
    say()
    table = TextTable(("kernel", 20), _FIGURES, "chosen")
    say("\n".join(["Each kernel alone:", *table.head()]))
    measured_by = start + 60 * minutes * (1 - _CHECK)
    data = TuningData.of_device(info.caps, quick=args.quick)
    clock = KernelTimes(info.device_id, data, repeats=2 if args.quick else 3)
    outcomes = tune(
        info.caps, clock, quick=args.quick, report=lambda outcome: say(_line(table, outcome)),
        ended=lambda: time.monotonic() > measured_by,
    )  # fmt: skip
    say()
    left = [kernel for kernel in tuning.tunable() if kernel not in {o.kernel for o in outcomes}]
    if left:
        said = f"note: the time was over before {', '.join(left)}: as in the table; raise --limit"
        complain(wrapped(said, "", "    "))
    failed = [f"{outcome.kernel}: {text}" for outcome in outcomes for text in outcome.failed]
    for text in failed:
        complain(wrapped(f"note: did not run: {text}", "", "    "))
    chosen = {o.kernel: o.chosen for o in outcomes if o.chosen != o.table}
    end = start + 60 * minutes
    found = _checked(info.caps, chosen, data, ended=lambda: time.monotonic() > end)
    if chosen and not found and time.monotonic() > end:
        said = "note: the time was over before whole fits had checked what was chosen: nothing is "
        complain(wrapped(f"{said}stored, what was there stays; raise --limit", "", "    "))
        return 0
    chosen = found
    if not chosen:
        say("Nothing is faster than the table by 3 % or more.")
    if args.dry_run:
        say("Nothing was stored.")
        return 0
    path = tuning.store(info.caps, chosen)
    section("Stored", str(path), f"pyopencl-gbdt tune --device {info.device_id} --reset removes it")
    return 0


def _checked(
    caps: Capabilities, chosen: dict[str, Choice], data: TuningData, ended: Callable[[], bool]
) -> dict[str, Choice]:
    """Return the choices with which whole fits are faster; show how they fared."""
    if not chosen or ended():
        return {}
    from pyopencl_gbdt.comparison import tuning_fits
    from pyopencl_gbdt.device.variants.search import keep_winners

    table = TextTable(("fit", 20), _FIGURES[1:], "kernels with other choices")
    said = "Whole fits and predictions, by the host's clock, in turns with the table's choices:"
    say("\n".join([wrapped(said), *table.head()]))
    found = tuning_fits.contests(caps, data)
    kept, verdicts = keep_winners(chosen, found, ended=ended)
    for verdict in verdicts:
        figures = _figures(verdict.table_seconds, verdict.tuned_seconds)
        say(table.row(verdict.contest, figures, ", ".join(verdict.kernels)))
    timed = {kernel for verdict in verdicts for kernel in verdict.kernels}
    dropped = [kernel for kernel in chosen if kernel not in kept and kernel in timed]
    if dropped:
        say(wrapped(f"dropped, as nothing is faster with them: {', '.join(dropped)}", "", "    "))
    untimed = [kernel for kernel in chosen if kernel not in timed]
    if untimed:
        why = "the time was over" if ended() else "no fit runs them"
        say(wrapped(f"dropped, as {why}: {', '.join(untimed)}", "", "    "))
    say()
    return kept


def _figures(table_seconds: float, tuned_seconds: float) -> list[str]:
    """Return milliseconds by the variant table and tuned, and their ratio."""
    gain = f"{table_seconds / tuned_seconds:.2f}x" if tuned_seconds else ""
    return [f"{1e3 * table_seconds:.3f}", f"{1e3 * tuned_seconds:.3f}", gain]


def _line(table: TextTable, outcome: Tuned) -> str:
    """Return the result for a kernel."""
    times = _figures(outcome.table_seconds, outcome.chosen_seconds)
    if outcome.chosen == outcome.table:
        return table.row(outcome.kernel, [str(outcome.tried), *times[:2], ""], "as in the table")
    words = _words(outcome.table, outcome.chosen)
    return table.row(outcome.kernel, [str(outcome.tried), *times], words)


def _words(table: Choice, chosen: Choice) -> str:
    """Return the variants and sizes that differ from the table's."""
    changed = [f"{k}={v}" for k, v in chosen.params.items() if table.params.get(k) != v]
    name = [] if chosen.variant == table.variant else [chosen.variant]
    return " ".join([*name, *changed])
