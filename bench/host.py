"""The machine and the packages that a result holds for."""

from __future__ import annotations

import argparse
import importlib.metadata
import os
import platform
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

_PACKAGES = (
    "pyopencl_gbdt", "numpy", "scipy", "pyopencl", "pocl-binary-distribution", "intel-opencl-rt",
    "cupy-cuda12x", "cupy-cuda13x", "xgboost", "xgboost-cpu", "lightgbm", "catboost",
    "falcata", "hessboost",
    "scikit-learn", "treelite", "tl2cgen", "lleaves", "llvmlite",
)  # fmt: skip


def parser_of(what: str, description: str | None) -> argparse.ArgumentParser:
    """Return the parser of ``python -m bench WHAT``, whose description keeps its lines."""
    return argparse.ArgumentParser(
        prog=f"python -m bench {what}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def n_cpus() -> int:
    """Return the hardware threads that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def describe_host() -> dict[str, Any]:
    """Return processor, load of the last minute, memory, system and Python."""
    return {
        "cpu": _value("/proc/cpuinfo", "model name") or platform.processor(),
        "n_cpus": n_cpus(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "memory_bytes": _kib("MemTotal"),
        "platform": platform.platform(),
        "python": platform.python_version(),
    }


def free_bytes() -> int | None:
    """Return the host memory that can be taken, None where the system does not say."""
    return _kib("MemAvailable")


def peak_bytes() -> int | None:
    """Return the most host memory that this process had at a time, None outside Linux.

    A forked process begins with what its parent had at the fork.
    """
    return _kib("VmHWM", "/proc/self/status")


def report_head(what: str, arguments: list[str]) -> dict[str, Any]:
    """Return what every report begins with: the command, when and where it ran."""
    return {
        "command": ["python", "-m", "bench", what, *arguments],
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "host": describe_host(),
        "versions": package_versions(),
    }


def package_versions() -> dict[str, str]:
    """Return the versions of what is installed and matters here."""
    versions = {}
    for name in _PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def _kib(name: str, file: str = "/proc/meminfo") -> int | None:
    text = _value(file, name)
    return 1024 * int(text.split()[0]) if text else None


def _value(path: str, name: str) -> str:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), "")
