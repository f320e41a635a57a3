"""Convert arrays of other libraries, also on devices, to NumPy; imports none of the libraries."""

from __future__ import annotations

from typing import Any

import numpy as np


def to_host(values: Any) -> Any:
    """Copy a device's array to a NumPy array; return what NumPy can read itself unchanged.

    Parameters
    ----------
    values : object
        CuPy's and PyOpenCL's arrays and ``DeviceArray`` are copied by their method ``get``. Other
        arrays that support DLPack, such as torch's and JAX's, are asked for host memory; an array
        that is there already is not copied.

    Raises
    ------
    TypeError, BufferError, RuntimeError
        Whatever the library or NumPy raises.
    """
    kind = type(values)
    if isinstance(values, (np.ndarray, np.generic, list, tuple)):
        return values
    if is_on_device(values):
        return values.get() if callable(getattr(kind, "get", None)) else _from_device(values)
    if hasattr(kind, "__dlpack__") and not hasattr(kind, "__array__"):
        return np.from_dlpack(values)
    return values


def _from_device(values: Any) -> Any:
    try:
        return np.from_dlpack(values, device="cpu")
    except (TypeError, BufferError, RuntimeError, ValueError):  # or NumPy before 2.1
        if callable(getattr(values, "cpu", None)):  # torch's
            return values.cpu().numpy()
        if hasattr(values, "__array__"):
            return values
        raise


def is_on_device(values: Any) -> bool:
    """Tell whether an array lies in a device's memory: CuPy's, PyOpenCL's, or any with DLPack."""
    if isinstance(values, (np.ndarray, np.generic, list, tuple)):
        return False
    kind = type(values)
    if hasattr(kind, "__dlpack_device__"):
        try:
            return int(values.__dlpack_device__()[0]) not in _HOST
        except BufferError:  # this library's OpenCL arrays do not support DLPack
            return True
        except Exception:  # an Arrow array of a type that DLPack lacks, for example
            return False
    if hasattr(kind, "__cuda_array_interface__"):
        return True
    return kind.__module__ == "pyopencl.array" and hasattr(kind, "get")


#: DLPack's memory types that the host can read: its own, and pinned for CUDA and ROCm.
_HOST = (1, 3, 11)
