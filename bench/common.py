"""What the benches share: a case, its measurement beside a copy and NumPy, a table."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pyopencl_gbdt.device import Device, Launch, choose
from pyopencl_gbdt.device.bandwidth import copy_bandwidth, median_seconds


@dataclass
class Case:
    """One thing to measure.

    Attributes
    ----------
    kernel, detail, n
        What, in which form (dtype, shares), of how many elements.
    n_bytes : int
        Least traffic: every input read once, every output written once.
    launches : list of Launch
        The work, bound.
    check : callable
        Raises AssertionError unless the outputs equal the twin's.
    numpy : callable
        NumPy's way to the same result.
    prepare : callable
        Brings the inputs back, untimed: for what works in place.
    """

    kernel: str
    detail: str
    n: int
    n_bytes: int
    launches: Sequence[Launch]
    check: Callable[[], None]
    numpy: Callable[[], object]
    prepare: Callable[[], None] = lambda: None


@dataclass
class Result:
    """One line of the table."""

    kernel: str
    variant: str
    detail: str
    n: int
    seconds: float
    mega_per_second: float
    gigabytes_per_second: float
    share_of_copy: float
    """Least traffic's rate over the rate of a copy of the same size in the same run."""
    times_numpy: float
    """NumPy's seconds over the device's."""


def measure(device: Device, case: Case, repeats: int, variant: str) -> Result:
    """Run a case, check it, time it, and time NumPy and a copy beside it."""
    seconds = median_seconds(device, case.launches, repeats, case.prepare)
    case.check()
    numpy_seconds = []
    for _ in range(min(3, repeats)):
        start = time.perf_counter()
        case.numpy()
        numpy_seconds.append(time.perf_counter() - start)
    rate = case.n_bytes / seconds
    return Result(
        kernel=case.kernel,
        variant=choose(case.kernel, device.caps, variant).name,
        detail=case.detail,
        n=case.n,
        seconds=seconds,
        mega_per_second=case.n / seconds / 1e6,
        gigabytes_per_second=rate / 1e9,
        share_of_copy=rate / copy_bandwidth(device, case.n_bytes, repeats),
        times_numpy=statistics.median(numpy_seconds) / seconds,
    )


def table(results: Sequence[Result]) -> str:
    """Return results as text, one line each."""
    head = (
        f"{'kernel':<17}{'variant':<11}{'detail':<24}{'n':>10}{'ms':>10}{'M/s':>9}{'GB/s':>8}"
        f"{'of copy':>9}{'x NumPy':>9}"
    )
    lines = [
        f"{r.kernel:<17}{r.variant:<11}{r.detail:<24}{r.n:>10}{r.seconds * 1e3:>10.3f}"
        f"{r.mega_per_second:>9.1f}{r.gigabytes_per_second:>8.2f}{r.share_of_copy:>9.2f}"
        f"{r.times_numpy:>9.1f}"
        for r in results
    ]
    return "\n".join([head, *lines])


def write_json(path: str, device: Device, results: Sequence[Result]) -> None:
    """Write results with the device that they hold for."""
    facts: dict[str, Any] = {
        "device": device.caps.label,
        "driver": device.caps.driver,
        "compute_units": device.caps.compute_units,
        "numpy": np.__version__,
        "results": [asdict(result) for result in results],
    }
    Path(path).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def same(actual: Any, expected: Any) -> None:
    """Raise AssertionError unless two arrays have the same bits."""
    if actual.dtype != expected.dtype or actual.tobytes() != expected.tobytes():
        raise AssertionError("the device's result differs from the twin's")


def sample(rng: np.random.Generator, n: int, dtype: Any) -> Any:
    """Return normal floats or integers of random bits."""
    if np.dtype(dtype) == np.float32:
        return rng.standard_normal(n).astype(np.float32)
    return rng.integers(0, 256, n * np.dtype(dtype).itemsize, dtype=np.uint8).view(dtype)
