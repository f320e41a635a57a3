"""A stable argsort by radix sort."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.device import DeviceArray, Variant
from pyopencl_gbdt.primitives.checks import check_length, own_device
from pyopencl_gbdt.primitives.radix_sort import RadixSort


def radix_argsort(
    keys: DeviceArray,
    *,
    descending: bool = False,
    begin_bit: int = 0,
    end_bit: int | None = None,
    variant: str | Variant = "auto",
) -> DeviceArray:
    """Return the indices that sort the keys; equal keys keep their order, keys stay unchanged.

    Parameters
    ----------
    keys : DeviceArray of at most 2**32 keys, dtype as for ``radix_sort``
    descending, begin_bit, end_bit, variant
        As for ``RadixSort``.

    Returns
    -------
    DeviceArray of uint32, as many as keys

    Raises
    ------
    DataError, ParameterError
        As for ``radix_sort``; ParameterError also for more than 2**32 keys.
    """
    device = own_device("keys", keys)
    check_length("keys", keys.size, 2**32)
    sort = RadixSort(
        device,
        keys.size,
        keys.dtype,
        np.uint32,
        descending=descending,
        begin_bit=begin_bit,
        end_bit=end_bit,
        variant=variant,
    )
    indices = device.empty(keys.shape, np.uint32)
    if keys.size:
        copied = device.empty(keys.shape, keys.dtype)
        device.copy(keys, copied, 0)
        sort.number(indices)
        sort.sort(copied, indices)
    return indices
