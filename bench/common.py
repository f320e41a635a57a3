"""What the benches of primitives share: a case, its measurement beside a copy and a peer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.cub import Cub
from pyopencl_gbdt.device import Device, Launch, choose
from pyopencl_gbdt.device.bandwidth import copy_bandwidth, device_times, host_times
from pyopencl_gbdt.device.timing import Times, repeated

#: NumPy takes seconds beyond so many elements; a peer on the device is measured all the same.
_NUMPY_ELEMENTS = 2**25


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
    cub : (str, str, int), optional
        What of ``cub.cu`` does the same: operation, type, even segments (0: none).
    """

    kernel: str
    detail: str
    n: int
    n_bytes: int
    launches: Sequence[Launch]
    check: Callable[[], None]
    numpy: Callable[[], object]
    prepare: Callable[[], None] = lambda: None
    cub: tuple[str, str, int] | None = None


@dataclass
class Result:
    """One line of the table; times are medians."""

    kernel: str
    variant: str
    detail: str
    n: int
    seconds: float
    """By the device's clock, from the first launch to the end of the last; by the host's where the
    driver takes no times."""
    fastest: float
    slowest: float
    launches: int
    mega_per_second: float
    gigabytes_per_second: float
    share_of_copy: float
    """Least traffic's rate over the rate of a copy of the same size in the same run."""
    peer: str
    peer_seconds: float | None
    peer_fastest: float | None
    times_peer: float | None
    """The peer's seconds over ours."""


def measure(
    device: Device,
    case: Case,
    repeats: int,
    variant: str,
    cub: Cub | None,
    most_by_numpy: int = _NUMPY_ELEMENTS,
) -> Result:
    """Run a case, check it, and time it, a copy of as many bytes, and a peer."""
    times = device_times(device, case.launches, repeats, case.prepare)
    own_clock = times.median > 0
    if not own_clock:
        times = host_times(device, case.launches, repeats, case.prepare)
    seconds = times.median
    case.check()
    peer, of_peer = "", None
    if cub is not None and case.cub is not None:
        peer, of_peer = "CUB", Times(tuple(cub.seconds(case.cub, case.n, repeats)))
    elif case.n <= most_by_numpy:
        peer, of_peer = "NumPy", repeated(case.numpy, min(_numpy_runs(case.n), repeats))
    peer_seconds = of_peer.median if of_peer else None
    rate = case.n_bytes / seconds
    return Result(
        kernel=case.kernel,
        variant=choose(case.kernel, device.caps, variant).name,
        detail=case.detail,
        n=case.n,
        seconds=seconds,
        fastest=times.fastest,
        slowest=times.slowest,
        launches=len(case.launches),
        mega_per_second=case.n / seconds / 1e6,
        gigabytes_per_second=rate / 1e9,
        share_of_copy=rate / copy_bandwidth(device, case.n_bytes, repeats, own_clock=own_clock),
        peer=peer,
        peer_seconds=peer_seconds,
        peer_fastest=of_peer.fastest if of_peer else None,
        times_peer=peer_seconds / seconds if peer_seconds else None,
    )


def _numpy_runs(n: int) -> int:
    """Return how often NumPy runs at most: it takes its time with many elements."""
    return max(3, 2**22 // n)


HEAD = (
    f"{'primitive':<21}{'variant':<19}{'detail':<28}{'n':>11}{'ms':>10}{'spread':>8}{'M/s':>9}"
    f"{'GB/s':>8}{'of copy':>9}{'x peer':>8}  peer"
)


def line(r: Result) -> str:
    """Return a result as a line below ``HEAD``."""
    return (
        f"{r.kernel:<21}{r.variant:<19}{r.detail:<28}{r.n:>11}{r.seconds * 1e3:>10.3f}"
        f"{(r.slowest - r.fastest) / r.seconds:>8.0%}{r.mega_per_second:>9.0f}"
        f"{r.gigabytes_per_second:>8.1f}{r.share_of_copy:>9.2f}"
        + (f"{r.times_peer:>8.2f}  {r.peer}" if r.times_peer else f"{'-':>8}  {r.peer}")
    )


def same(actual: Any, expected: Any) -> None:
    """Raise AssertionError unless two arrays have the same bits."""
    if actual.dtype != expected.dtype or actual.tobytes() != expected.tobytes():
        raise AssertionError("the device's result differs from the twin's")


def same_sorted(device_arrays: Sequence[Any], keys: Any, rows: Any) -> None:
    """Raise AssertionError unless keys came out ascending, all of them, and rows say from where.

    What the twin takes minutes for, in seconds; numbers without NaN.
    """
    after = device_arrays[0].get()
    equal = after[1:] == after[:-1]
    if not (after[1:] > after[:-1])[~equal].all():
        raise AssertionError("the device's keys are not in order")
    if len(device_arrays) == 1:
        bits = f"u{keys.itemsize}"
        if after.view(bits).sum() != keys.view(bits).sum():
            raise AssertionError("the device's keys are others than before")
        return
    moved = device_arrays[1].get()
    same(keys[moved], after)
    if not (moved[1:] > moved[:-1])[equal].all():
        raise AssertionError("equal keys did not keep their order")


def sample(rng: np.random.Generator, n: int, dtype: Any) -> Any:
    """Return normal floats or integers of random bits."""
    if np.dtype(dtype) == np.float32:
        return rng.standard_normal(n).astype(np.float32)
    return rng.integers(0, 256, n * np.dtype(dtype).itemsize, dtype=np.uint8).view(dtype)
