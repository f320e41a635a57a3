"""A newcomer's day: run each script of this folder in a process and a folder of its own.

``python tests/scripts`` takes the installed package, ``python -m tests.scripts`` that of the
checkout. Words choose scripts by a part of their name. Ends with 1 if a script fails.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: Seconds after which a script has failed.
LIMIT = 120


def run(script: Path) -> tuple[str, str]:
    """Return why a script failed and what it printed; the reason is empty if it did not fail."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [sys.executable, str(script)],
                cwd=folder,
                env={**os.environ, "MPLBACKEND": "agg"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
                text=True,
                timeout=LIMIT,
            )
        except subprocess.TimeoutExpired as late:
            return f"no end after {LIMIT} s", str(late.stdout or "")
    return (f"exit code {done.returncode}" if done.returncode else ""), done.stdout


def main() -> int:
    """Run the scripts; print a line for each, and all that a failed one printed."""
    parser = argparse.ArgumentParser(prog="python tests/scripts", description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names; default all scripts")
    parser.add_argument("--verbose", action="store_true", help="print what every script prints")
    options = parser.parse_args()
    scripts = [
        path
        for path in sorted(HERE.glob("[a-z]*.py"))
        if not options.names or any(name in path.stem for name in options.names)
    ]
    failures = 0
    began = time.perf_counter()
    for script in scripts:
        start = time.perf_counter()
        failure, output = run(script)
        seconds = time.perf_counter() - start
        print(f"{script.stem:<24}{seconds:6.1f} s  {failure or 'ok'}", flush=True)
        if failure or options.verbose:
            print("".join(f"    {line}\n" for line in output.splitlines()), flush=True)
        failures += bool(failure)
    seconds = time.perf_counter() - began
    print(f"{len(scripts) - failures} of {len(scripts)} scripts ended well, {seconds:.0f} s")
    return 1 if failures or not scripts else 0


if __name__ == "__main__":
    sys.exit(main())
