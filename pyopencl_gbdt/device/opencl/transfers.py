"""Copies beside the kernels of an OpenCL device: a queue each way; waits, times and errors."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pyopencl as cl

from pyopencl_gbdt.device.drivers import forked
from pyopencl_gbdt.device.timing import DOWNLOAD, FILL, UPLOAD
from pyopencl_gbdt.device.transfers import Array, Device, DeviceArray, Mark, Transfers

#: Largest fill: NVIDIA's driver 580 never ends a fill of 2 GiB or more. Filling with 4-byte words
#: takes a quarter of the time of filling with bytes.
_FILL_BYTES = 1 << 30
_DONE = cl.command_execution_status.COMPLETE


def seconds(first: Any, last: Any) -> float | None:
    """Return the seconds from one event's start to another's end, or None while it runs."""
    status = last.command_execution_status
    if status < 0:
        return 0.0  # it failed; waiting for the queue raises the error
    if status != cl.command_execution_status.COMPLETE:
        return None
    try:
        return float(last.profile.end - first.profile.start) * 1e-9
    except cl.Error:  # a driver without profiling
        return 0.0


class Guard:
    """Turns the driver's errors into ones that name the device and what failed."""

    __slots__ = ("device", "doing")

    def __init__(self, device: Device, doing: str) -> None:
        self.device, self.doing = device, doing

    def __enter__(self) -> None:
        forked.check_device()

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, cl.Error):
            raise self.device.lost(self.doing, error) from error


class Pause:
    """Waits for an event or a queue.

    This is a class because a traceback would keep a closure's variables, and their memory, alive.
    """

    def __init__(self, device: Device, wait: Callable[[], None], event: Any = None) -> None:
        self.device, self.wait = device, wait
        self.event = event  # pyopencl waits for a copy when its event is freed

    def __call__(self) -> None:
        self.device.n_pauses += 1
        with Guard(self.device, "waiting for it"):
            self.wait()


class OpenCLTransfers(Transfers):
    """A mark is an event."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        with Guard(device, "opening a queue for copies"):
            self._in, self._out = (
                cl.CommandQueue(
                    device.context, device.cl_device, device.queue.get_info(_PROPERTIES)
                )
                for _ in range(2)
            )
        self._last: dict[Any, Mark] = {}
        # pyopencl waits for a copy when its event is freed, so events are kept until they are over
        self._events: deque[Any] = deque()

    def _bring(self, array: DeviceArray, host: Array, after: list[Mark], start: int) -> None:
        place = {"dst_offset": start}
        self._copy(self._in, array.handle, host, after, UPLOAD, host.nbytes, place)

    def _take(self, array: DeviceArray, host: Array, after: list[Mark]) -> None:
        self._copy(self._out, host, array.handle, after, DOWNLOAD, host.nbytes)

    def _copy(
        self, queue: Any, target: Any, source: Any, after: list[Mark], kind: str, nbytes: int,
        place: Mapping[str, int] = MappingProxyType({}),
    ) -> None:  # fmt: skip
        while self._events and self._events[0].command_execution_status == _DONE:
            self._events.popleft()
        with Guard(self.device, "copying pages"):
            event = cl.enqueue_copy(
                queue, target, source, is_blocking=False, wait_for=after, **place
            )
            queue.flush()
        self._events.append(event)
        self._last[kind] = event
        if self.device.profiler is not None:
            self.device.profiler.add(kind, event, nbytes)

    def _brought(self) -> Mark:
        return self._last[UPLOAD]

    def _taken(self) -> Mark:
        return self._last[DOWNLOAD]

    def write_in_place(
        self, array: DeviceArray, nbytes: int, after: Mark, write: Callable[[Array], None]
    ) -> None:
        self.n_in += nbytes
        self.wait(after)
        flags = cl.map_flags.WRITE_INVALIDATE_REGION
        with Guard(self.device, "mapping pages"):
            host, _ = cl.enqueue_map_buffer(self._in, array.handle, flags, 0, (nbytes,), np.uint8)
        try:
            write(host)
        finally:
            with Guard(self.device, "copying pages"):
                host.base.release(self._in).wait()

    def kernels_done(self) -> Mark:
        with Guard(self.device, "marking its queue"):
            mark = cl.enqueue_marker(self.device.queue)
            self.device.queue.flush()  # otherwise the copies' queues may wait for ever
        return mark

    def kernels_wait(self, mark: Mark) -> None:
        if mark is not None:
            with Guard(self.device, "waiting for pages"):
                cl.enqueue_barrier(self.device.queue, wait_for=[mark])

    def wait(self, mark: Mark) -> None:
        if mark is not None:
            self.device.n_pauses += 1
            with Guard(self.device, "waiting for pages"):
                mark.wait()

    def finish(self) -> None:
        self.device.finish()
        with Guard(self.device, "copying pages"):
            self._in.finish()
            self._out.finish()
        self._events.clear()


_PROPERTIES = cl.command_queue_info.PROPERTIES


def clear(device: Any, array: Any) -> None:
    """Enqueue fills of an array with zero bytes."""
    whole_words = array.nbytes // 4 * 4
    for start in range(0, array.nbytes, _FILL_BYTES):
        end = min(start + _FILL_BYTES, array.nbytes)
        if start < whole_words < end:
            _fill(device, array, np.uint8(0), whole_words, end)
            end = whole_words
        _fill(device, array, np.uint32(0) if end <= whole_words else np.uint8(0), start, end)


def _fill(device: Any, array: Any, pattern: np.generic, start: int, end: int) -> None:
    piece = array.handle
    with Guard(device, "clearing memory"):
        if start >= _FILL_BYTES:  # larger offsets fail too
            aligned = start // _FILL_BYTES * _FILL_BYTES
            size = min(_FILL_BYTES, array.nbytes - aligned)
            piece = array.handle.get_sub_region(aligned, size)
            start, end = start - aligned, end - aligned
        event = cl.enqueue_fill_buffer(device.queue, piece, pattern, start, end - start)
    device.copied(FILL, event, end - start)
