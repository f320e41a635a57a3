"""Start a second Python process that uses this library's modules; count the host's cores."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

#: A control group's quota and period in microseconds, as Linux's second version writes them.
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


@cache
def usable_cores() -> int:
    """Return the number of cores that the process may run on, at least 1.

    That is the affinity of the process, or what a container's quota allows, if that is less.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError):  # no such file, or no quota
        quota, period = map(int, _QUOTA.read_text(encoding="ascii").split())
        cores = min(cores, -(-quota // period))
    return max(1, cores)


_PATHS = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "


def possible() -> bool:
    """Tell whether this program is Python; one that embeds it must not be started a second time."""
    name = os.path.basename(sys.executable or "").lower()  # noqa: PTH119 - may be None
    return name.startswith(("python", "pypy")) and not getattr(sys, "frozen", False)


def start(
    code: str, *arguments: str, variables: Mapping[str, str], **options: Any
) -> subprocess.Popen[bytes]:
    """Start a process that runs ``code``; its ``sys.argv[2:]`` are the arguments.

    Parameters
    ----------
    code : str
        Python statements; ``json`` and ``sys`` are imported.
    variables : mapping
        Environment variables that are set beside this process's.
    **options
        For ``subprocess.Popen``; without any, standard streams lead nowhere.
    """
    nowhere = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    path = json.dumps([place for place in sys.path if place])
    return subprocess.Popen(
        [sys.executable, "-I", "-c", _PATHS + code, path, *arguments],
        env={**os.environ, **variables},
        **{**nowhere, **options},
    )
