"""The profile of a fit: each kernel's time, bytes and share of the device's bandwidth."""

from __future__ import annotations

from pyopencl_gbdt.device import Device
from pyopencl_gbdt.device.bandwidth import device_bandwidth
from pyopencl_gbdt.device.timing import COPY, DOWNLOAD, FILL, UPLOAD, Stopwatch, Total
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.profiling.traffic import WHOLE_ARRAYS, Tally

#: Phases of a fit: launches before the first tree, and launches of the rounds.
SET_UP, ROUNDS = "set-up", "rounds"
#: Copies, which move exactly the bytes of their arrays.
_COPIES = frozenset({UPLOAD, DOWNLOAD, COPY, FILL})


@dataclass(frozen=True)
class KernelTime:
    """All launches of a kernel, or all copies of one kind, in one phase of a fit.

    Attributes
    ----------
    kernel : str
        As in ``split.find``: the kernel's name in the variant table, and the function in its
        program. Or a kind of copy: ``upload``, ``download``, ``copy``, ``fill``.
    phase : str
        ``"set-up"`` or ``"rounds"``.
    launches : int
    seconds : float
        Measured by the device's clock, without the gaps between launches.
    bytes : int or None
        The least bytes to move: every input read once, every output written once. None if it
        is not known for a kernel.
    gigabytes_per_second : float or None
        ``bytes`` divided by ``seconds``.
    share_of_copy : float or None
        That rate divided by the rate at which the device copies its memory; above 1 if data
        stay in a cache between kernels.
    """

    kernel: str
    phase: str
    launches: int
    seconds: float
    bytes: int | None
    gigabytes_per_second: float | None
    share_of_copy: float | None


class Profile(list[KernelTime]):
    """The kernels of a fit, slowest first in each phase.

    Attributes
    ----------
    device : str
    rounds : int
    wall_seconds : dict of str to float
        Seconds per phase on the host, including gaps between kernels and the host's work.
    copy_bandwidth : float
        Bytes per second, read plus written, at which the device copies its memory.
    """

    def __init__(
        self,
        kernels: list[KernelTime],
        *,
        device: str,
        rounds: int,
        wall_seconds: dict[str, float],
        copy_bandwidth: float,
    ) -> None:
        super().__init__(kernels)
        self.device, self.rounds = device, rounds
        self.wall_seconds, self.copy_bandwidth = wall_seconds, copy_bandwidth

    def seconds(self, phase: str) -> float:
        """Return the total seconds of a phase on the device."""
        return sum(kernel.seconds for kernel in self if kernel.phase == phase)

    def table(self) -> str:
        """Return a table for people to read, 80 columns wide."""
        lines = []
        for phase in (SET_UP, ROUNDS):
            busy, wall = self.seconds(phase), self.wall_seconds.get(phase, 0.0)
            title = phase if phase == SET_UP else f"{self.rounds} rounds"
            lines.append(
                f"{title:<30}{'launches':>9}{'ms':>10}{'of time':>8}{'bytes':>9}{'GB/s':>8}"
                f"{'copy':>6}"
            )
            lines += [_line(kernel, busy) for kernel in self if kernel.phase == phase]
            busy_line = f"  {'device busy':<37}{1e3 * busy:>10.3f}  of {1e3 * wall:.3f} ms"
            if phase == ROUNDS and self.rounds:
                busy_line += f", {1e3 * wall / self.rounds:.3f} a round"
            lines += [busy_line, ""]
        rate = self.copy_bandwidth / 1e9
        return "\n".join([*lines, f"copy: share of the {rate:.1f} GB/s of a large copy"])


def _amount(n_bytes: float) -> str:
    """Format bytes with three digits and a unit: ``1.23 MB``."""
    for unit in ("", "k", "M", "G"):
        if n_bytes < 999.5:
            return f"{n_bytes:.3g} {unit}B"
        n_bytes /= 1000
    return f"{n_bytes:.4g} TB"


def _line(kernel: KernelTime, busy: float) -> str:
    share = kernel.seconds / busy if busy else 0.0
    text = f"  {kernel.kernel:<28}{kernel.launches:>9}{1e3 * kernel.seconds:>10.3f}{share:>8.1%}"
    if kernel.bytes is None or kernel.gigabytes_per_second is None:
        return text
    text += f"{_amount(kernel.bytes):>9}{kernel.gigabytes_per_second:>8.1f}"
    return text if kernel.share_of_copy is None else f"{text}{kernel.share_of_copy:>6.2f}"


class Recorder:
    """Records one fit on a device that was opened with ``profile=True``."""

    def __init__(self, device: Device) -> None:
        assert device.profiler is not None
        self.device, self.profiler = device, device.profiler
        self._wall: dict[str, float] = {}
        self._begin(SET_UP)

    def _begin(self, phase: str) -> None:
        self.profiler.phase = phase
        self._watch = Stopwatch()

    def _end(self) -> None:
        self.device.finish()
        self._wall[self.profiler.phase] = self._watch.lap()
        self.profiler.collect()

    def begin_rounds(self) -> None:
        """End the phase of set-up."""
        self._end()
        self._begin(ROUNDS)

    def profile(self, tally: Tally, rounds: int, *, weighted: bool) -> Profile:
        """End the phase of rounds; return the profile.

        ``tally``: bytes of the finished trees.
        ``weighted``: whether the training rows have weights.
        """
        self._end()
        totals = dict(self.profiler.totals)
        copy = device_bandwidth(self.device)
        kernels = [
            _kernel_time(*key, total, _n_bytes(tally, *key, total, weighted), copy)
            for key, total in totals.items()
        ]
        kernels.sort(key=lambda k: (k.phase != SET_UP, -k.seconds, k.kernel))
        return Profile(
            kernels,
            device=self.device.caps.label,
            rounds=rounds,
            wall_seconds=dict(self._wall),
            copy_bandwidth=copy,
        )


def _n_bytes(tally: Tally, phase: str, kernel: str, total: Total, weighted: bool) -> int | None:
    sorts_rows = phase == ROUNDS and kernel.startswith("radix_sort.")  # for a metric, in one piece
    exact = kernel in WHOLE_ARRAYS or kernel in _COPIES or sorts_rows
    return total.n_bytes if exact else tally.n_bytes(kernel, weighted)


def _kernel_time(
    phase: str, kernel: str, total: Total, n_bytes: int | None, copy: float
) -> KernelTime:
    rate = None if n_bytes is None or total.seconds <= 0 else n_bytes / total.seconds
    host = kernel in (UPLOAD, DOWNLOAD)  # limited by the bus, not by the device's memory
    return KernelTime(
        kernel=kernel,
        phase=phase,
        launches=total.launches,
        seconds=total.seconds,
        bytes=n_bytes,
        gigabytes_per_second=None if rate is None else rate / 1e9,
        share_of_copy=None if rate is None or host else rate / copy,
    )


__all__ = ["KernelTime", "Profile", "Recorder"]
