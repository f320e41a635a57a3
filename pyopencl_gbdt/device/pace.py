"""How far the host may run ahead of a device, and what is done where work ends early."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator

from pyopencl_gbdt.device.base import Device
from pyopencl_gbdt.errors import DeviceError

#: Rounds that may be under way: one that runs and one that waits, so the device is never idle.
#: Without a limit 40 rounds were enqueued while the first one ran (PoCL, 50 000 rows, 2 cores),
#: and a fit that is interrupted would not end before all of them.
LONG_ROUNDS = 2
#: The same for rounds of less than ``_SHORT`` seconds, where a host that wakes up late would let
#: the device wait.
SHORT_ROUNDS = 8
_SHORT = 0.005


@contextlib.contextmanager
def settled(device: Device) -> Iterator[None]:
    """Wait for a device where work on it ends early, by Ctrl-C for instance.

    What is under way uses memory that is about to be freed. A device that failed is not waited for.
    """
    try:
        yield
    except DeviceError:
        raise
    except BaseException:
        with contextlib.suppress(DeviceError):
            device.finish()
        raise


class Pace:
    """Lets the host prepare the next rounds while the device works, but not many.

    A wait is between rounds and for an earlier round than the last: the device has more to do in
    the meantime.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._marks: deque[Callable[[], None]] = deque()
        self._start = time.perf_counter()
        self._finished = 0

    def round_enqueued(self) -> None:
        """Take note of a round; wait if too many are under way."""
        self._marks.append(self.device.mark())
        while len(self._marks) > self._most:
            self._marks.popleft()()
            self._finished += 1
        if self.device.profiler is not None:
            self.device.profiler.collect()

    @property
    def _most(self) -> int:
        seconds = time.perf_counter() - self._start
        short = seconds < _SHORT * self._finished
        return SHORT_ROUNDS if short else LONG_ROUNDS
