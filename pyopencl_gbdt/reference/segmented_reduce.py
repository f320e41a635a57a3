"""Twin of ``primitives.segmented_reduce``: one segment after the other."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.reference.scan import NAN, identity, scan, siblings

Array = npt.NDArray[Any]

CHUNK = 4096


def _tree_sum(values: Array) -> Any:
    """Sum at most 4096 float32 numbers: runs, rows, tile."""
    for _ in range(3):
        values = siblings(values)[1]
    return values[0]


def _float_sum(values: Array) -> Any:
    """Sum a segment: chunks, then 4096 chunks' sums at a time, then those from left to right."""
    for _ in range(2):
        values = np.array(
            [_tree_sum(values[i : i + CHUNK]) for i in range(0, len(values), CHUNK)], np.float32
        )
    total = np.float32(0)
    for value in values:
        total = total + value
    return total


def segmented_reduce(values: Array, offsets: Array, *, op: str = "sum") -> Array:
    """Return the sum, maximum or minimum of every segment.

    Parameters
    ----------
    values : int32, uint32, int64 or float32 array, shape (n,)
    offsets : integer array, shape (n_segments + 1,)
    op : {"sum", "max", "min"}

    Returns
    -------
    array of the dtype of ``values``, shape (n_segments,)
    """
    results = np.full(len(offsets) - 1, identity(values.dtype, op), values.dtype)
    for segment, (start, end) in enumerate(pairwise(offsets)):
        if start == end:
            continue
        part = values[start:end]
        if values.dtype == np.float32 and op == "sum":
            with np.errstate(invalid="ignore", over="ignore"):
                total = _float_sum(part + np.float32(0))
            results[segment] = NAN if np.isnan(total) else total
        else:
            results[segment] = scan(part, inclusive=True, op=op)[-1]
    return results
