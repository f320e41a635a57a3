"""Run scripts of other libraries' users as they are, and with one import changed.

``python -m tests.scripts.imports`` runs all scripts of ``scripts/``, two at a time. Words choose
scripts by a part of their name. Scores have to be within noise of the original's. A script is
left out where a package that it imports is not installed. Ends with 1 if a script fails.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from tests.scripts.imports.running import (
    Outcome,
    changed,
    differences,
    missing,
    original,
    processes,
    run,
    scores,
)

SCRIPTS = Path(__file__).resolve().parent / "scripts"


def both(path: Path, context: object) -> tuple[Outcome, Outcome]:
    """Run a script with the original, then with this library in its place."""
    text, name = path.read_text(encoding="utf-8"), path.name
    library = original(text)
    absent = "" if library == "sklearn" else library
    return run(text, name, context), run(changed(text), name, context, absent)


def report(path: Path, theirs: Outcome, ours: Outcome, *, verbose: bool) -> bool:
    """Print a script's line, and all that a failed one printed; return whether it failed."""
    problems = [f"with the original: {theirs.failure}"] if theirs.failure else []
    problems += [f"with this library: {ours.failure}"] if ours.failure else []
    problems = problems or differences(theirs.output, ours.output)
    before, after = scores(theirs.output), scores(ours.output)
    shown = [
        f"{name.split()[1]} {before[name].split()[0]} {after[name].split()[0]}"
        for name in before
        if name in after and name.startswith("score")
    ]
    line = "; ".join(problems or shown)
    print(f"{path.stem:<36}{theirs.seconds:6.1f} {ours.seconds:6.1f} s  {line}", flush=True)
    if problems or verbose:
        for title, outcome in (("with the original", theirs), ("with this library", ours)):
            print(f"  {title}:")
            print("".join(f"    {line}\n" for line in outcome.output.splitlines()), flush=True)
    return bool(problems)


def main() -> int:
    """Run the scripts; print a line for each: seconds and scores, first the original's."""
    parser = argparse.ArgumentParser(prog="python -m tests.scripts.imports", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names; default all scripts")
    parser.add_argument("--verbose", action="store_true", help="print what every script prints")
    options = parser.parse_args()
    chosen, left_out = [], 0
    for path in sorted(SCRIPTS.glob("*.py")):
        if options.names and not any(name in path.stem for name in options.names):
            continue
        lacking = missing(path.read_text(encoding="utf-8"))
        left_out += bool(lacking)
        if lacking:
            print(f"{path.stem:<36}left out: {', '.join(lacking)} is not installed")
        else:
            chosen.append(path)
    began = time.perf_counter()
    failed = 0
    with ThreadPoolExecutor(2) as pool:
        outcomes = pool.map(partial(both, context=processes()), chosen)
        for path, (theirs, ours) in zip(chosen, outcomes, strict=True):
            failed += report(path, theirs, ours, verbose=options.verbose)
    print(
        f"{len(chosen) - failed} of {len(chosen)} scripts give the original's scores,"
        f" {left_out} left out, {time.perf_counter() - began:.0f} s"
    )
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
