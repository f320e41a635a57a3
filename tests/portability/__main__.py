"""``python -m tests.portability``: what can be proved about portability without the hardware.

Exits with 1 if anything fails; with ``--strict``, or where the variable CI is set, also if
something could not be tried because its compiler or runtime is not installed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.portability import arm, drivers, offline, record, targets, timed
from tests.portability.chroot import Chroot, chroot_of
from tests.portability.debian import DebianError
from tests.portability.matrix import Compiled, compile_all
from tests.portability.runtimes import ROOT, SETTINGS, Outcome, Setting, run_setting, run_suite
from tests.portability.tables import PAGES as OF_MAKERS
from tests.portability.tables import outcome_table, renewed_page

ROWS = ("pocl", "intel-cpu", "oclgrind", "amd", "intel-gpu", "nvidia", "baseline")
#: Rows whose compilers' results are recorded.
RECORDED = ("amd", "intel-gpu", "nvidia")
#: Rows that run only where they are named: they take minutes or hours. These download a compiler
#: or a runtime, those make a Debian.
DOWNLOADED = ("amd-comgr", "intel-gpu-new", arm.ROW)
IN_CHROOT = (drivers.QUICK, drivers.WHOLE)
BY_NAME = (*DOWNLOADED, *IN_CHROOT)
_ROWS_HELP = (
    f"of {', '.join(ROWS)} (default: these), {', '.join(DOWNLOADED)} (on Debian), "
    f"{', '.join(IN_CHROOT)} (as root, on Debian)"
)
PAGES = ROOT / "docs" / "portability"
Work = Callable[[], Outcome]
#: Processor seconds, by which a run begins with what is longest: of a chip that is whole, of
#: others, of trials in another system, and of what these wait for.
_WHOLE_CHIP, _CHIP, _LONG, _FIRST = 120, 30, 600, 3600
#: What each row's compiler made for each chip.
Results = dict[str, dict[str, list[Compiled]]]


@dataclass(frozen=True)
class Compiling:
    """How chips are compiled for.

    Attributes
    ----------
    every : bool
        Whether with all programs.
    anew : bool
        Whether also those that are recorded.
    recorded : bool
        Whether what becomes of them is recorded.
    """

    every: bool = False
    anew: bool = False
    recorded: bool = False


def _timed(work: Callable[[], Outcome]) -> Outcome:
    start = timed.spent()
    outcome = work()
    outcome.seconds = timed.spent() - start
    print(f"  {outcome.row:10} {outcome.name:28} {outcome.state}", file=sys.stderr, flush=True)
    return outcome


def _chip(target: targets.Target, results: Results, how: Compiling) -> Outcome:
    missing = offline.COMPILERS[target.row].missing()
    outcome = Outcome(target.row, target.chip, skipped=missing)
    if not outcome.skipped:
        try:
            chip = compile_all(target, every=how.every, anew=how.anew)
        except DebianError as error:
            outcome.skipped = f"Debian's packages were not to be had: {error}"
            return outcome
        outcome.failures, compiled = chip.gaps, chip.compiled
        results.setdefault(target.row, {})[target.chip] = compiled
        usages = [usage for one in compiled for usage in one.usages]
        outcome.detail = f"{len(usages)} kernels in {len(compiled)} programs, {chip.says}"
        outcome.detail += f"; {target.people_say}"
        if how.recorded and not outcome.failures:
            record.write(target, {one.digest: one.usages for one in compiled})
        in_lanes = sum(usage.in_lanes > 0 for usage in usages)
        if in_lanes:
            outcome.detail += f"; {in_lanes} with scalars in lanes"
    return outcome


def _chips_of(row: str, named: list[str], every: bool) -> list[targets.Target]:
    """Return the chips of a row: those that are named, else the usual ones or all."""
    chips = targets.ALL.get(row, ())
    if named:
        return [t for t in chips if t.chip in named]
    return [t for t in chips if every or not t.on_request]


def settings_of(row: str, whole: bool) -> list[Setting]:
    """Return the settings of a row, those that run on request if it is to be whole."""
    return [own for own in SETTINGS if own.row == row and (whole or not own.on_request)]


def _works(
    rows: list[str], named: list[str], how: Compiling, whole: bool, results: Results
) -> list[tuple[int, Work]]:
    """Return what rows run, and about how long: what is long at the end would leave cores idle."""
    works: list[tuple[int, Work]] = []
    for row in rows:
        for setting in settings_of(row, whole):
            works.append((setting.seconds, lambda s=setting: run_setting(s, whole=whole)))
        works += [(_LONG, lambda t=t: arm.run(t)) for t in arm.TRIALS if row == arm.ROW]
        chips = _chips_of(row, named, how.every)
        for chip in chips:
            seconds = _WHOLE_CHIP if chip.whole or how.every else _CHIP
            works.append((seconds, lambda t=chip: _chip(t, results, how)))
    return works


def _run(works: list[tuple[int, Work]], jobs: int) -> list[Outcome]:
    """Run so many works at a time, the longest first; return their outcomes in the given order."""
    with ThreadPoolExecutor(jobs) as pool:
        order = sorted(range(len(works)), key=lambda k: -works[k][0])
        started = {k: pool.submit(_timed, works[k][1]) for k in order}
        return [started[k].result() for k in range(len(works))]


def _works_in_chroot(rows: list[str], debian: Chroot) -> list[tuple[int, Work]]:
    """Return what the rows of ``drivers`` run: the first fills a Debian, the others wait for it."""
    lock = threading.Lock()
    fill = cache(lambda: drivers.filled(rows[0], debian))

    def filled() -> Outcome:
        with lock:
            return fill()

    def run(trial: drivers.Trial) -> Outcome:
        made = filled()
        if made.failures or made.skipped:
            return Outcome(trial.row, trial.name, skipped="there is no Debian to run it in")
        return trial.run(debian)

    trials = [trial for trial in drivers.TRIALS if trial.row in rows]
    return [(_FIRST, filled), *((_LONG, lambda t=t: run(t)) for t in trials)]


def main(words: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.portability", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=_ROWS_HELP)
    parser.add_argument("--suite", action="store_true", help="also run all tests, on PoCL")
    parser.add_argument("--strict", action="store_true", help="what is skipped is a failure")
    parser.add_argument("--every", action="store_true", help="all programs for all chips")
    parser.add_argument("--anew", action="store_true", help="also programs that are recorded")
    parser.add_argument(
        "--record", action="store_true", help="renew tests/portability/compiled/ for these rows"
    )
    parser.add_argument(
        "--whole",
        action="store_true",
        help="trainings of runtimes whose kernels others show, and sub-groups of 64, too",
    )
    parser.add_argument(
        "--chips", nargs="+", default=[], metavar="CHIP", help="those of the rows, such as gfx942"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs at a time")
    parser.add_argument("--write-docs", action="store_true", help="renew docs/portability/")
    parser.add_argument(
        "--debian", default="trixie", metavar="SUITE", help="of the rows in a chroot"
    )
    parser.add_argument(
        "--chroot", type=Path, metavar="FOLDER", help="keep Debian there, or use what is there"
    )
    args = parser.parse_args(words)
    unknown = set(args.rows) - {*ROWS, *BY_NAME}
    if unknown:
        parser.error(f"unknown rows {sorted(unknown)}; expected some of {(*ROWS, *BY_NAME)}")
    unknown = set(args.chips) - {t.chip for row in targets.ALL.values() for t in row}
    if unknown:
        parser.error(f"unknown chips {sorted(unknown)}; docs/portability.md names them")
    if args.record and (args.every or args.write_docs):
        parser.error("--record keeps the programs of a usual run, without --every and --write-docs")
    wanted = args.rows or list(RECORDED if args.record else ROWS)
    how = Compiling(args.every or args.write_docs, args.anew, args.record)
    results: Results = {}
    outcomes = [_timed(run_suite)] if args.suite else []
    works = _works(
        [row for row in (*ROWS, *DOWNLOADED) if row in wanted],
        args.chips,
        how,
        args.whole,
        results,
    )
    in_chroot = [row for row in IN_CHROOT if row in wanted]
    with contextlib.ExitStack() as stack:
        if in_chroot:
            debian = stack.enter_context(chroot_of(args.chroot, args.debian))
            fill, *trials = _works_in_chroot(in_chroot, debian)
            works = [fill, *works, *trials]  # it waits for the network while others compile
        outcomes += _run(works, args.jobs)
    for outcome in outcomes:
        for failure in outcome.failures:
            print(f"\n{outcome.row}, {outcome.name}: {failure}")
    print("\n" + outcome_table(outcomes))
    if args.write_docs:
        for page, rows in OF_MAKERS.items():
            if any(row in results for row in rows):
                file = PAGES / f"{page}.md"
                text = file.read_text(encoding="utf-8") if file.is_file() else ""
                file.write_text(renewed_page(page, text, results), encoding="utf-8")
    strict = args.strict or bool(os.environ.get("CI"))
    bad = [o for o in outcomes if o.failures or (strict and o.skipped)]
    print(f"\n{len(outcomes) - len(bad)} of {len(outcomes)} good" + (", GAPS" if bad else ""))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
