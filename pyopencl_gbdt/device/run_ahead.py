"""Limit how far the host runs ahead of a device; wait, and free memory, when work ends early."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable, Iterator
from types import TracebackType

from pyopencl_gbdt.device.base import Device
from pyopencl_gbdt.errors import DeviceError

#: Most marks that are enqueued and not yet reached: while the device works towards one, the host
#: enqueues the next. Without a limit, 40 rounds were enqueued while the first one ran (PoCL,
#: 50 000 rows, 2 cores), and an interrupted fit would have to wait for all of them.
_MARKS = 2
#: Rounds that share a mark if they take less than ``_SHORT`` seconds. A mark costs 4 us (PoCL), and
#: with one a round the device would sometimes wait for the host to wake up.
_ROUNDS_A_MARK = 4
_SHORT = 0.005
#: Most rounds that are enqueued and not finished: of long rounds, and of rounds below ``_SHORT``.
LONG_ROUNDS, SHORT_ROUNDS = _MARKS, _MARKS * _ROUNDS_A_MARK


@contextlib.contextmanager
def settled(device: Device) -> Iterator[None]:
    """Wait for a device if the block ends early, for example by Ctrl-C.

    The enqueued work uses memory that is about to be freed. A device that failed is not waited for.
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
    """Lets the host enqueue a few rounds ahead of the device.

    When too many rounds are enqueued, the host waits for an earlier one than the last, so the
    device still has work.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._marks: deque[tuple[Callable[[], None], int]] = deque()
        self._rounds_a_mark, self._unmarked = 1, 0
        self._last = time.perf_counter()

    def round_enqueued(self) -> None:
        """Count an enqueued round; wait if too many are unfinished."""
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


#: Packages whose frames hold arrays of a device in their local variables.
_OURS = ("pyopencl_gbdt", "pyopencl", "cupy")


def clear_frames(error: BaseException | None) -> None:
    """Clear the local variables of this library's frames in an exception's traceback.

    A notebook or a debugger keeps the last traceback, and a traceback keeps its frames' variables.
    So the device memory of a failed fit would stay allocated. Frames of other packages, such as the
    user's callbacks, keep their variables, and so do frames that still run. A frame keeps the
    variables that its function takes from a function around it, so no generator expression calls
    the device with arrays of the function around it.
    """
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        clear_frames(error.__cause__)
        _clear(error.__traceback__)
        error = error.__context__


def _clear(traceback: TracebackType | None) -> None:
    while traceback is not None:
        frame = traceback.tb_frame
        if str(frame.f_globals.get("__name__", "")).split(".")[0] in _OURS:
            with contextlib.suppress(RuntimeError):  # it still runs
                frame.clear()
        traceback = traceback.tb_next
