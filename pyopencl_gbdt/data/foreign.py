"""Arrays of other libraries, on a device or not -> NumPy arrays; no such library is imported."""

from __future__ import annotations

from typing import Any

import numpy as np


def to_host(values: Any) -> Any:
    """Copy what a device holds to a NumPy array; what NumPy reads by itself is returned as it is.

    Parameters
    ----------
    values : object
        CuPy's and PyOpenCL's arrays and ``DeviceArray`` are asked by their method ``get``. Others
        that speak DLPack are asked for memory of the host, torch's and JAX's for example; what
        lies there already is not copied.

    Raises
    ------
    TypeError, BufferError, RuntimeError
        As the library or NumPy does.
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
    """Tell whether a device's own memory holds an array: CuPy's, PyOpenCL's, or DLPack's."""
    if isinstance(values, (np.ndarray, np.generic, list, tuple)):
        return False
    kind = type(values)
    if hasattr(kind, "__dlpack_device__"):
        try:
            return int(values.__dlpack_device__()[0]) not in _HOST
        except BufferError:  # the OpenCL arrays of this library speak no DLPack
            return True
        except Exception:  # an Arrow array whose type DLPack lacks, say
            return False
    if hasattr(kind, "__cuda_array_interface__"):
        return True
    return kind.__module__ == "pyopencl.array" and hasattr(kind, "get")


#: DLPack's kinds of memory that the host reads: its own, and page-locked for CUDA and ROCm.
_HOST = (1, 3, 11)
