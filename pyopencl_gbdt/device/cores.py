"""How many of the host's cores this process may use."""

from __future__ import annotations

import contextlib
import os
from functools import cache
from pathlib import Path

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
