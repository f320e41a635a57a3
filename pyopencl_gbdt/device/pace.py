"""How far the host may run ahead of a device, and what is done where work ends early."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator

from pyopencl_gbdt.device.base import Device
from pyopencl_gbdt.errors import DeviceError

#: Marks that may be under way: while the device works towards one, the next is enqueued already.
#: Without a limit 40 rounds were enqueued while the first one ran (PoCL, 50 000 rows, 2 cores),
#: and a fit that is interrupted would not end before all of them.
_MARKS = 2
#: Rounds of less than ``_SHORT`` seconds share a mark, of 4 us (PoCL); there the device would also
#: have to wait for a host that wakes up late.
_ROUNDS_A_MARK = 4
_SHORT = 0.005
#: Rounds that are under way at most, and rounds of less than ``_SHORT`` seconds.
LONG_ROUNDS, SHORT_ROUNDS = _MARKS, _MARKS * _ROUNDS_A_MARK


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
        self._marks: deque[tuple[Callable[[], None], int]] = deque()
        self._rounds_a_mark, self._unmarked = 1, 0
        self._last = time.perf_counter()

    def round_enqueued(self) -> None:
        """Take note of a round; wait if too many are under way."""
        self._unmarked += 1
        if self._unmarked < self._rounds_a_mark:
            return
        self._marks.append((self.device.mark(), self._unmarked))
        self._unmarked = 0
        if len(self._marks) > _MARKS:
            wait, rounds = self._marks.popleft()
            wait()
            now = time.perf_counter()
            self._rounds_a_mark = _ROUNDS_A_MARK if now - self._last < _SHORT * rounds else 1
            self._last = now
        if self.device.profiler is not None:
            self.device.profiler.collect()
