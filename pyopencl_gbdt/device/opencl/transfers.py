"""Copies beside the kernels of an OpenCL device: a queue each way."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl

from pyopencl_gbdt.device.drivers import forked
from pyopencl_gbdt.device.timing import DOWNLOAD, UPLOAD
from pyopencl_gbdt.device.transfers import Array, Device, DeviceArray, Mark, Transfers

_DONE = cl.command_execution_status.COMPLETE


class OpenCLTransfers(Transfers):
    """A mark is an event."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        try:
            self._in, self._out = (
                cl.CommandQueue(
                    device.context, device.cl_device, device.queue.get_info(_PROPERTIES)
                )
                for _ in range(2)
            )
        except cl.Error as error:
            raise device.lost("opening a queue for copies", error) from error
        self._last: dict[Any, Mark] = {}
        # pyopencl waits for a copy when its event is freed, so events are kept until they are over
        self._events: deque[Any] = deque()

    def _bring(self, array: DeviceArray, host: Array, after: list[Mark]) -> None:
        self._copy(self._in, array.handle, host, after, UPLOAD, host.nbytes)

    def _take(self, array: DeviceArray, host: Array, after: list[Mark]) -> None:
        self._copy(self._out, host, array.handle, after, DOWNLOAD, host.nbytes)

    def _copy(
        self, queue: Any, target: Any, source: Any, after: list[Mark], kind: str, nbytes: int
    ) -> None:
        forked.check_device()
        while self._events and self._events[0].command_execution_status == _DONE:
            self._events.popleft()
        try:
            event = cl.enqueue_copy(queue, target, source, is_blocking=False, wait_for=after)
            queue.flush()
        except cl.Error as error:
            raise self.device.lost("copying pages", error) from error
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
        try:
            host, _ = cl.enqueue_map_buffer(self._in, array.handle, flags, 0, (nbytes,), np.uint8)
        except cl.Error as error:
            raise self.device.lost("mapping pages", error) from error
        try:
            write(host)
        finally:
            try:
                host.base.release(self._in).wait()
            except cl.Error as error:
                raise self.device.lost("copying pages", error) from error

    def kernels_done(self) -> Mark:
        try:
            mark = cl.enqueue_marker(self.device.queue)
            self.device.queue.flush()  # otherwise the copies' queues may wait for ever
        except cl.Error as error:
            raise self.device.lost("marking its queue", error) from error
        return mark

    def kernels_wait(self, mark: Mark) -> None:
        if mark is not None:
            try:
                cl.enqueue_barrier(self.device.queue, wait_for=[mark])
            except cl.Error as error:
                raise self.device.lost("waiting for pages", error) from error

    def wait(self, mark: Mark) -> None:
        if mark is not None:
            self.device.n_pauses += 1
            try:
                mark.wait()
            except cl.Error as error:
                raise self.device.lost("waiting for pages", error) from error

    def finish(self) -> None:
        self.device.finish()
        try:
            self._in.finish()
            self._out.finish()
        except cl.Error as error:
            raise self.device.lost("copying pages", error) from error
        self._events.clear()


_PROPERTIES = cl.command_queue_info.PROPERTIES
