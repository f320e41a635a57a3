"""Times of kernels and copies by the device's own clock, taken without waiting.

Every launch leaves a stamp: an OpenCL event, or a pair of CUDA events around the launch. The driver
fills in its times. The profiler reads a stamp later, when the work has finished. So a profiled fit
launches the same kernels in the same order as any other fit, and gives the same model.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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
        kernel : str
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
