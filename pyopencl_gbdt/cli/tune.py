"""``pyopencl-gbdt tune``: measure kernels' variants and sizes on this machine, keep the best."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyopencl_gbdt.cli.output import complain, say, section, wrapped
from pyopencl_gbdt.errors import ParameterError

if TYPE_CHECKING:
    from pyopencl_gbdt.cli.tuning import Tuned
    from pyopencl_gbdt.device import Capabilities
    from pyopencl_gbdt.device.tuning import Choice

#: Minutes, normal and quick. Of these a part is for the check of what was chosen.
_LIMIT = (10.0, 3.0)
_CHECK = 0.3
_MOST_MINUTES = 24 * 60


def add(commands: Any) -> None:
    """Add the subcommand."""
    parser = commands.add_parser(
        "tune",
        help="measure which variants and sizes of kernels are fastest here",
        description="Measure variants and sizes of the kernels on a device, with synthetic data, "
        "and store the fastest in the cache folder, for this device and driver. They do not change "
        "models. It takes minutes, at most those of --limit; if the device is busy with something "
        "else, the times are useless.",
        allow_abbrev=False,
    )
    parser.add_argument("--device", default="auto", help="default auto; see pyopencl-gbdt devices")
    parser.add_argument("--quick", action="store_true", help="fewer rows, fewer candidates")
    parser.add_argument(
        "--limit",
        type=float,
        default=None,
        metavar="MINUTES",
        help=f"after which what was not measured stays as it is; default {_LIMIT[0]:.0f}, "
        f"with --quick {_LIMIT[1]:.0f}",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--dry-run", action="store_true", help="measure and show, store nothing")
    what.add_argument(
        "--reset", action="store_true", help="remove what is stored for the device, measure nothing"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Measure, show, store."""
    from pyopencl_gbdt.cli.tuning import tune
    from pyopencl_gbdt.device import find, tuning

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
    say(f"{'kernel':<18}{'tried':>6}{'ms, table':>11}{'ms, tuned':>11}{'gain':>7}  chosen")
    measured_by = start + 60 * minutes * (1 - _CHECK)
    outcomes = tune(
        info.device_id, quick=args.quick, report=_show,
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
    found = _checked(info.caps, chosen, quick=args.quick, ended=lambda: time.monotonic() > end)
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
    caps: Capabilities, chosen: dict[str, Choice], *, quick: bool, ended: Callable[[], bool]
) -> dict[str, Choice]:
    """Return the choices with which whole fits are faster; show how they fared."""
    if not chosen or ended():
        return {}
    from pyopencl_gbdt.cli import tuning_contests
    from pyopencl_gbdt.cli.tuning_check import keep_winners
    from pyopencl_gbdt.cli.tuning_ways import TuningData

    say("Whole fits and predictions, in turns with the table's choices:")
    found = tuning_contests.contests(caps, TuningData.of_device(caps, quick=quick))
    kept, verdicts = keep_winners(chosen, found, ended=ended)
    for verdict in verdicts:
        figures = f"{1e3 * verdict.table_seconds:>10.2f}{1e3 * verdict.tuned_seconds:>10.2f}  "
        say(wrapped(f"{verdict.contest}: {', '.join(verdict.kernels)}", figures))
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


def _show(outcome: Tuned) -> None:
    """Print a line of the table: the result for a kernel."""
    gain = outcome.table_seconds / outcome.chosen_seconds if outcome.chosen_seconds else 1.0
    same = outcome.chosen == outcome.table
    figures = (
        f"{outcome.kernel:<18}{outcome.tried:>6}{1e3 * outcome.table_seconds:>11.3f}"
        f"{1e3 * outcome.chosen_seconds:>11.3f}{'' if same else f'{gain:.2f}x':>7}  "
    )
    say(wrapped("as in the table" if same else _words(outcome.table, outcome.chosen), figures))


def _words(table: Choice, chosen: Choice) -> str:
    """Return what differs from the table."""
    changed = [f"{k}={v}" for k, v in chosen.params.items() if table.params.get(k) != v]
    name = [] if chosen.variant == table.variant else [chosen.variant]
    return " ".join([*name, *changed])
