"""Twin of ``primitives.radix_sort``: a stable argsort of keys mapped to unsigned order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def sortable(keys: Array) -> npt.NDArray[np.uint64]:
    """Return unsigned integers whose order is that of the keys.

    Parameters
    ----------
    keys : uint32, int32 or float32 array
        float32: both zeros map to one number, every NaN to one above infinity.
    """
    if keys.dtype != np.float32:
        return (keys.astype(np.int64) + 2**31).astype(np.uint64)
    bits = keys.view(np.uint32).astype(np.int64)
    magnitude = bits % 2**31
    ordered = np.where(bits >= 2**31, -magnitude, magnitude) + 2**31
    ordered[np.isnan(keys)] = 2**32
    return ordered.astype(np.uint64)


def radix_sort(keys: Array, values: Array | None = None) -> tuple[Array, Array | None]:
    """Return sorted copies of keys and values.

    Parameters
    ----------
    keys : uint32, int32 or float32 array
    values : array of the same length, optional

    Returns
    -------
    keys, values
        Equal keys keep their order and their bits.
    """
    order = np.argsort(sortable(keys), kind="stable")
    return keys[order], None if values is None else values[order]
