"""Command buffers: kernels whose launches follow one another are enqueued by one call.

``cl_khr_command_buffer`` does for OpenCL what graphs do for CUDA. pyopencl does not know the
extension, so its functions are called by their addresses. The extension is provisional, and has
kept the forms that are used here since its version 0.9.0:
https://registry.khronos.org/OpenCL/specs/unified/html/OpenCL_Ext.html#cl_khr_command_buffer
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache, cached_property
from itertools import groupby
from typing import Any

import pyopencl as cl

from pyopencl_gbdt.device.drivers import forked
from pyopencl_gbdt.device.opencl.program import in_runs
from pyopencl_gbdt.device.program import Action, Launch, bound_kernel
from pyopencl_gbdt.device.switches import COMMAND_BUFFERS, asked
from pyopencl_gbdt.logger import tell_detail

EXTENSION = "cl_khr_command_buffer"
#: Names of the extension, by their numbers in ``CL/cl_ext.h``.
_CAPABILITIES, _REQUIRED_QUEUE, _FLAGS = 0x12A9, 0x12AA, 0x1293
#: A buffer may be enqueued again before it has run.
_CAN_RUN_TWICE, _RUNS_TWICE = 1 << 2, 1 << 0
_FUNCTIONS = (
    "clCreateCommandBufferKHR", "clCommandNDRangeKernelKHR", "clFinalizeCommandBufferKHR",
    "clEnqueueCommandBufferKHR", "clReleaseCommandBufferKHR",
)  # fmt: skip
_Pointer = ctypes.c_void_p


class _DriverError(Exception):
    """A function of the extension has failed."""


class _Calls:
    """The functions of the extension, for one device.

    Parameters
    ----------
    device : pyopencl.Device

    Raises
    ------
    LookupError
        If the driver lacks one, or cannot enqueue a buffer again while it runs.
    """

    def __init__(self, device: Any) -> None:
        self._loader = ctypes.CDLL(cl._cl.__file__)  # as it is the one that made the device
        if not self._number(device, _CAPABILITIES) & _CAN_RUN_TWICE:
            raise LookupError("command buffers cannot be enqueued again while they run")
        if self._number(device, _REQUIRED_QUEUE):
            raise LookupError("command buffers need queues of another kind")
        address = self._loader.clGetExtensionFunctionAddressForPlatform
        address.restype = _Pointer
        kind = ctypes.CFUNCTYPE(ctypes.c_int32)
        self._functions = {}
        for name in _FUNCTIONS:
            found = address(_Pointer(device.platform.int_ptr), name.encode())
            if not found:
                raise LookupError(f"the driver lacks {name}")
            self._functions[name] = kind(found)
        self._functions["clCreateCommandBufferKHR"].restype = _Pointer

    def _number(self, device: Any, name: int) -> int:
        found = ctypes.c_uint64()
        status = self._loader.clGetDeviceInfo(
            _Pointer(device.int_ptr), name, ctypes.sizeof(found), ctypes.byref(found), None
        )
        if status:
            raise LookupError(f"the driver does not answer what {EXTENSION} can do: {status}")
        return found.value

    def _do(self, name: str, *args: Any) -> None:
        if status := self._functions[name](*args):
            raise _DriverError(f"{name}: {cl.status_code.to_string(status)}")

    def create(self, queue: Any) -> Any:
        """Return an empty buffer for a queue."""
        properties = (ctypes.c_uint64 * 3)(_FLAGS, _RUNS_TWICE, 0)
        status = ctypes.c_int32()
        found = self._functions["clCreateCommandBufferKHR"](
            1, ctypes.byref(_Pointer(queue.int_ptr)), properties, ctypes.byref(status)
        )
        if status.value or not found:
            raise _DriverError(f"clCreateCommandBufferKHR: {status.value}")
        return _Pointer(found)

    def add(self, buffer: Any, kernel: Any, size: Sequence[int], group: Sequence[int]) -> None:
        """Record a kernel with the arguments that are set now; it follows those before it."""
        kind = ctypes.c_size_t * len(size)
        self._do(
            "clCommandNDRangeKernelKHR", buffer, None, None, _Pointer(kernel.int_ptr),
            ctypes.c_uint32(len(size)), None, kind(*size), kind(*group), 0, None, None, None,
        )  # fmt: skip

    def finish(self, buffer: Any) -> None:
        """End the recording."""
        self._do("clFinalizeCommandBufferKHR", buffer)

    def enqueue(self, buffer: Any) -> None:
        """Enqueue all kernels of a buffer to the queue that it was made for."""
        self._do("clEnqueueCommandBufferKHR", 0, None, buffer, 0, None, None)

    def release(self, buffer: Any) -> None:
        """Free a buffer, after what has been enqueued of it."""
        self._functions["clReleaseCommandBufferKHR"](buffer)


class _RecordedKernels:
    """Enqueues kernels: first one by one, which builds them, then all of them by one call.

    If the driver refuses to record them, it goes on one by one.
    """

    def __init__(self, device: Any, calls: _Calls, launches: list[Launch]) -> None:
        self.device, self.calls = device, calls
        self.launches = launches  # keep the kernels and their arrays alive
        self._has_run = False

    @cached_property
    def _buffer(self) -> Any:
        """The recorded kernels; None if the driver refuses them."""
        kernels: list[Any] = [launch.enqueue for launch in self.launches]
        buffer = None
        try:
            buffer = self.calls.create(kernels[0].queue)
            for kernel in kernels:
                if not kernel.empty:
                    self.calls.add(buffer, kernel.made(), kernel.size, kernel.group)
            self.calls.finish(buffer)
        except _DriverError as error:
            tell_detail(f"{self.device.caps.label} records no kernels: {error}")
            if buffer is not None:
                self.calls.release(buffer)
            return None
        return buffer

    def __call__(self) -> None:
        if not self._has_run or self._buffer is None:
            for launch in self.launches:
                launch()
            self._has_run = True
            return
        forked.check_device()
        self.device.send()
        self.device.n_launches += 1
        try:
            self.calls.enqueue(self._buffer)
        except _DriverError as error:
            raise self.device.lost("enqueuing recorded kernels", error) from error

    def __del__(self) -> None:
        if (buffer := self.__dict__.get("_buffer")) is not None:
            self.calls.release(buffer)


@cache
def _calls(device: Any) -> _Calls | None:
    try:
        return _Calls(device)
    except LookupError as error:
        tell_detail(f"{device.name}: {error}")
        return None


def recorded(device: Any, actions: Sequence[Action]) -> list[Action]:
    """Return the same actions; launches that follow one another are one command buffer, or a run.

    Parameters
    ----------
    device : OpenCLDevice
        With ``PYOPENCL_GBDT_COMMAND_BUFFERS=on``, any whose driver has the extension; else those
        of ``Capabilities.command_buffers``. Not profiled: a buffer has no times of its kernels. Not
        one of several fits, whose launches are joined.
    actions : sequence of Action
        Actions that run on the host stay as they are.
    """
    word = asked(COMMAND_BUFFERS)
    chosen = word == "on" or (word == "auto" and device.caps.command_buffers)
    if not chosen or device.profiler is not None or device.room is not None:
        return in_runs(actions)
    if EXTENSION not in device.cl_device.extensions.split():
        return in_runs(actions)
    if (calls := _calls(device.cl_device)) is None:
        return in_runs(actions)
    found: list[Action] = []
    for together, run in groupby(actions, lambda action: bound_kernel(action) is not None):
        own: list[Any] = list(run)
        if together and len(own) > 1:
            own = [Launch(f"{len(own)} kernels", _RecordedKernels(device, calls, own))]
        found += own
    return found
