"""Twin of ``primitives.segmented_reduce``: segment by segment."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.reference.reduce import halved, lane_sums
from tests.reference.scan import NAN, identity, scan

Array = npt.NDArray[Any]

ROWS, LANES = 32, 32


def _float_sum(values: Array) -> Any:
    """Sum a segment: sums of chunks, then sums of chunks of these, until one number is left."""
    while True:
        values = halved(lane_sums(values, ROWS, LANES))
        if len(values) == 1:
            return values[0]


def segmented_reduce(values: Array, offsets: Array, *, op: str = "sum") -> Array:
    """Return the sum, maximum or minimum of every segment.

    Parameters
    ----------
    values : int32, uint32, int64 or float32 array, shape (n,); or int64, shape (n, 2)
        Pairs are summed component by component.
    offsets : integer array, shape (n_segments + 1,)
    op : {"sum", "max", "min"}

    Returns
    -------
    array of the dtype of ``values``, shape (n_segments,) or (n_segments, 2)
    """
    if values.ndim == 2:
        return np.stack([segmented_reduce(part, offsets, op=op) for part in values.T], axis=1)
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
