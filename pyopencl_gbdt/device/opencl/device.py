"""OpenCL devices through pyopencl."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyopencl as cl

from pyopencl_gbdt.device import build_threads, cache, early_start
from pyopencl_gbdt.device.base import FEW_BYTES, Array, Device, DeviceArray, Wait
from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.device.drivers import folders as driver_folders
from pyopencl_gbdt.device.drivers import forked
from pyopencl_gbdt.device.given_arrays import as_dtype, as_shape
from pyopencl_gbdt.device.opencl import build_ahead, command_buffers, compile_apart, huge_pages
from pyopencl_gbdt.device.opencl.build_beside import compiled_beside, start_helpers
from pyopencl_gbdt.device.opencl.facts import message
from pyopencl_gbdt.device.opencl.pocl import POCL, warm_up
from pyopencl_gbdt.device.opencl.program import LaterProgram, OpenCLProgram, WaitingProgram
from pyopencl_gbdt.device.opencl.source import add_to_helper, build_source, plan, quiet_builds
from pyopencl_gbdt.device.opencl.transfers import Guard, OpenCLTransfers, Pause, clear, seconds
from pyopencl_gbdt.device.program import Action, Program, numbered
from pyopencl_gbdt.device.render import Param
from pyopencl_gbdt.device.timing import COPY, DOWNLOAD, UPLOAD, Profiler
from pyopencl_gbdt.device.transfers import Transfers
from pyopencl_gbdt.errors import DeviceError, KernelBuildError, MemoryPlanError

#: Oclgrind's optimiser emits an intrinsic that its interpreter does not know.
_SIMULATOR_OPTIONS = ["-cl-std=CL1.2", "-cl-opt-disable"]
_OPTIONS = ["-cl-std=CL1.2"]
#: Platforms that keep built kernels on disk themselves. PoCL 3.0 builds every kernel again when it
#: is asked for a program's binary: a first fit took 39 s instead of 10 s (2 busy cores).
_KEEP_THEIR_OWN = (POCL,)
#: PoCL 3.0 compiles kernels at their first launch: 0.9 s for the programs of the demonstration's
#: fit, then 1.1 for their kernels (seconds of a core of an EPYC).
_POCL_BUILD_SHARE = 0.45
_lock = threading.RLock()
#: Contexts by process and device; a context does not survive a fork.
_contexts: dict[tuple[int, int], cl.Context] = {}
_Key = tuple[int, int, str, tuple[str, ...]]  # process, context, source and options of a program
_programs: dict[_Key, cl.Program] = {}
#: Platforms whose compiler works in threads, and the largest groups that every kernel runs in.
_BUILD_IN_THREADS, _SURE = ("NVIDIA CUDA",), 256


def is_shared(context: Any) -> bool:
    """Tell whether this is a context of this module's devices, so that kernels see its buffers."""
    return any(known == context for known in _contexts.values())


class OpenCLDevice(Device):
    """An OpenCL device with a queue of its own; the process shares the context."""

    def __init__(self, device: Any, caps: Capabilities, *, profile: bool = False) -> None:
        super().__init__(caps)
        driver_folders.remember_launch_code()
        self.borrows = caps.unified_memory
        self.works_in_place = self.borrows and caps.kind == "cpu"
        self.build_share = _POCL_BUILD_SHARE if caps.platform == POCL else 1.0
        self.cl_device = device
        self._handed: deque[Any] = deque(maxlen=64)  # events of copies to the device
        if profile:
            self.profiler = Profiler(seconds)
        key = (os.getpid(), device.int_ptr)
        with Guard(self, "opening it, although its driver lists it,"), _lock:
            if key not in _contexts:
                _contexts[key] = early_start.opencl_context(device)
            self.context = _contexts[key]
            properties = cl.command_queue_properties.PROFILING_ENABLE if profile else 0
            self.queue = cl.CommandQueue(self.context, device, properties)

    @property
    def process_key(self) -> str:
        return f"{super().process_key}, context {self.context.int_ptr}"

    def lost(self, doing: str, error: Exception) -> DeviceError:
        """Return the error to raise when the driver fails, for example after a reset.

        The context and its programs are forgotten, so the next fit opens the device again.
        """
        context = getattr(self, "context", None)
        if context is not None:
            with _lock:
                for key in [key for key, known in _contexts.items() if known is context]:
                    del _contexts[key]
                for built in [key for key in _programs if key[1] == context.int_ptr]:
                    del _programs[built]
        return DeviceError(
            f"{self.caps.label}: {doing} failed: {message(error)}; the device may have been reset, "
            f"unplugged or given to another process: try again, choose another one of "
            f"`pyopencl-gbdt devices`, or run `pyopencl-gbdt doctor`"
        )

    def share_queue(self, other: Device) -> None:
        super().share_queue(other)
        assert isinstance(other, OpenCLDevice)
        self.queue = other.queue

    def _allocate(self, nbytes: int, array: DeviceArray) -> Any:
        most = self.allocated_bytes + nbytes
        says = f"cannot allocate {nbytes} bytes beside {self.allocated_bytes} taken already"
        next_move = f"use fewer rows or features, or set a device_memory= below {most}"
        made = self._buffer(cl.mem_flags.READ_WRITE, (says, next_move), size=nbytes)
        return huge_pages.ask_for(made, self.queue, nbytes) if self.works_in_place else made

    def _buffer(self, flags: int, fails: tuple[str, str], **given: Any) -> Any:
        """Return a buffer; ``fails`` is what an error says, and the next move."""
        try:
            return cl.Buffer(self.context, flags, **given)
        except cl.Error as error:
            says = f"{self.caps.label} {fails[0]}: {message(error)}; {fails[1]}"
            raise MemoryPlanError(says) from error

    def borrow(self, host: Array) -> DeviceArray:
        if not (self.borrows and host.nbytes):
            return self.upload(host)
        array = DeviceArray(self, host.shape, host.dtype, None)
        flags = cl.mem_flags.READ_ONLY | cl.mem_flags.USE_HOST_PTR
        says = f"cannot read {host.nbytes} bytes of the host's memory"
        array.handle = self._buffer(flags, (says, "use fewer rows or features"), hostbuf=host)
        return array

    def in_host_memory(self, shape: int | Sequence[int], dtype: npt.DTypeLike) -> DeviceArray:
        array = DeviceArray(self, as_shape(shape), as_dtype(dtype), None)
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR
        says = f"cannot allocate {array.nbytes} bytes of the host's memory"
        array.handle = self._buffer(flags, (says, "use fewer rows"), size=max(1, array.nbytes))
        return array

    def pinned(self, nbytes: int) -> Array:
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR
        both = cl.map_flags.READ | cl.map_flags.WRITE
        try:
            buffer = cl.Buffer(self.context, flags, nbytes)
            host: Array = cl.enqueue_map_buffer(self.queue, buffer, both, 0, nbytes, np.uint8)[0]
        except cl.Error:  # no such memory is left; ordinary memory works too
            return super().pinned(nbytes)
        return host

    def write_later(self, array: DeviceArray, host: Array, start_bytes: int) -> Wait:
        with Guard(self, "writing its memory"):
            event = cl.enqueue_copy(
                self.queue, array.handle, host, dst_offset=start_bytes, is_blocking=False
            )
            self.queue.flush()
        self.copied(UPLOAD, event, host.nbytes)
        return Pause(self, event.wait)

    def transfers(self) -> Transfers:
        return OpenCLTransfers(self)

    def read_later(self, array: DeviceArray, host: Array, start_bytes: int) -> Wait:
        self.send()
        with Guard(self, "reading its memory"):
            event = cl.enqueue_copy(
                self.queue, host, array.handle, src_offset=start_bytes, is_blocking=False
            )
            self.queue.flush()
        self.copied(DOWNLOAD, event, host.nbytes)
        return Pause(self, self.queue.finish if self._waits_by_queue else event.wait, event)

    def copied(self, kind: str, event: Any, n_bytes: int) -> None:
        """Count a copy or a fill that was enqueued."""
        self.n_copies += 1
        if self.profiler is not None:
            self.profiler.add(kind, event, n_bytes)

    def _clear(self, array: DeviceArray) -> None:
        clear(self, array)

    def copy(self, source: DeviceArray, target: DeviceArray, start: int) -> None:
        self.send()
        if source.nbytes:
            with Guard(self, "copying memory"):
                event = cl.enqueue_copy(
                    self.queue, target.handle, source.handle, byte_count=source.nbytes,
                    dst_offset=start * target.dtype.itemsize,
                )  # fmt: skip
            self.copied(COPY, event, 2 * source.nbytes)

    @cached_property
    def alignment(self) -> int:
        return max(1, int(self.cl_device.mem_base_addr_align) // 8)  # the driver says bits

    def _bytes_of(self, whole: DeviceArray, begin: int, array: DeviceArray) -> Any:
        return whole.handle.get_sub_region(begin, max(1, array.nbytes))

    def _part(
        self, array: DeviceArray, start_bytes: int, nbytes: int, shape: tuple[int, ...]
    ) -> Any:
        return array.handle.get_sub_region(start_bytes, nbytes)

    def read(self, array: DeviceArray) -> Array:
        host = np.empty(array.shape, array.dtype)
        self.read_into(array, host)
        return host

    def read_into(self, array: DeviceArray, host: Array) -> None:
        forked.check_device()
        self.send()
        self.n_waits += 1
        if host.nbytes:
            with Guard(self, "reading its memory"):
                event = cl.enqueue_copy(self.queue, host, array.handle, is_blocking=True)
            self.copied(DOWNLOAD, event, host.nbytes)
            self._handed.clear()
        if (helper := build_ahead.current()) is not None:
            helper.launched()

    def write(self, array: DeviceArray, host: Array, start_bytes: int) -> None:
        if host.nbytes <= FEW_BYTES:
            self.hand_over(array, host.copy(), start_bytes)
        else:
            self.n_waits += 1
            self._write(array, host, start_bytes, waits=True)

    def hand_over(self, array: DeviceArray, host: Array, start_bytes: int) -> None:
        # pyopencl waits for a copy when its event is freed, so events are kept for a while
        self._handed.append(self._write(array, host, start_bytes, waits=False))

    def _write(self, array: DeviceArray, host: Array, start_bytes: int, *, waits: bool) -> Any:
        forked.check_device()
        try:  # no guard: a fit begins with many small copies
            event = cl.enqueue_copy(
                self.queue, array.handle, host, dst_offset=start_bytes, is_blocking=waits
            )
        except cl.Error as error:
            raise self.lost("writing its memory", error) from error
        self.copied(UPLOAD, event, host.nbytes)
        return event

    def finish(self) -> None:
        self.n_waits += 1
        with Guard(self, "waiting for it"):
            self.queue.finish()

    @property
    def _waits_by_queue(self) -> bool:
        """Whether the host waits for the whole queue, not for an event.

        In Intel's runtime a host thread that waits for a queue runs work-groups; one that waits for
        an event leaves its core idle: 79 ms a round instead of 55 on 2 cores. PoCL has threads of
        its own: they lost 1 ms a round when the queue ran empty.
        """
        return self.caps.kind == "cpu" and self.caps.platform != POCL

    def together(self, actions: Sequence[Action]) -> list[Action]:
        return command_buffers.recorded(self, actions)

    def mark(self) -> Callable[[], None]:
        with Guard(self, "marking its queue"):
            if self._waits_by_queue:
                self.queue.flush()
                return Pause(self, self.queue.finish)
            event = cl.enqueue_marker(self.queue)
            self.queue.flush()  # otherwise a driver may not start the work before somebody waits
        return Pause(self, event.wait)

    def warm_up(self) -> None:
        if self.caps.platform == POCL:
            warm_up(self.context, int(self.caps.device_id.rsplit(":", 1)[1]))

    def _build(self, template: str, wg_size: int, params: dict[str, Param]) -> Program:
        if self.builds_later and self.programs.is_new and self.caps.platform in _BUILD_IN_THREADS:
            start_helpers(self.caps)
        source = self.programs.source(template, "opencl", wg_size=wg_size, **params)
        before = self._elsewhere(template, source, wg_size, params) if self.builds_later else None
        if before is None:
            return self.build_rendered(template, source, wg_size, params)
        alone = partial(self._build_alone, template, source, wg_size, params)
        return LaterProgram(self, source, wg_size, lambda: (before(), alone())[1])

    def _elsewhere(
        self, template: str, source: str, wg_size: int, params: dict[str, Param]
    ) -> Callable[[], object] | None:
        """Let another process compile a program; return what waits for it, None if none does."""
        if self._key(source, wg_size) in _programs:
            return None
        caps, options = self.caps, self._options(wg_size)
        if compile_apart.needed(caps):
            source = compile_apart.guarded(source)
            if self.programs.load(key := self._cache_key(source, options)) is not None:
                return None
            return compile_apart.submit(caps, key, source, options, template).exception
        if wg_size > 1 or params.get("statements") or build_ahead.runs_at_once(template):
            return None
        build = partial(self._build_alone, template, source, wg_size, params)
        return plan(self.queue, source, options, lambda: build().program)

    def build_rendered(
        self, template: str, source: str, wg_size: int, params: dict[str, Param], sure: int = _SURE
    ) -> OpenCLProgram:
        """Build a rendered source, now or in a thread; kernels surely run in groups of ``sure``.

        ``params`` are for messages.
        """
        key = self._key(source, wg_size)
        apart = wg_size <= sure and self.caps.platform in _BUILD_IN_THREADS
        apart = apart and self.builds_later and not params.get("statements")  # a user's own code
        if key in _programs or not (apart and build_threads.wanted()):
            return self._build_alone(template, source, wg_size, params)
        built = partial(self._built, template, source, wg_size, params)
        begin = partial(build_threads.begin, built, key)
        if build_threads.waits(template):
            return WaitingProgram(self, source, wg_size, begin)
        return LaterProgram(self, source, wg_size, begin().result)

    def _build_alone(
        self, template: str, source: str, wg_size: int, params: dict[str, Param]
    ) -> OpenCLProgram:
        with _lock:
            return self._built(template, source, wg_size, params)

    def _built(
        self, template: str, source: str, wg_size: int, params: dict[str, Param]
    ) -> OpenCLProgram:
        key = self._key(source, wg_size)
        program = _programs.get(key)
        if program is None:
            program, kernels = self._compile_kernels(template, source, wg_size, params)
            ask = cl.kernel_work_group_info.WORK_GROUP_SIZE
            program.most_work_items = min(  # stored because asking takes 1.4 ms
                kernel.get_work_group_info(ask, self.cl_device) for kernel in kernels
            )
            program.idle_kernels = {}  # see ``OpenCLProgram.make_kernel``
            program = _programs.setdefault(key, program)
        return OpenCLProgram(self, program, source, min(wg_size, program.most_work_items))

    def _compile_kernels(
        self, template: str, source: str, wg_size: int, params: dict[str, Param]
    ) -> tuple[Any, list[Any]]:
        """Return a template's program and kernels; PoCL may have kept one without kernels."""
        for text in (source, f"{source}\ntypedef int built_again;\n"):
            program = self._compile(template, text, wg_size, params)
            kernels = driver_folders.without_failing_cache(program.all_kernels)
            if kernels:
                if text != source:
                    driver_folders.warn_of_damage(self.caps.label)
                return program, list(kernels)
        raise driver_folders.no_kernels(template, self.caps.label, self.caps.driver)

    def _options(self, wg_size: int) -> list[str]:
        """Return the compiler's options for kernels with this work-group size."""
        options = _SIMULATOR_OPTIONS if self.caps.is_simulator else _OPTIONS
        return options if self.caps.int64_atomics else [*options, "-DSUMS_BY_WORDS"]

    def _key(self, source: str, wg_size: int) -> _Key:
        return os.getpid(), self.context.int_ptr, source, tuple(self._options(wg_size))

    def _cache_key(self, source: str, options: list[str]) -> str:
        caps, version = self.caps, self.cl_device.version  # PoCL's names the processor
        own = (caps.platform, caps.name, caps.driver, version, cl.VERSION_TEXT)
        return cache.cache_key(source, *options, *own, *cache.compiler_settings())

    def _compile(self, template: str, source: str, wg_size: int, params: dict[str, Param]) -> Any:
        caps, options = self.caps, self._options(wg_size)
        where = f"{caps.label}, driver {caps.driver}"
        fails = f"kernel {template!r} does not build on {where}, with wg_size={wg_size}, {params}"
        apart = compile_apart.needed(caps)
        if apart:
            source = compile_apart.guarded(source)
        key = self._cache_key(source, options)
        keeps_its_own = caps.platform in _KEEP_THEIR_OWN
        binary = None if keeps_its_own else self.programs.load(key)
        if apart and binary is None:
            try:
                compile_apart.submit(caps, key, source, options, template).result()
            except compile_apart.CompilerError as error:
                raise KernelBuildError(f"{fails}: {error}") from error
            binary = self.programs.load(key)
        if binary is None and compiled_beside(caps, key, source, options, template):
            binary = self.programs.load(key)
        with quiet_builds():
            if binary is not None:
                try:
                    return cl.Program(self.context, [self.cl_device], [binary]).build(options)
                except cl.Error:
                    pass  # the driver refuses its own binary: build from source
            try:
                program = build_source(
                    self.context, caps.platform, source, options, alone=wg_size == 1,
                    own_code=bool(params.get("statements")),
                )  # fmt: skip
            except cl.Error as error:
                says = f"{fails}:\n{message(error)}\n{numbered(source)}"
                raise KernelBuildError(says) from error
        if not keeps_its_own:
            binaries = program.get_info(cl.program_info.BINARIES)
            if binaries and binaries[0]:
                self.programs.store(key, binaries[0])
        elif build_ahead.runs_at_once(template):
            add_to_helper(program, source)
        return program
