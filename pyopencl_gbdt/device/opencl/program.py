"""Built OpenCL kernels, and their launches."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from functools import cache
from itertools import groupby
from typing import Any

import pyopencl as cl

from pyopencl_gbdt.device.base import DeviceArray
from pyopencl_gbdt.device.drivers import folders as driver_folders
from pyopencl_gbdt.device.drivers import forked
from pyopencl_gbdt.device.opencl import build_ahead
from pyopencl_gbdt.device.opencl.facts import message
from pyopencl_gbdt.device.program import (
    Action,
    BoundKernel,
    Groups,
    Launch,
    Program,
    array_bytes,
    bound_kernel,
)
from pyopencl_gbdt.errors import KernelLaunchError, MemoryPlanError

#: Drivers' errors for a kernel that needs more registers or local memory than there are.
_TOO_MUCH = ("OUT_OF_RESOURCES", "INVALID_WORK_GROUP_SIZE", "INVALID_WORK_ITEM_SIZE")

#: Kernel objects of a kernel that are kept for the fits to come: making one takes 16 us on PoCL.
_MOST_IDLE = 64


_Pointer = ctypes.c_void_p


class OpenCLProgram(Program):
    """A built ``pyopencl.Program``."""

    place_in_z = "get_group_id(2)"

    def __init__(self, device: Any, program: Any, source: str, wg_size: int) -> None:
        self.device = device
        self.program = program
        self.source = source
        self.wg_size = wg_size
        self._kernels: dict[str, Any] = {}

    def __del__(self) -> None:
        for name, kernel in self._kernels.items():
            self.keep_kernel(name, kernel)

    def _bind(self, name: str, groups: Groups, args: tuple[Any, ...], n_fits: int = 1) -> Launch:
        if (helper := build_ahead.current()) is not None:
            helper.binds()
        return Launch(name, _OpenClEnqueue(self, name, groups, args, n_fits))

    def of_source(self, source: str) -> OpenCLProgram:
        size = self.wg_size
        found: OpenCLProgram = self.device.build_rendered(self.kernel, source, size, {}, sure=size)
        found.kernel = self.kernel
        return found

    def _prepare(self, name: str, groups: Groups, args: tuple[Any, ...]) -> Launch:
        if name not in self._kernels:  # pyopencl makes one in 0.2 ms, sets arguments in 14 us
            self._kernels[name] = self.make_kernel(name)
        return Launch(name, _OpenClEnqueue(self, name, groups, args, 1, self._kernels[name]))

    def make_kernel(self, name: str) -> Any:
        """Return a kernel object that no launch has: one of an earlier fit, or a new one."""
        try:
            return self._idle(name).pop()
        except IndexError:
            return driver_folders.without_failing_cache(lambda: cl.Kernel(self.program, name))

    def keep_kernel(self, name: str, kernel: Any) -> None:
        """Keep a kernel object whose launch has ended; the next launch sets all its arguments."""
        idle = self._idle(name)
        if len(idle) < _MOST_IDLE:
            idle.append(kernel)

    def _idle(self, name: str) -> list[Any]:
        found: list[Any] = self.program.idle_kernels.setdefault(name, [])
        return found

    def failed(self, name: str, error: Exception) -> Exception:
        """Return the error to raise when a launch fails."""
        text, label = message(error), self.device.caps.label
        if "MEM_OBJECT_ALLOCATION_FAILURE" in text:  # some drivers allocate on first use
            return MemoryPlanError(
                f"{label}: no memory is left to launch {name!r} beside "
                f"{self.device.allocated_bytes} bytes taken already: {text}; end other programs "
                "that use the device, or use fewer rows or features"
            )
        if any(status in text for status in _TOO_MUCH):
            return self.launch_error(
                f"{label}: launching {name!r} with work-groups of {self.wg_size} failed: {text}"
            )
        lost: Exception = self.device.lost(f"launching {name!r}", error)
        return lost


class LaterProgram(OpenCLProgram):
    """A program that is compiled elsewhere; the first kernel that is made waits for it.

    Parameters
    ----------
    finish : callable
        Waits, and returns the built program.
    """

    def __init__(
        self, device: Any, source: str, wg_size: int, finish: Callable[[], OpenCLProgram]
    ) -> None:
        super().__init__(device, None, source, wg_size)
        self._finish = finish

    def make_kernel(self, name: str) -> Any:
        if self.program is None:
            self.program = self._built()
        return super().make_kernel(name)

    def _built(self) -> Any:
        start = time.perf_counter()
        built = self.finished(self._finish)
        if self.device.builds is not None:
            self.device.builds.took(self.kernel, time.perf_counter() - start)
        if built.wg_size < self.wg_size:  # launches were planned for larger groups
            raise KernelLaunchError(
                f"{self.device.caps.label} runs it in work-groups of {built.wg_size} at most",
                self.kernel,
                f"work-groups of {self.wg_size}",
                f"work-groups of {built.wg_size}",
            )
        return built.program


class WaitingProgram(LaterProgram):
    """A program that is compiled when it is told to begin, or a kernel is launched.

    Parameters
    ----------
    start : callable
        Begins to build it.
    """

    is_waiting = True

    def __init__(
        self, device: Any, source: str, wg_size: int, start: Callable[[], Future[OpenCLProgram]]
    ) -> None:
        super().__init__(device, source, wg_size, lambda: start().result())
        self._start = start

    def begin(self) -> None:
        if self.is_waiting:
            self.is_waiting, self._finish = False, self._start().result


class _OpenClEnqueue(BoundKernel):
    """A kernel whose arguments are set when it is first launched.

    Launches that are joined with others' never run themselves. A launch of several fits is made at
    once: where the device does not take it, the fits' own run instead.
    """

    program: OpenCLProgram

    def __init__(
        self,
        program: OpenCLProgram,
        name: str,
        groups: Groups,
        args: tuple[Any, ...],
        n_fits: int,
        shared: Any = None,
    ) -> None:
        super().__init__(program, name, groups, args, n_fits)
        self.device = program.device
        self.shared = shared is not None  # other launches set the arguments of a shared kernel
        self.kernel = shared
        if n_fits > 1:
            self._make()
        x, y, z = self.grid
        wg_size = program.wg_size
        self.size: tuple[int, ...] = (x * wg_size, y, z) if z > 1 else (x * wg_size, y)
        self.group: tuple[int, ...] = (wg_size, 1, 1) if z > 1 else (wg_size, 1)
        self.empty = not (x and y)
        self.queue, self.profiler = self.device.queue, self.device.profiler

    def __del__(self) -> None:
        kernel = getattr(self, "kernel", None)
        if kernel is not None and not self.shared:
            self.program.keep_kernel(self.name, kernel)

    def _make(self) -> None:
        self.kernel = self.program.make_kernel(self.name)
        self._set_arguments()

    def _set_arguments(self) -> None:
        kernel = self.kernel
        # pyopencl's set_arg first takes a number for a memory object: 6 us, instead of 0.1 us
        set_number = getattr(kernel, "_set_arg_buf", kernel.set_arg)
        for i, a in enumerate(self.args):
            if isinstance(a, DeviceArray):
                kernel.set_arg(i, a.handle)
            else:
                set_number(i, a)

    def made(self) -> Any:
        """Return the kernel object with the arguments of this launch."""
        if self.kernel is None:
            self._make()
        elif self.shared:
            self._set_arguments()
        return self.kernel

    def __call__(self) -> None:
        if self.empty:
            return
        forked.check_device()
        device = self.device
        device.n_launches += 1
        if device.unsent is not None:
            device.send()
        kernel = self.made()
        try:
            event = cl.enqueue_nd_range_kernel(self.queue, kernel, self.size, self.group)
        except cl.Error as error:
            raise self.program.failed(self.name, error) from error
        if self.profiler is not None:
            self.profiler.add(self.program.label(self.name), event, array_bytes(self.args))


@cache
def _enqueue_function() -> Any:
    """Return the driver's function; None where it is not found by pyopencl's file."""
    try:
        return ctypes.CDLL(cl._cl.__file__).clEnqueueNDRangeKernel
    except (OSError, AttributeError):
        return None


class _Run:
    """Enqueues kernels that follow one another, and checks once for all of them.

    It asks for no events, as pyopencl does for each launch: by them NVIDIA's driver takes longer to
    enqueue a kernel, and the device to begin the next one. H200, 10 000 x 20, depth 6: 0.242 ms a
    round, and 0.193 without; a flush after each ten launches gained nothing.

    A class, as a traceback would keep a closure's memory alive.
    """

    def __init__(self, device: Any, launches: list[Launch]) -> None:
        self.device = device
        self.launches = launches  # keep the kernels and their arrays alive
        every: list[Any] = [launch.enqueue for launch in launches]
        self._kernels: list[_OpenClEnqueue] = [kernel for kernel in every if not kernel.empty]
        self._calls: list[tuple[tuple[Any, ...], _OpenClEnqueue]] = []

    def __call__(self) -> None:
        device, calls = self.device, self._calls
        if not calls:  # a launch is enqueued before the next kernel is made, which may be compiled
            for one in self._kernels:
                one()
            calls += self._driver_calls()
            return
        forked.check_device()
        device.n_launches += len(self._kernels)
        if device.unsent is not None:
            device.send()
        enqueue = _enqueue_function()
        for args, one in calls:
            if enqueue(*args):  # let pyopencl say why
                one()

    def _driver_calls(self) -> Iterator[tuple[tuple[Any, ...], _OpenClEnqueue]]:
        """Yield the function's arguments for each kernel; nothing where pyopencl has to launch."""
        queue = self.device.queue
        for one in self._kernels if _enqueue_function() is not None else ():
            n_sizes = len(one.size)
            sizes = ctypes.c_size_t * n_sizes
            yield (
                _Pointer(queue.int_ptr), _Pointer(one.kernel.int_ptr), ctypes.c_uint32(n_sizes),
                None, sizes(*one.size), sizes(*one.group), ctypes.c_uint32(0), None, None,
            ), one  # fmt: skip


def in_runs(actions: Sequence[Action]) -> list[Action]:
    """Return the same actions; launches that follow one another are one action.

    To enqueue the 20 kernels of a small round one by one takes half as long again.

    ``actions``: actions that run on the host stay as they are, and so do launches that a profiler
    measures.
    """
    found: list[Action] = []
    for device, run in groupby(actions, _device_of):
        own: list[Any] = list(run)
        if device is not None and len(own) > 1:
            own = [Launch(f"{len(own)} kernels", _Run(device, own))]
        found += own
    return found


def _device_of(action: Action) -> Any:
    """Return the device of a launch that a run can take; None for other actions."""
    kernel = bound_kernel(action)
    if not isinstance(kernel, _OpenClEnqueue) or kernel.shared or kernel.profiler is not None:
        return None
    return kernel.device
