"""The interface that OpenCL and CUDA devices share: allocate, copy, build, time."""

from __future__ import annotations

import math
import os
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device.capabilities import Capabilities
from pyopencl_gbdt.device.drivers import forked
from pyopencl_gbdt.device.given_arrays import (
    FirstContents,
    Place,
    as_dtype,
    as_host_array,
    as_shape,
)
from pyopencl_gbdt.device.kept_programs import Bundle
from pyopencl_gbdt.device.late_parts import WithHandle
from pyopencl_gbdt.device.program import Action, BuildNotice, Program, power_of_two
from pyopencl_gbdt.device.render import Param
from pyopencl_gbdt.device.timing import Profiler, clock, nothing
from pyopencl_gbdt.device.transfers import Transfers
from pyopencl_gbdt.errors import DeviceError, MemoryPlanError

Array = npt.NDArray[Any]
#: Most work-groups in y of one launch; CUDA allows 65535.
MOST_Y = 4096
#: The host does not wait for copies of at most so many bytes to the device.
FEW_BYTES = 64 * 1024
Wait = Callable[[], None]


class DeviceArray(WithHandle):
    """A C-ordered array in a device's memory.

    Attributes
    ----------
    device : Device
    shape : tuple of int
    dtype : numpy.dtype
    """

    def __init__(
        self, device: Device, shape: tuple[int, ...], dtype: npt.DTypeLike, handle: Any
    ) -> None:
        self.device = device
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self.handle = handle
        self._whole: DeviceArray | None = None
        self._begin = 0
        self.first_contents: Place | None = None
        """Takes contents until they are sent together with others'; see ``arena.joint_arrays``."""

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(math.prod(self.shape))

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.size * self.dtype.itemsize

    def get(self) -> Array:
        """Copy to a new NumPy array; waits for the device."""
        self.device.send()
        return self.device.read(self)

    def set(self, values: npt.ArrayLike, start: int = 0) -> None:
        """Copy host values to the flat elements from ``start`` on; waits, unless they are few."""
        host = np.ascontiguousarray(values, dtype=self.dtype)
        if start < 0 or start + host.size > self.size:
            raise DeviceError(
                f"set: {host.size} elements at {start} do not fit an array of {self.size}"
            )
        begin, first = start * self.dtype.itemsize, self.first_contents
        if host.size and (first is None or not first.put(host, begin)):
            self.device.write(self, host, begin)

    def words(self) -> DeviceArray:
        """Return the same memory as an array of uint32, for kernels that copy records."""
        return self._same_memory((self.nbytes // 4,), np.uint32)

    def reshaped(self, shape: tuple[int, ...]) -> DeviceArray:
        """Return the first elements of the same memory in another shape."""
        return self._same_memory(shape, self.dtype)

    def _same_memory(self, shape: tuple[int, ...], dtype: npt.DTypeLike) -> DeviceArray:
        array = DeviceArray(self.device, shape, dtype, self.handle)
        array._whole = self  # keeps the memory counted as allocated
        array.first_contents = self.first_contents
        return array

    @property
    def place(self) -> tuple[DeviceArray, int]:
        """The allocation that this is a part of, or the array itself, and its first byte there."""
        whole, begin = self, 0
        while whole._whole is not None:
            whole, begin = whole._whole, begin + whole._begin
        return whole, begin

    def lie_in(self, other: DeviceArray) -> None:
        """Take the memory of an array of the same shape and dtype, and keep it."""
        self._handle, self._whole, self._begin = other._handle, other, 0
        self.first_contents = other.first_contents

    def __repr__(self) -> str:
        return f"DeviceArray(shape={self.shape}, dtype={self.dtype}, {self.device.caps.device_id})"

    def __dlpack__(self, **options: Any) -> Any:
        """Share the memory with another library without a copy (CUDA only)."""
        if self.device.caps.api != "cuda":
            raise BufferError("DLPack has no OpenCL buffers that peers accept; use .get()")
        self.device.finish()
        return self.handle.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        if self.device.caps.api != "cuda":
            raise BufferError("DLPack has no OpenCL buffers that peers accept; use .get()")
        return self.handle.__dlpack_device__()


class Device(ABC):
    """An opened device with a queue of its own; use one per fit."""

    holds_memory = True
    """Whether arrays have contents; False for a device on paper."""
    shares_queue = False
    """Whether work is enqueued in the queue of a device that was opened before."""
    room: Any = None
    """``room.JobRoom`` of the arrays of several jobs, whose launches are joined; else None."""

    def __init__(self, caps: Capabilities) -> None:
        self.caps = caps
        self.allocated_bytes = 0
        """Bytes in arrays that are alive."""
        self.peak_bytes = 0
        """Largest ``allocated_bytes`` so far."""
        self.borrows = False
        """Whether ``borrow`` shares the host's memory instead of copying it."""
        self.works_in_place = False
        """Whether the device has no memory but the host's: a CPU."""
        self.n_waits = 0
        """How often the host waited until the device was idle (reads, large writes, finish)."""
        self.n_pauses = 0
        """How often the host waited for a mark while more work was enqueued behind it."""
        self.n_launches = 0
        self.n_copies = 0
        """How many copies and fills were enqueued, those beside the kernels excepted."""
        self.profiler: Profiler | None = None
        """Times every launch; None unless the device was opened with ``profile=True``."""
        self.builds: BuildNotice | None = None
        """Is told how long every build took."""
        self.programs = Bundle()
        """Keeps rendered sources and built programs; a fit sets the bundle of its kind."""
        self.builds_later = False
        """Whether programs may be compiled while others are built, until one is launched first. Set
        by a fit, which starts again if a kernel then does not compile or runs in smaller groups."""
        self.unsent: tuple[weakref.ref[DeviceArray], FirstContents] | None = None
        """An array whose first contents are still to be sent; see ``send``."""
        self.build_share = 1.0
        """Part of building that ``build`` does; the rest follows at the first launches."""

    @property
    def process_key(self) -> str:
        """A key that is equal for devices of one process that can use each other's arrays."""
        return f"{self.caps.device_id} in {os.getpid()}"

    def share_queue(self, other: Device) -> None:
        """Enqueue all work in the queue of another device of the same ``process_key``."""
        self.shares_queue = True

    # -- memory ----------------------------------------------------------------------------
    def empty(
        self, shape: int | Sequence[int], dtype: npt.DTypeLike, name: str = ""
    ) -> DeviceArray:
        """Allocate an array; its contents are undefined.

        ``name`` is for lists of what a fit allocates, such as that of ``paper.PaperDevice``.

        Raises
        ------
        MemoryPlanError
            If it exceeds the device's largest allocation or its memory.
        ParameterError
            If ``shape`` or ``dtype`` is not valid.
        """
        forked.check_device()
        array = DeviceArray(self, as_shape(shape), as_dtype(dtype), None)
        if array.nbytes > self.caps.max_alloc_bytes:
            raise MemoryPlanError(
                f"an array of {array.nbytes} bytes exceeds the largest allocation of "
                f"{self.caps.label}, {self.caps.max_alloc_bytes} bytes; use fewer rows or features"
            )
        array.handle = self._allocate(max(1, array.nbytes), array)
        self.allocated_bytes += array.nbytes
        self.peak_bytes = max(self.peak_bytes, self.allocated_bytes)
        weakref.finalize(array, self._forget, array.nbytes)
        return array

    def _forget(self, nbytes: int) -> None:
        self.allocated_bytes -= nbytes

    def upload(self, values: npt.ArrayLike, dtype: npt.DTypeLike | None = None) -> DeviceArray:
        """Copy host values to a new array."""
        host = as_host_array(values, dtype)
        array = self.empty(host.shape, host.dtype)
        array.set(host)
        return array

    def borrow(self, host: Array) -> DeviceArray:
        """Return an array from which kernels read C-ordered host values.

        It is a copy unless device and host share memory. The caller must keep the values alive and
        unchanged until all kernels that read them have run.
        """
        return self.upload(host)

    def in_host_memory(self, shape: int | Sequence[int], dtype: npt.DTypeLike) -> DeviceArray:
        """Allocate an array in the host's memory, which kernels of a device that borrows work on.

        Its bytes are not among those allocated on the device; its contents are undefined.
        """
        raise NotImplementedError(f"{self.caps.label} does not share the host's memory")

    def pinned(self, nbytes: int) -> Array:
        """Return uint8 host memory from which the device copies fastest; contents are undefined."""
        return np.empty(nbytes, np.uint8)

    def write_later(self, array: DeviceArray, host: Array, start_bytes: int) -> Wait:
        """Copy from ``pinned`` memory; what is returned waits until it may be written again."""
        self.write(array, host, start_bytes)
        return nothing

    def transfers(self) -> Transfers:
        """Return queues for copies beside the kernels."""
        return Transfers(self)

    def read_later(self, array: DeviceArray, host: Array, start_bytes: int) -> Wait:
        """Enqueue a copy from an array, from ``start_bytes`` on, to ``pinned`` memory.

        Returns a function that waits until the memory holds it.
        """
        whole = self.read(array).reshape(-1).view(np.uint8)
        host[:] = whole[start_bytes : start_bytes + host.nbytes]
        return nothing

    def together(self, actions: Sequence[Action]) -> list[Action]:
        """Return the same actions, enqueued by fewer calls where the device can do that.

        Parameters
        ----------
        actions : sequence of Action
            Launches among them were bound before; their arrays keep their places.
        """
        return list(actions)

    def zeros(self, shape: int | Sequence[int], dtype: npt.DTypeLike) -> DeviceArray:
        """Allocate an array of zero bytes."""
        array = self.empty(shape, dtype)
        self.clear(array)
        return array

    @abstractmethod
    def _allocate(self, nbytes: int, array: DeviceArray) -> Any: ...

    def clear(self, array: DeviceArray) -> None:
        """Enqueue a fill with zero bytes."""
        first = array.first_contents
        if first is None or not first.clear(array.nbytes):
            self._clear(array)

    @abstractmethod
    def _clear(self, array: DeviceArray) -> None: ...

    @abstractmethod
    def copy(self, source: DeviceArray, target: DeviceArray, start: int) -> None:
        """Enqueue a copy of all of ``source`` to ``target``'s flat elements from ``start`` on."""

    def rows(self, array: DeviceArray, first: int, last: int) -> DeviceArray:
        """Return rows ``first`` to ``last - 1`` of an array, without a copy.

        OpenCL requires that their address is a multiple of the device's alignment, at most 4096
        bytes. The first rows share the array's own memory object: NVIDIA's OpenCL crashed when one
        of several overlapping parts was released.
        """
        shape = (last - first, *array.shape[1:])
        if first == 0:
            return DeviceArray(self, shape, array.dtype, array.handle)
        row_bytes = array.nbytes // array.shape[0]
        handle = self._part(array, first * row_bytes, (last - first) * row_bytes, shape)
        return DeviceArray(self, shape, array.dtype, handle)

    @property
    def alignment(self) -> int:
        """Bytes of which the address of a part of an array has to be a multiple."""
        return 256

    def part(
        self, whole: DeviceArray, begin: int, shape: tuple[int, ...], dtype: npt.DTypeLike
    ) -> DeviceArray:
        """Return a part of a uint8 array as an array of its own, without a copy.

        ``begin`` is a multiple of ``alignment``; parts in use do not overlap, see ``rows``.
        """
        array = DeviceArray(self, shape, dtype, None)
        array.lie_at(whole, begin)
        return array

    def _bytes_of(self, whole: DeviceArray, begin: int, array: DeviceArray) -> Any:
        """Return the handle of a part, for an array whose shape and dtype are set."""
        return whole.handle[begin : begin + array.nbytes]

    def _part(
        self, array: DeviceArray, start_bytes: int, nbytes: int, shape: tuple[int, ...]
    ) -> Any:
        raise NotImplementedError

    @abstractmethod
    def read(self, array: DeviceArray) -> Array: ...

    def read_into(self, array: DeviceArray, host: Array) -> None:
        """Copy an array's first bytes to uint8 host memory; waits for the device."""
        host[...] = self.read(array).reshape(-1).view(np.uint8)[: host.nbytes]

    @abstractmethod
    def write(self, array: DeviceArray, host: Array, start_bytes: int) -> None:
        """Copy host values to an array; waits, unless they are few."""

    def hand_over(self, array: DeviceArray, host: Array, start_bytes: int) -> None:
        """Enqueue a copy of host values that nobody else changes or needs; waits for nothing."""
        self.write(array, host, start_bytes)

    def send(self) -> None:
        """Enqueue the copy of first contents that wait on the host, if there are any."""
        if self.unsent is None:
            return
        (array_of, contents), self.unsent = self.unsent, None
        array, (begin, host) = array_of(), contents.take()
        if array is not None and host.size:
            self.hand_over(array, host, begin)

    # -- kernels ---------------------------------------------------------------------------
    def warm_up(self) -> None:  # noqa: B027 - most compilers load fast
        """Load the driver's compiler in the background, if it loads slowly and will be needed."""

    @abstractmethod
    def _build(self, template: str, wg_size: int, params: dict[str, Param]) -> Program:
        """Render and build; ``wg_size`` of the result is the size that its kernels can run with."""

    def build(self, template: str, *, wg_size: int, **params: Param) -> Program:
        """Build a template for work-groups of at most ``wg_size``.

        The size is halved until the device and the built kernels allow it; the driver is asked for
        the kernels' limit. ``Program.wg_size`` has the result.

        Raises
        ------
        KernelBuildError
            With the device, the parameters, the numbered source and the compiler's log.
        """
        forked.check_device()
        size = power_of_two(min(wg_size, self.caps.max_work_group))
        while True:
            start = time.perf_counter()
            program = self._build(template, size, params)
            if self.builds is not None:
                self.builds.took(template, time.perf_counter() - start)
            program.kernel, program.template, program.params = template, template, params
            if program.wg_size >= size:
                program.wg_size = size
                return program
            size = power_of_two(program.wg_size)

    @abstractmethod
    def finish(self) -> None:
        """Wait until all enqueued work has run."""

    def free_unused(self) -> None:  # noqa: B027
        """Give freed memory back to the driver, where a pool keeps it for later."""

    def mark(self) -> Callable[[], None]:
        """Return a function that waits until what is enqueued so far has run; more may follow."""
        return self.finish

    def elapsed(self, work: Callable[[], object]) -> float:
        """Return the seconds that ``work`` takes, from an idle device to an idle device."""
        self.finish()
        return clock(lambda: (work(), self.finish()))
