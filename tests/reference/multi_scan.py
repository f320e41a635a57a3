"""Twin of ``primitives.multi_scan``: one cumulative sum per bucket."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def multi_scan(values: Array, buckets: Array, n_buckets: int, *, inclusive: bool = False) -> Array:
    """Return for each value the sum of earlier values in its bucket; sums wrap around.

    Parameters
    ----------
    values : integer array, shape (n,) or (n, 2)
    buckets : integer array, shape (n,)
        Values in buckets >= n_buckets are ignored; their sums are 0.
    n_buckets : int
    inclusive : bool

    Returns
    -------
    array like ``values``
    """
    out = np.zeros_like(values)
    for bucket in range(n_buckets):
        mine = np.flatnonzero(buckets == bucket)
        sums = np.cumsum(values[mine], axis=0, dtype=values.dtype)
        out[mine] = sums if inclusive else sums - values[mine]
    return out
