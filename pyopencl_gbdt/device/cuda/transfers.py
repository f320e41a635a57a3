"""Copies beside the kernels of a CUDA device: a stream each way."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import cupy

from pyopencl_gbdt.device.timing import DOWNLOAD, UPLOAD
from pyopencl_gbdt.device.transfers import Array, Device, DeviceArray, Mark, Transfers


class CudaTransfers(Transfers):
    """A mark is an event, recorded in the stream of its work."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        with device.cuda:
            self._in, self._out = (cupy.cuda.Stream(non_blocking=True) for _ in range(2))

    def _bring(self, array: DeviceArray, host: Array, after: list[Mark], start: int) -> None:
        with self._beside(self._in, after, UPLOAD, host.nbytes):
            target = array.handle.data + start
            target.copy_from_host_async(host.ctypes.data, host.nbytes, self._in)

    def _take(self, array: DeviceArray, host: Array, after: list[Mark]) -> None:
        with self._beside(self._out, after, DOWNLOAD, host.nbytes):
            array.handle.data.copy_to_host_async(host.ctypes.data, host.nbytes, self._out)

    @contextlib.contextmanager
    def _beside(self, stream: Any, after: list[Mark], kind: str, nbytes: int) -> Iterator[None]:
        """Let a stream wait for marks, and time what is enqueued in it."""
        device = self.device
        with device.cuda, device.guarded("copying pages"):
            for mark in after:
                stream.wait_event(mark)
            if device.profiler is None:
                yield
                return
            start, end = cupy.cuda.Event(), cupy.cuda.Event()
            start.record(stream)
            yield
            end.record(stream)
            device.profiler.add(kind, (start, end), nbytes)

    def _brought(self) -> Mark:
        return self._mark(self._in)

    def _taken(self) -> Mark:
        return self._mark(self._out)

    def kernels_done(self) -> Mark:
        return self._mark(self.device.stream)

    def _mark(self, stream: Any) -> Mark:
        with self.device.cuda, self.device.guarded("marking its queue"):
            event = cupy.cuda.Event(disable_timing=True)
            event.record(stream)
        return event

    def kernels_wait(self, mark: Mark) -> None:
        if mark is not None:
            with self.device.cuda, self.device.guarded("waiting for pages"):
                self.device.stream.wait_event(mark)

    def wait(self, mark: Mark) -> None:
        if mark is not None:
            self.device.n_pauses += 1
            with self.device.guarded("waiting for pages"):
                mark.synchronize()

    def finish(self) -> None:
        self.device.finish()
        with self.device.guarded("copying pages"):
            self._in.synchronize()
            self._out.synchronize()
