"""Matrices that a user's own library keeps on a device, for kernels to read where they lie."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device.base import Device, DeviceArray

F32 = npt.NDArray[np.float32]
#: Elements that are looked through at a time; what CuPy makes of them takes memory besides.
_PIECE = 1 << 26


class DeviceMatrix(ABC):
    """A float32 matrix in C order on a device, without infinities; NaN is missing.

    Attributes
    ----------
    shape : (int, int)
        Rows and features.
    """

    shape: tuple[int, int]

    @abstractmethod
    def on(self, device: Device) -> DeviceArray | None:
        """Return the matrix for kernels of a device, or None if it lies on another one.

        Waits until what computes it has run. It has to stay as it is until they have, too.
        """

    @abstractmethod
    def host(self) -> F32:
        """Copy it to a NumPy array."""

    def for_device(self, device: Device) -> F32 | DeviceArray:
        """Return the matrix on a device if it lies there, else a copy on the host."""
        there = self.on(device)
        return self.host() if there is None else there


class _CudaMatrix(DeviceMatrix):
    def __init__(self, array: Any) -> None:
        self.array, self.shape = array, array.shape

    def on(self, device: Device) -> DeviceArray | None:
        if device.caps.device_id != f"cuda:{self.array.device.id}":
            return None
        self.array.device.synchronize()
        return DeviceArray(device, self.shape, np.float32, self.array)

    def host(self) -> F32:
        found: F32 = self.array.get()
        return found


class _OpenCLMatrix(DeviceMatrix):
    def __init__(self, shape: tuple[int, int], buffer: Any, queue: Any) -> None:
        self.shape, self.buffer, self.queue = shape, buffer, queue

    def on(self, device: Device) -> DeviceArray | None:
        if getattr(device, "context", None) != self.buffer.context:
            return None
        self.queue.finish()
        return DeviceArray(device, self.shape, np.float32, self.buffer)

    def host(self) -> F32:
        import pyopencl

        found = np.empty(self.shape, np.float32)
        pyopencl.enqueue_copy(self.queue, found, self.buffer, is_blocking=True)
        return found


def device_matrix(values: Any, missing: float) -> DeviceMatrix | None:
    """Return a matrix that kernels can read where it lies, or None where the host has to copy it.

    Parameters
    ----------
    values : object
        A CuPy array of any real dtype and memory order (see `as_cupy`): other than float32 in C
        order is converted on its device. A PyOpenCL array or a ``DeviceArray``: float32 in C order,
        from the start of its buffer, in the context of this library's devices,
        ``open_device(...).context``.
    missing : float
        A number that means "missing" beside NaN; PyOpenCL's arrays then go by the host.
    """
    if isinstance(values, DeviceArray):
        if values.device.caps.api == "cuda":
            values.device.finish()
            return _cuda_matrix(values.handle, missing)
        ready = values.dtype == np.float32 and len(values.shape) == 2 and values.size
        queue: Any = getattr(values.device, "queue", None)
        return _opencl_matrix(values.shape, values.handle, queue, missing) if ready else None
    module = sys.modules.get("pyopencl.array")
    if module is not None and isinstance(values, module.Array):
        in_order = values.dtype == np.float32 and values.flags.c_contiguous and not values.offset
        if not in_order or values.ndim != 2 or not values.size:
            return None
        return _opencl_array(values, missing)
    module = sys.modules.get("cupy")
    if module is None or not isinstance(values, module.ndarray):
        return None
    return _cuda_matrix(values, missing)


def as_cupy(values: Any) -> Any:
    """Return a CuPy array that shares a CUDA array's memory; anything else as it is."""
    kind = type(values)
    module = sys.modules.get("cupy")
    if isinstance(values, DeviceArray) or (
        module is not None and isinstance(values, module.ndarray)
    ):
        return values
    try:
        of_cuda = hasattr(kind, "__dlpack_device__") and values.__dlpack_device__()[0] == 2
    except Exception:  # whatever a foreign library raises
        return values
    if not (of_cuda or hasattr(kind, "__cuda_array_interface__")):
        return values
    try:
        import cupy

        if of_cuda:
            return cupy.from_dlpack(values)
        return cupy.asarray(values)
    except Exception:  # no CuPy, or a dtype that it lacks: the host says what is wrong
        return values


def _cuda_matrix(array: Any, missing: float) -> DeviceMatrix | None:
    import cupy

    if array.ndim != 2 or not array.size or array.dtype.kind not in "biuf":
        return None
    with array.device:
        cupy.cuda.get_current_stream().synchronize()
        narrow = cupy.ascontiguousarray(array, dtype=np.float32)
        if not np.isnan(missing):
            absent = array == missing
            if np.isfinite(np.float32(missing)):
                absent |= narrow == np.float32(missing)
            narrow = cupy.ascontiguousarray(cupy.where(absent, np.float32(np.nan), narrow))
        rows = max(1, _PIECE // narrow.shape[1])
        for start in range(0, narrow.shape[0], rows):
            if bool(cupy.isinf(narrow[start : start + rows]).any()):
                return None  # the host names its place
        cupy.cuda.get_current_stream().synchronize()
    return _CudaMatrix(narrow)


def _opencl_array(values: Any, missing: float) -> DeviceMatrix | None:
    import pyopencl

    from pyopencl_gbdt.device.opencl import is_shared

    buffer = values.base_data
    if not isinstance(buffer, pyopencl.Buffer) or not is_shared(buffer.context):
        return None  # shared virtual memory, or buffers that our kernels cannot see
    queue = values.queue
    if queue is None:
        queue = pyopencl.CommandQueue(values.context)
    values.finish()
    queue.finish()
    return _opencl_matrix(values.shape, buffer, queue, missing)


def _opencl_matrix(
    shape: tuple[int, ...], buffer: Any, queue: Any, missing: float
) -> DeviceMatrix | None:
    n_rows, n_features = shape
    if not np.isnan(missing) or queue is None:
        return None
    import pyopencl.array

    flat = pyopencl.array.Array(queue, (n_rows * n_features,), np.float32, data=buffer)
    try:
        infinite = int(_infinity_kernel(queue.context)(flat, queue=queue).get())
    except (OSError, RuntimeError, pyopencl.Error):  # no room on disk for PyOpenCL's cache, say
        return None
    return None if infinite else _OpenCLMatrix((n_rows, n_features), buffer, queue)


@lru_cache(maxsize=4)
def _infinity_kernel(context: Any) -> Any:
    from pyopencl.reduction import ReductionKernel

    return ReductionKernel(
        context, np.int32, neutral="0", reduce_expr="a | b", map_expr="isinf(x[i]) ? 1 : 0",
        arguments="__global const float *x",
    )  # fmt: skip
