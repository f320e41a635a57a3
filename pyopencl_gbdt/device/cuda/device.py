"""CUDA devices through CuPy: for NVIDIA cards without an OpenCL driver, or on request."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import cupy
import numpy as np

from pyopencl_gbdt.device import build_threads, cache
from pyopencl_gbdt.device.base import (
    FEW_BYTES,
    Array,
    Device,
    DeviceArray,
    Wait,
)
from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.device.cuda.graphs import recorded
from pyopencl_gbdt.device.cuda.program import CudaProgram, LoadedModule
from pyopencl_gbdt.device.cuda.transfers import CudaTransfers
from pyopencl_gbdt.device.drivers import forked
from pyopencl_gbdt.device.program import Action, Program, numbered
from pyopencl_gbdt.device.render import Param
from pyopencl_gbdt.device.timing import COPY, DOWNLOAD, FILL, UPLOAD, Profiler
from pyopencl_gbdt.device.transfers import Transfers
from pyopencl_gbdt.errors import DeviceError, KernelBuildError, MemoryPlanError

#: No contraction: a fused multiply-add rounds once, where every other device rounds twice. No
#: flushing of subnormals either. cupy.RawModule would turn it on, so NVRTC is called directly.
_OPTIONS = ("-fmad=false", "-ftz=false", "--std=c++14")
#: The driver's errors for a kernel that needs more registers or shared memory than there are.
_TOO_MUCH = ("LAUNCH_OUT_OF_RESOURCES", "cudaErrorLaunchOutOfResources")
_lock = threading.RLock()
#: Loaded modules by process, device and source, with their kernels by name. Loading one again takes
#: the driver longer than binding a fit's launches of it.
_modules: dict[tuple[Any, ...], Any] = {}
#: Streams that devices have left, by process and card. CuPy's pool keeps free memory for each
#: stream: with a new one every array of a fit would be allocated by the driver.
_left_streams: dict[tuple[int, int], list[Any]] = {}
_STATIC_SHARED_BYTES = 48 * 1024
#: Larger page-locked memory is allocated without CuPy's pool, which would keep it.
_POOLED_BYTES = 32 * 1024 * 1024
#: Host arrays that are kept after a copy that nobody waited for.
_MOST_HANDED = 64


@functools.cache
def _properties(process: int, index: int) -> dict[str, Any]:
    """Return what the driver says of a card; asked once a process, as every fit lists the cards."""
    facts: dict[str, Any] = cupy.cuda.runtime.getDeviceProperties(index)
    return facts


def list_capabilities() -> list[Capabilities]:
    """Return every CUDA device; raises CuPy's error if there is no driver."""
    runtime = cupy.cuda.runtime
    driver = f"CUDA driver {runtime.driverGetVersion()}, CuPy {cupy.__version__}"
    found = []
    for index in range(runtime.getDeviceCount()):
        facts = _properties(os.getpid(), index)
        volta = facts.get("major", 0) >= 7  # from Volta on, work-items progress independently
        found.append(
            Capabilities(
                api="cuda",
                device_id=f"cuda:{index}",
                name=facts["name"].decode(),
                platform="CUDA",
                vendor="NVIDIA",
                driver=driver,
                kind="gpu",
                is_simulator=False,
                compute_units=facts["multiProcessorCount"],
                max_work_group=facts["maxThreadsPerBlock"],
                local_bytes=min(_STATIC_SHARED_BYTES, facts["sharedMemPerBlock"]),
                global_bytes=facts["totalGlobalMem"],
                max_alloc_bytes=facts["totalGlobalMem"],
                int32_atomics=True,
                int64_atomics=True,
                lookback=volta,
                warp_words=volta,
                registers=255,
                fp64=True,
                tested_driver=True,
                unified_memory=bool(facts["integrated"]),
                unit_local_bytes=facts.get("sharedMemPerMultiprocessor", 0),
            )
        )
    return found


class CudaDevice(Device):
    """An NVIDIA card with a stream of its own."""

    def __init__(self, caps: Capabilities, *, profile: bool = False) -> None:
        super().__init__(caps)
        if profile:
            self.profiler = Profiler(_seconds)
        self.cuda = cupy.cuda.Device(int(caps.device_id.split(":")[1]))
        self.stream = self._stream()
        self._handed: deque[Array] = deque(maxlen=_MOST_HANDED)

    def _stream(self) -> Any:
        """Return a stream that no other device uses; it is left to later ones."""
        left = _left_streams.setdefault((os.getpid(), self.cuda.id), [])
        try:
            stream = left.pop()
        except IndexError:
            with self.cuda:
                stream = cupy.cuda.Stream(non_blocking=True)
        weakref.finalize(self, left.append, stream).atexit = False
        return stream

    @contextlib.contextmanager
    def guarded(self, doing: str, program: Program | None = None) -> Iterator[None]:
        """Turn the driver's errors into ones that name the device and what failed."""
        forked.check_device()
        try:
            yield
        except (cupy.cuda.runtime.CUDARuntimeError, cupy.cuda.driver.CUDADriverError) as error:
            text = str(error)
            if program is not None and any(status in text for status in _TOO_MUCH):
                raise program.launch_error(
                    f"{self.caps.label}: {doing} with work-groups of {program.wg_size} failed: "
                    f"{text}"
                ) from error
            raise DeviceError(
                f"{self.caps.label}: {doing} failed: {error}; the device may have been reset or "
                f"given to another process: try again, choose another one of "
                f"`pyopencl-gbdt devices`, or run `pyopencl-gbdt doctor`"
            ) from error

    @contextlib.contextmanager
    def timed(self, kernel: str, n_bytes: int = 0) -> Iterator[None]:
        """Record an event before and after the enqueued work, if the device is profiled."""
        self.n_copies += kernel in (COPY, DOWNLOAD, FILL, UPLOAD)
        if self.profiler is None:
            yield
            return
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record(self.stream)
        yield
        end.record(self.stream)
        self.profiler.add(kernel, (start, end), n_bytes)

    def share_queue(self, other: Device) -> None:
        super().share_queue(other)
        assert isinstance(other, CudaDevice)
        self.stream = other.stream

    def _allocate(self, nbytes: int, array: DeviceArray) -> Any:
        try:
            with self.cuda, self.stream:
                memory = cupy.cuda.alloc(nbytes)
        except cupy.cuda.memory.OutOfMemoryError as error:
            raise MemoryPlanError(
                f"{self.caps.label} cannot allocate {nbytes} bytes beside the "
                f"{self.allocated_bytes} already taken: {error}; use fewer rows or features"
            ) from error
        return cupy.ndarray(array.shape, array.dtype, memory)

    def _clear(self, array: DeviceArray) -> None:
        if array.nbytes:
            with self.cuda, self.timed(FILL, array.nbytes):
                array.handle.data.memset_async(0, array.nbytes, self.stream)

    def copy(self, source: DeviceArray, target: DeviceArray, start: int) -> None:
        self.send()
        if source.nbytes:
            with self.cuda, self.timed(COPY, 2 * source.nbytes):
                place = target.handle.data + start * target.dtype.itemsize
                place.copy_from_device_async(source.handle.data, source.nbytes, self.stream)

    def _bytes_of(self, whole: DeviceArray, begin: int, array: DeviceArray) -> Any:
        return cupy.ndarray(array.shape, array.dtype, whole.handle.data + begin)

    def _part(
        self, array: DeviceArray, start_bytes: int, nbytes: int, shape: tuple[int, ...]
    ) -> Any:
        # the array may have another shape than its handle
        return cupy.ndarray(shape, array.dtype, array.handle.data + start_bytes)

    def read(self, array: DeviceArray) -> Array:
        self.n_waits += 1
        reading = self.timed(DOWNLOAD, array.nbytes)
        handle = array.handle
        with self.cuda, self.guarded("reading its memory"), reading:
            if (handle.shape, handle.dtype) != (array.shape, array.dtype):
                handle = self._part(array, 0, array.nbytes, array.shape)
            host: Array = handle.get(stream=self.stream)
        return host

    def read_into(self, array: DeviceArray, host: Array) -> None:
        self.send()
        self.n_waits += 1
        with self.cuda, self.guarded("reading its memory"):
            with self.timed(DOWNLOAD, host.nbytes):
                place = array.handle.data
                place.copy_to_host_async(host.ctypes.data, host.nbytes, self.stream)
            self.stream.synchronize()

    def write(self, array: DeviceArray, host: Array, start_bytes: int) -> None:
        if host.nbytes <= FEW_BYTES:
            self.hand_over(array, host.copy(), start_bytes)
            return
        self.n_waits += 1
        self._write(array, host, start_bytes)
        with self.guarded("writing its memory"):
            self.stream.synchronize()

    def hand_over(self, array: DeviceArray, host: Array, start_bytes: int) -> None:
        self._write(array, host, start_bytes)
        self._handed.append(host)  # the driver has read it by now, unless it is page-locked

    def _write(self, array: DeviceArray, host: Array, start_bytes: int) -> None:
        with self.cuda, self.guarded("writing its memory"):
            target = array.handle.data + start_bytes
            with self.timed(UPLOAD, host.nbytes):
                target.copy_from_host_async(host.ctypes.data, host.nbytes, self.stream)

    def pinned(self, nbytes: int) -> Array:
        with self.cuda:
            try:
                if nbytes >= _POOLED_BYTES:  # CuPy's pool rounds up to a power of two
                    own = cupy.cuda.PinnedMemory(nbytes)
                    memory = cupy.cuda.PinnedMemoryPointer(own, 0)
                else:
                    memory = cupy.cuda.alloc_pinned_memory(nbytes)
            except cupy.cuda.runtime.CUDARuntimeError:  # any other memory will do
                return super().pinned(nbytes)
        return np.frombuffer(memory, np.uint8, nbytes)

    def write_later(self, array: DeviceArray, host: Array, start_bytes: int) -> Wait:
        with self.cuda, self.guarded("writing its memory"):
            target = array.handle.data + start_bytes
            with self.timed(UPLOAD, host.nbytes):
                target.copy_from_host_async(host.ctypes.data, host.nbytes, self.stream)
        return self.mark()

    def transfers(self) -> Transfers:
        return CudaTransfers(self)

    def read_later(self, array: DeviceArray, host: Array, start_bytes: int) -> Wait:
        self.send()
        with self.cuda, self.guarded("reading its memory"):
            source = array.handle.data + start_bytes
            with self.timed(DOWNLOAD, host.nbytes):
                source.copy_to_host_async(host.ctypes.data, host.nbytes, self.stream)
        return self.mark()

    def finish(self) -> None:
        self.n_waits += 1
        with self.guarded("waiting for it"):
            self.stream.synchronize()

    def free_unused(self) -> None:
        with self.cuda, self.guarded("giving memory back"):
            cupy.get_default_memory_pool().free_all_blocks()

    def mark(self) -> Callable[[], None]:
        with self.cuda, self.guarded("marking its queue"):
            event = cupy.cuda.Event(disable_timing=True)
            event.record(self.stream)

        def wait() -> None:
            self.n_pauses += 1
            with self.guarded("waiting for it"):
                event.synchronize()

        return wait

    def together(self, actions: Sequence[Action]) -> list[Action]:
        return list(actions) if self.profiler is not None else recorded(self, actions)

    def _build(self, template: str, wg_size: int, params: dict[str, Param]) -> Program:
        source = self.programs.source(template, "cuda", wg_size=wg_size, **params)
        return self.build_rendered(template, source, wg_size, params)

    def build_rendered(
        self, template: str, source: str, wg_size: int, params: dict[str, Param]
    ) -> CudaProgram:
        """Build a rendered source; ``template`` and ``params`` are for messages."""
        place = os.getpid(), self.cuda.id, source
        with _lock:
            if place not in _modules:
                _modules[place] = self._module(template, source, wg_size, params)
            return CudaProgram(self, _modules[place], source, wg_size)

    def _module(
        self, template: str, source: str, wg_size: int, params: dict[str, Param]
    ) -> LoadedModule:
        """Return a source's module: from the cache, compiled, or being compiled in a thread."""
        options = (*_OPTIONS, f"-arch=sm_{self.cuda.compute_capability}")
        version = cupy.cuda.nvrtc.getVersion()
        key = cache.cache_key(source, *options, self.caps.name, self.caps.driver, str(version))
        module, compiled = cupy.cuda.function.Module(), partial(compile_source, source, options)
        with self.cuda:
            binary = self.programs.load(key)
            if binary is not None and _loads(module, binary):
                return LoadedModule(lambda: module)
        own_code = bool(params.get("statements"))  # its author wants the compiler's message
        threads = self.builds_later and not own_code and build_threads.wanted()
        wait = build_threads.begin(compiled).result if threads else compiled

        def load() -> Any:
            start = time.perf_counter()
            try:
                binary = wait()
                with self.cuda:
                    module.load(binary)
            except (KernelBuildError, cupy.cuda.driver.CUDADriverError) as error:
                raise KernelBuildError(
                    f"kernel {template!r} does not build on {self.caps.label}, "
                    f"{self.caps.driver}, with wg_size={wg_size}, {params}:\n{error}\n"
                    f"{numbered(source)}"
                ) from error
            self.programs.store(key, binary)
            if threads and self.builds is not None:
                self.builds.took(template, time.perf_counter() - start)
            return module

        found = LoadedModule(load)
        if not threads:
            found.module()
        return found


def _seconds(first: Any, last: Any) -> float | None:
    """Return the seconds from the start of one pair of events to the end of another.

    Returns None while the work is still running.
    """
    start, end = first[0], last[1]
    return float(cupy.cuda.get_elapsed_time(start, end)) * 1e-3 if end.done else None


def _loads(module: Any, binary: bytes) -> bool:
    """Load machine code from the cache; tell whether the driver accepted it."""
    try:
        module.load(binary)
    except cupy.cuda.driver.CUDADriverError:
        return False
    return True


def compile_source(source: str, options: tuple[str, ...]) -> bytes:
    """Compile CUDA C to machine code with NVRTC; needs no device.

    Raises
    ------
    KernelBuildError
        With the compiler's log.
    """
    nvrtc = cupy.cuda.nvrtc
    program = nvrtc.createProgram(source, "kernel.cu", [], [])
    try:
        nvrtc.compileProgram(program, options)
        code: bytes = nvrtc.getCUBIN(program)
    except nvrtc.NVRTCError as error:
        raise KernelBuildError(f"{error}\n{nvrtc.getProgramLog(program)}") from error
    finally:
        nvrtc.destroyProgram(program)
    return code
