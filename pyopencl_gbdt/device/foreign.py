"""Matrices that the user's own library (CuPy, PyOpenCL) keeps on a device; read without a copy."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device.base import Device, DeviceArray

F32 = npt.NDArray[np.float32]
#: Elements that are searched for infinities at a time; CuPy allocates a temporary for them.
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
        """Return the matrix as an array of a device, or None if it lies on another device.

        Waits until the kernels that compute the matrix have run. The caller must not change it
        until the kernels that read it have run.
        """

    @abstractmethod
    def host(self) -> F32:
        """Copy the matrix to a NumPy array."""

    def column(self, number: int) -> F32:
        """Return a column, float32 (n_rows,)."""
        return self.host()[:, number]

    def for_device(self, device: Device) -> F32 | DeviceArray:
        """Return the matrix as a device array if it lies on this device, else a host copy."""
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
    """Return a matrix that kernels can read without a copy, or None if the host must copy it.

    Parameters
    ----------
    values : object
        A CuPy array of any real dtype and memory order (see `as_cupy`); unless it is float32 in C
        order, it is converted on its device. Or a PyOpenCL array or ``DeviceArray`` of float32 in C
        order, at the start of its buffer and in the context of this library's devices,
        ``open_device(...).context``.
    missing : float
        A number that means "missing" beside NaN. If it is not NaN, PyOpenCL arrays go through the
        host.
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
    """Return a CuPy array that shares a CUDA array's memory; return anything else unchanged."""
    kind = type(values)
    module = sys.modules.get("cupy")
    if isinstance(values, DeviceArray) or (
        module is not None and isinstance(values, module.ndarray)
    ):
        return values
    try:
        of_cuda = hasattr(kind, "__dlpack_device__") and values.__dlpack_device__()[0] == 2
    except Exception:  # another library may raise anything
        return values
    if not (of_cuda or hasattr(kind, "__cuda_array_interface__")):
        return values
    try:
        import cupy

        if of_cuda:
            return cupy.from_dlpack(values)
        return cupy.asarray(values)
    except Exception:  # no CuPy, or a dtype that it lacks: the host code raises the error
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
                return None  # the host code raises an error that names the place
        cupy.cuda.get_current_stream().synchronize()
    return _CudaMatrix(narrow)


def _opencl_array(values: Any, missing: float) -> DeviceMatrix | None:
    import pyopencl

    from pyopencl_gbdt.device.opencl.device import is_shared

    buffer = values.base_data
    if not isinstance(buffer, pyopencl.Buffer) or not is_shared(buffer.context):
        return None  # shared virtual memory, or a buffer of another context
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
    except (OSError, RuntimeError, pyopencl.Error):  # for example no disk space for its cache
        return None
    return None if infinite else _OpenCLMatrix((n_rows, n_features), buffer, queue)


@lru_cache(maxsize=4)
def _infinity_kernel(context: Any) -> Any:
    from pyopencl.reduction import ReductionKernel

    return ReductionKernel(
        context, np.int32, neutral="0", reduce_expr="a | b", map_expr="isinf(x[i]) ? 1 : 0",
        arguments="__global const float *x",
    )  # fmt: skip
