"""Twin of ``primitives.segmented_radix_sort``: a stable argsort per segment."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def order_numbers(keys: Array, *, descending: bool = False) -> Array:
    """Map keys to unsigned numbers of the same width and order.

    Parameters
    ----------
    keys : array of 4- or 8-byte integers or floats
        Of floats, both zeros map to one number, and every NaN to the largest, also if descending.
    descending : bool
    """
    bits = keys.view(f"u{keys.itemsize}")
    top = bits.dtype.type(1 << (8 * keys.itemsize - 1))
    if keys.dtype.kind == "u":
        numbers = bits
    elif keys.dtype.kind == "i":
        numbers = bits ^ top
    else:
        numbers = np.where(bits & top, ~bits, bits | top)
        numbers[keys == 0] = top
    if descending:
        numbers = ~numbers
    if keys.dtype.kind == "f":
        numbers = np.where(np.isnan(keys), ~bits.dtype.type(0), numbers)
    return numbers


def segmented_radix_sort(
    keys: Array, offsets: Array, values: Array | None = None, *, descending: bool = False
) -> tuple[Array, Array | None]:
    """Return copies of keys and values, sorted by key within every segment.

    Parameters
    ----------
    keys : array, shape (n,)
    offsets : integer array, shape (n_segments + 1,)
    values : array, shape (n,), optional
    descending : bool

    Returns
    -------
    keys, values
        Equal keys keep their order and bits; elements outside all segments stay unchanged.
    """
    order = np.arange(len(keys))
    numbers = order_numbers(keys, descending=descending)
    for start, end in pairwise(offsets):
        order[start:end] = start + np.argsort(numbers[start:end], kind="stable")
    return keys[order], None if values is None else values[order]
