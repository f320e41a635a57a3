"""Twin of ``primitives.segmented_scan``: a scan per segment; float sums in tree order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tests.reference.scan import NAN, scan, tree_prefixes

Array = npt.NDArray[Any]


def heads_of(offsets: Array, n: int) -> npt.NDArray[np.uint8]:
    """Convert n_segments + 1 offsets to head flags, shape (n,)."""
    heads = np.zeros(n, np.uint8)
    heads[offsets[offsets < n]] = 1
    return heads


def segmented_scan(
    values: Array, head_flags: Array, *, inclusive: bool = False, op: str = "sum"
) -> Array:
    """Return prefix sums, maxima or minima that restart at every head.

    Parameters
    ----------
    values : int32, uint32, int64 or float32 array, shape (n,); or int64, shape (n, 2)
        Pairs are summed component by component.
    head_flags : array, shape (n,)
    inclusive : bool
    op : {"sum", "max", "min"}

    Returns
    -------
    array like ``values``
    """
    heads = head_flags != 0
    if values.dtype == np.float32 and op == "sum" and len(values):
        with np.errstate(invalid="ignore", over="ignore"):
            result = tree_prefixes(values + np.float32(0), heads, inclusive=inclusive)
        if not inclusive:
            result[heads] = 0
        result[np.isnan(result)] = NAN
        return result
    segments = np.split(values, np.flatnonzero(heads))
    return np.concatenate([scan(part, inclusive=inclusive, op=op) for part in segments])
