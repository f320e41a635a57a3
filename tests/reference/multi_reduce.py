"""Twin of ``primitives.multi_reduce``: bucket by bucket."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def multi_reduce(values: Array, buckets: Array, n_buckets: int) -> Array:
    """Return the sum of the values of every bucket; sums wrap around.

    Parameters
    ----------
    values : integer array, shape (n,) or (n, 2)
    buckets : integer array, shape (n,)
        Values in buckets >= n_buckets are ignored.
    n_buckets : int

    Returns
    -------
    array of the dtype of ``values``, shape (n_buckets,) or (n_buckets, 2)
    """
    dtype = values.dtype
    return np.array(
        [values[buckets == b].sum(axis=0, dtype=dtype) for b in range(n_buckets)], dtype
    )
