"""Take times: one clock, one rule for warm-up and repeats, one result with its spread.

Benches, tuning, and all rooms below ``device`` measure by this module::

    clock       one run, by the host's clock
    repeated    runs one after the other; one more goes first, to warm up
    in_turns    several pieces of work, one after the other in each turn; one more turn goes first

A machine changes its speed from minute to minute, so what is compared is measured in turns.

``Profiler`` reads the device's own clock, without waiting. Every launch leaves a stamp: an OpenCL
event, or a pair of CUDA events around the launch. The driver fills in its times, and the profiler
reads a stamp later, when the work has finished. So a profiled fit launches the same kernels in the
same order as any other fit, and gives the same model.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pyopencl_gbdt.lazy_dataclasses import dataclass

Work = Callable[[], object]


class Seconds(NamedTuple):
    """Seconds of one run."""

    wall: float
    processor: float
    """Of all of this process's threads together."""


@dataclass(frozen=True)
class Times:
    """Seconds of equal runs, in their order."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        import statistics

        return statistics.median(self.seconds)

    @property
    def fastest(self) -> float:
        return min(self.seconds)

    @property
    def slowest(self) -> float:
        return max(self.seconds)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The lower and the upper quartile."""
        if len(self.seconds) == 1:
            return self.seconds[0], self.seconds[0]
        import statistics

        low, _, high = statistics.quantiles(self.seconds, n=4, method="inclusive")
        return low, high


def middle(seconds: Sequence[float]) -> float:
    """Return the median of seconds."""
    return Times(tuple(seconds)).median


class Stopwatch:
    """Tells the parts of one run apart.

    ``processor``: whether to take the processor's time, not that on the wall.
    """

    def __init__(self, *, processor: bool = False) -> None:
        self._now = time.process_time if processor else time.perf_counter
        self._last = self._now()

    def lap(self) -> float:
        """Return the seconds since the last call, or since the start."""
        before, self._last = self._last, self._now()
        return self._last - before


def nothing() -> None:
    """Prepare nothing, run nothing, wait for nothing."""


def clocked(work: Callable[..., object], *arguments: Any) -> Seconds:
    """Return the seconds of one run, on the wall and of the processor."""
    start, busy = time.perf_counter(), time.process_time()
    work(*arguments)
    return Seconds(time.perf_counter() - start, time.process_time() - busy)


def clock(work: Callable[..., object], *arguments: Any) -> float:
    """Return the seconds of one run, by the host's clock."""
    return clocked(work, *arguments).wall


def repeated(
    work: Work,
    repeats: int,
    *,
    prepare: Work = nothing,
    take: Callable[[Work], float] = clock,
    per: int = 1,
) -> Times:
    """Run ``work`` once to warm up, then ``repeats`` times; return the times of the latter.

    Parameters
    ----------
    work : callable
    repeats : int
        At least 1.
    prepare : callable
        Called before every run, untimed.
    take : callable
        Runs the work and returns its seconds, such as ``device.elapsed``.
    per : int, default 1
        Number of equal pieces, such as rounds, that a run has; the times are those of one piece.
    """
    seconds = []
    for _ in range(repeats + 1):
        prepare()
        seconds.append(take(work) / per)
    return Times(tuple(seconds[1:]))


def in_turns(works: Sequence[Callable[[], float]], turns: int) -> list[Times]:
    """Let pieces of work take turns, after one turn that warms up.

    Parameters
    ----------
    works : sequence of callable
        Each does its work and returns the seconds that it took.
    turns : int
        At least 1.

    Returns
    -------
    list of Times
        One for each piece of work.
    """
    seconds = [[work() for work in works] for _ in range(turns + 1)]
    return [Times(own) for own in zip(*seconds[1:], strict=True)]


#: Names of copies in the list of kernels; their bytes are known when they start.
UPLOAD, DOWNLOAD, COPY, FILL = "upload", "download", "copy", "fill"


@dataclass
class Total:
    """Sums over all launches of a kernel."""

    launches: int = 0
    seconds: float = 0.0
    n_bytes: int = 0


class Profiler:
    """Adds up the device's time per kernel.

    Parameters
    ----------
    read : callable
        Takes two stamps, which may be the same one. Returns the seconds from the start of the
        first's work to the end of the second's, or None while the work is unfinished.

    Attributes
    ----------
    phase : str
        The phase under which new launches are listed.
    totals : dict of (str, str) to Total
        By phase and kernel, for the stamps that were collected.
    """

    def __init__(self, read: Callable[[Any, Any], float | None]) -> None:
        self.phase = ""
        self.totals: dict[tuple[str, str], Total] = {}
        self._read = read
        self._waiting: deque[tuple[tuple[str, str], Any, int]] = deque()

    def add(self, kernel: str, stamp: Any, n_bytes: int = 0) -> None:
        """Record a launch.

        Parameters
        ----------
        stamp : object
            Passed to ``read`` later.
        n_bytes : int, default 0
            Bytes read and written, if they are known already.
        """
        self._waiting.append(((self.phase, kernel), stamp, n_bytes))

    def span(self) -> float:
        """Return the seconds from the first uncollected stamp to the last one; collect them.

        Raises
        ------
        ValueError
            If there is none, or the device has not finished.
        """
        if not self._waiting:
            raise ValueError("no launch: expected one since the last collect()")
        seconds = self._read(self._waiting[0][1], self._waiting[-1][1])
        if seconds is None:
            raise ValueError("the device has not finished; call finish() first")
        self.collect()
        return seconds

    def collect(self) -> None:
        """Add the times of finished launches to the totals and free their stamps; never waits."""
        waiting = self._waiting
        while waiting:
            key, stamp, n_bytes = waiting[0]
            seconds = self._read(stamp, stamp)
            if seconds is None:
                return
            waiting.popleft()
            total = self.totals.setdefault(key, Total())
            total.launches += 1
            total.seconds += seconds
            total.n_bytes += n_bytes
