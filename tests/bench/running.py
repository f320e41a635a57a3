"""Run a bench as users do: in a process of its own, which can fork before it opens a device."""

import os
import subprocess
import sys
from pathlib import Path

from tests.processes import IMPORT_PATH, QUICK_BUILDS

ROOT = Path(__file__).parents[2]


def run(*arguments, timeout=600):
    """Run ``python -m bench`` with these arguments; return the finished process."""
    return subprocess.run(
        [sys.executable, "-m", "bench", *map(str, arguments)],
        cwd=ROOT,
        env={**os.environ, **QUICK_BUILDS, "PYTHONPATH": IMPORT_PATH},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
