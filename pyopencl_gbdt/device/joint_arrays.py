"""Small arrays in one allocation, whose first contents go up in one copy.

A fit has some 40 small arrays. A copy for each took 80 us on PoCL, with the wait for it, and takes
10 to 14 us to enqueue on a GPU. No two parts overlap: NVIDIA's OpenCL crashed when one of several
overlapping parts was released.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device.base import Device, DeviceArray
from pyopencl_gbdt.device.given_arrays import FirstContents, Place

#: Arrays of at most so many bytes are joined.
MOST_BYTES = 64 * 1024


def joint_arrays(
    device: Device, planned: Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]]
) -> dict[str, DeviceArray]:
    """Allocate arrays as parts of one.

    What is set before the device first launches, copies or reads goes up in one copy; see
    ``Device.send``. What is not set is undefined.

    Parameters
    ----------
    device : Device
    planned : mapping of str to (shape, dtype)
    """
    device.send()  # what an earlier allocation is to hold
    if not planned:
        return {}
    begins, end = [], 0
    for shape, dtype in planned.values():
        begins.append(end)
        n_bytes = max(1, math.prod(shape) * dtype.itemsize)
        end = -(-(end + n_bytes) // device.alignment) * device.alignment
    whole, contents = device.empty(end, np.uint8, "small arrays"), FirstContents(end)
    arrays: dict[str, DeviceArray] = {}
    for begin, (name, (shape, dtype)) in zip(begins, planned.items(), strict=True):
        arrays[name] = device.part(whole, begin, shape, dtype)
        arrays[name].first_contents = Place(contents, begin)
    device.unsent = weakref.ref(whole), contents  # a cycle would keep a failed fit's memory
    return arrays


def uploaded(device: Device, values: Sequence[npt.NDArray[Any]]) -> list[DeviceArray]:
    """Return copies of small host arrays, which go up together."""
    planned = {str(number): (one.shape, one.dtype) for number, one in enumerate(values)}
    arrays = list(joint_arrays(device, planned).values())
    for array, one in zip(arrays, values, strict=True):
        array.set(one)
    return arrays
