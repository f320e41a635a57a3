"""Twin of ``primitives.multi_reduce``: one bucket after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def multi_reduce(values: Array, buckets: Array, n_buckets: int) -> Array:
    """Return the sum of the values of every bucket; sums wrap.

    Parameters
    ----------
    values : integer array, shape (n,) or (n, 2)
    buckets : integer array, shape (n,)
        Those of n_buckets or more are none.
    n_buckets : int

    Returns
    -------
    array of the dtype of ``values``, shape (n_buckets,) or (n_buckets, 2)
    """
    dtype = values.dtype
    return np.array(
        [values[buckets == b].sum(axis=0, dtype=dtype) for b in range(n_buckets)], dtype
    )
