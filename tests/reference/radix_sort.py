"""Twin of ``primitives.radix_sort``: a stable argsort of keys mapped to unsigned order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def sortable(keys: Array, *, descending: bool = False) -> Array:
    """Map keys to unsigned integers of the same width and order.

    Parameters
    ----------
    keys : uint32, int32, float32, uint64, int64 or float64 array
        Of floats, both zeros map to one number, and every NaN to the largest, also if descending.
    descending : bool
    """
    bits = 8 * keys.dtype.itemsize
    word = np.dtype(f"u{keys.dtype.itemsize}").type
    raw, top = np.ascontiguousarray(keys).view(word), word(1 << (bits - 1))
    order: Array
    if keys.dtype.kind == "u":
        order = raw.copy()
    elif keys.dtype.kind == "i":
        order = raw ^ top
    else:
        order = np.where(raw & top, ~raw, raw | top)
        order[(raw & ~top) == 0] = top
    if descending:
        order = ~order
    if keys.dtype.kind == "f":
        order[np.isnan(keys)] = ~word(0)
    return order


def radix_argsort(
    keys: Array, *, descending: bool = False, begin_bit: int = 0, end_bit: int | None = None
) -> npt.NDArray[np.uint32]:
    """Return the order of keys by some of their bits; a stable sort."""
    bits = 8 * keys.dtype.itemsize
    end = bits if end_bit is None else end_bit
    order = sortable(keys, descending=descending)
    word = order.dtype.type
    low = order & word((1 << end) - 1)
    some = low >> word(begin_bit) if begin_bit < bits else np.zeros_like(low)
    return np.argsort(some, kind="stable").astype(np.uint32)


def radix_sort(
    keys: Array,
    values: Array | None = None,
    *,
    descending: bool = False,
    begin_bit: int = 0,
    end_bit: int | None = None,
) -> tuple[Array, Array | None]:
    """Return sorted copies of keys and values.

    Parameters
    ----------
    keys : array as for ``sortable``
    values : array of the same length, optional
    descending : bool
    begin_bit, end_bit : int
        Bits of the result of ``sortable``; default: all.

    Returns
    -------
    keys, values
        Equal keys keep their order and their bits.
    """
    order = radix_argsort(keys, descending=descending, begin_bit=begin_bit, end_bit=end_bit)
    return keys[order], None if values is None else values[order]
