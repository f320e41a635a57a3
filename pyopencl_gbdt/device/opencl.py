"""OpenCL through pyopencl: the main road."""

from __future__ import annotations

import os
import threading
import warnings
from typing import Any

import numpy as np
import pyopencl as cl

from pyopencl_gbdt.device import cache
from pyopencl_gbdt.device.base import Array, Device, DeviceArray, Launch, Program, numbered
from pyopencl_gbdt.device.capabilities import Capabilities, Kind
from pyopencl_gbdt.device.render import Param, render
from pyopencl_gbdt.errors import DeviceError, KernelBuildError, MemoryPlanError

#: Oclgrind's optimiser emits an intrinsic that its interpreter does not know.
_SIMULATOR_OPTIONS = ["-cl-std=CL1.2", "-cl-opt-disable"]
_OPTIONS = ["-cl-std=CL1.2"]
#: Platforms that keep built kernels on disk themselves. Asking PoCL 3.0 for a program's binary
#: builds every kernel once more: a first fit took 39 s instead of 10 s (2 busy cores).
_KEEP_THEIR_OWN = ("Portable Computing Language",)
_lock = threading.RLock()
#: A context per process and device: contexts do not survive a fork.
_contexts: dict[tuple[int, int], cl.Context] = {}
#: Programs per context and source; a kernel object is made anew for every launch that is bound.
_programs: dict[tuple[int, int, str], cl.Program] = {}


def message(error: Exception) -> str:
    """Return the text of a pyopencl error, which its ``repr`` hides."""
    return str(error).strip() or type(error).__name__


def capabilities(device: Any, device_id: str) -> Capabilities:
    """Ask the driver for everything that matters."""
    extensions = set(device.extensions.split())
    platform = device.platform
    simulator = "oclgrind" in platform.name.lower()
    kind: Kind = "accelerator"
    if device.type & cl.device_type.GPU and not simulator:
        kind = "gpu"
    elif device.type & cl.device_type.CPU:
        kind = "cpu"
    return Capabilities(
        api="opencl",
        device_id=device_id,
        name=device.name.strip(),
        platform=platform.name.strip(),
        vendor=device.vendor.strip(),
        driver=f"{device.driver_version.strip()} ({platform.version.strip()})",
        kind=kind,
        is_simulator=simulator,
        compute_units=device.max_compute_units,
        max_work_group=device.max_work_group_size,
        local_bytes=device.local_mem_size,
        global_bytes=device.global_mem_size,
        max_alloc_bytes=device.max_mem_alloc_size,
        int32_atomics=True,
        int64_atomics="cl_khr_int64_base_atomics" in extensions,
        fp64="cl_khr_fp64" in extensions,
        unified_memory=kind == "cpu" or bool(device.host_unified_memory),
    )


def why_unusable(device: Any) -> str:
    """Return why the library cannot use a device, or an empty string."""
    if not device.available:
        return "the driver says that it is not available"
    if not device.compiler_available:
        return "its driver has no compiler"
    if not device.endian_little:
        return "it is big-endian"
    if "FULL_PROFILE" not in device.profile:
        return "it has the embedded profile only"
    major, minor = device.version.split()[1].split(".")[:2]
    if (int(major), int(minor)) < (1, 2):
        return f"it speaks {device.version.strip()}; OpenCL 1.2 is needed"
    return ""


class OpenCLProgram(Program):
    """A built ``pyopencl.Program``."""

    def __init__(self, device: OpenCLDevice, program: Any, source: str, wg_size: int) -> None:
        self.device = device
        self.program = program
        self.source = source
        self.wg_size = wg_size

    def bind(self, name: str, groups: int | tuple[int, int], *args: Any) -> Launch:
        kernel = cl.Kernel(self.program, name)
        kernel.set_args(*(a.handle if isinstance(a, DeviceArray) else a for a in args))
        x, y = groups if isinstance(groups, tuple) else (groups, 1)
        size, group = (x * self.wg_size, y), (self.wg_size, 1)
        device, queue, lost = self.device, self.device.queue, self.device.lost
        keep = args  # arguments live as long as the launch

        def enqueue() -> None:
            if size[0] and size[1] and keep is not None:
                device.n_launches += 1
                try:
                    cl.enqueue_nd_range_kernel(queue, kernel, size, group)
                except cl.Error as error:
                    raise lost(f"launching {name!r}", error) from error

        return Launch(name, enqueue)


class OpenCLDevice(Device):
    """A queue of its own on a context that the process shares."""

    def __init__(self, device: Any, caps: Capabilities) -> None:
        super().__init__(caps)
        self.cl_device = device
        key = (os.getpid(), device.int_ptr)
        with _lock:
            if key not in _contexts:
                try:
                    _contexts[key] = cl.Context([device])
                except cl.Error as error:
                    raise self.lost("opening it, although its driver lists it,", error) from error
            self.context = _contexts[key]
        try:
            self.queue = cl.CommandQueue(self.context, device)
        except cl.Error as error:
            with _lock:
                _contexts.pop(key, None)  # the next fit asks the driver anew
            raise self.lost("opening it, although its driver lists it,", error) from error

    def lost(self, doing: str, error: Exception) -> DeviceError:
        """Return what to raise where the driver gives up: unplugged, reset, or taken away."""
        return DeviceError(
            f"{self.caps.label}: {doing} failed: {message(error)}; the device may have been reset, "
            f"unplugged or given to another process: try again, choose another one of "
            f"`pyopencl-gbdt devices`, or run `pyopencl-gbdt doctor`"
        )

    def _allocate(self, nbytes: int, array: DeviceArray) -> Any:
        try:
            return cl.Buffer(self.context, cl.mem_flags.READ_WRITE, nbytes)
        except cl.Error as error:
            raise MemoryPlanError(
                f"{self.caps.label} cannot allocate {nbytes} bytes beside {self.allocated_bytes} "
                f"taken already: {message(error)}; use fewer rows or features"
            ) from error

    def clear(self, array: DeviceArray) -> None:
        if array.nbytes:
            try:
                cl.enqueue_fill_buffer(self.queue, array.handle, np.uint8(0), 0, array.nbytes)
            except cl.Error as error:
                raise self.lost("clearing memory", error) from error

    def copy(self, source: DeviceArray, target: DeviceArray, start: int) -> None:
        if source.nbytes:
            try:
                cl.enqueue_copy(
                    self.queue,
                    target.handle,
                    source.handle,
                    byte_count=source.nbytes,
                    dst_offset=start * target.dtype.itemsize,
                )
            except cl.Error as error:
                raise self.lost("copying memory", error) from error

    def read(self, array: DeviceArray) -> Array:
        host = np.empty(array.shape, array.dtype)
        self.n_waits += 1
        if host.nbytes:
            try:
                cl.enqueue_copy(self.queue, host, array.handle, is_blocking=True)
            except cl.Error as error:
                raise self.lost("reading its memory", error) from error
        return host

    def write(self, array: DeviceArray, host: Array, start_bytes: int) -> None:
        self.n_waits += 1
        try:
            cl.enqueue_copy(
                self.queue, array.handle, host, dst_offset=start_bytes, is_blocking=True
            )
        except cl.Error as error:
            raise self.lost("writing its memory", error) from error

    def finish(self) -> None:
        self.n_waits += 1
        try:
            self.queue.finish()
        except cl.Error as error:
            raise self.lost("waiting for it", error) from error

    def _build(self, template: str, wg_size: int, params: dict[str, Param]) -> Program:
        source = render(template, "opencl", wg_size=wg_size, **params)
        key = (os.getpid(), self.context.int_ptr, source)
        with _lock:
            program = _programs.get(key)
            if program is None:
                program = _programs[key] = self._compile(template, source, wg_size, params)
        limit = min(
            kernel.get_work_group_info(cl.kernel_work_group_info.WORK_GROUP_SIZE, self.cl_device)
            for kernel in program.all_kernels()
        )
        return OpenCLProgram(self, program, source, min(wg_size, limit))

    def _compile(self, template: str, source: str, wg_size: int, params: dict[str, Param]) -> Any:
        caps = self.caps
        options = _SIMULATOR_OPTIONS if caps.is_simulator else _OPTIONS
        key = cache.cache_key(
            source,
            *options,
            caps.platform,
            caps.name,
            caps.driver,
            self.cl_device.version,  # PoCL names the processor it compiles for only here
            cl.VERSION_TEXT,
            *cache.compiler_settings(),
        )
        binary = cache.load(key)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cl.CompilerWarning)
            if binary is not None:
                try:
                    program = cl.Program(self.context, [self.cl_device], [binary])
                    return program.build(options)
                except cl.Error:
                    pass  # a driver that refuses its own binary: build from source again
            try:
                program = cl.Program(self.context, source).build(options, cache_dir=False)
            except cl.Error as error:
                raise KernelBuildError(
                    f"kernel {template!r} does not build on {caps.label}, driver {caps.driver}, "
                    f"with wg_size={wg_size}, {params}:\n{message(error)}\n{numbered(source)}"
                ) from error
        if caps.platform not in _KEEP_THEIR_OWN:
            binaries = program.get_info(cl.program_info.BINARIES)
            if binaries and binaries[0]:
                cache.store(key, binaries[0])
        return program
