"""Twin of ``primitives.reduce``: NumPy's reductions, with the kernels' order of float sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tests.reference.scan import NAN, identity, scan

Array = npt.NDArray[Any]

ROWS, LANES = 16, 1024


def tile_sums(values: Array) -> Array:
    """Return the float32 sums of tiles of 16384 elements.

    Parameters
    ----------
    values : float32 array, shape (n,)

    Returns
    -------
    float32 array, shape (ceil(n / 16384),)
    """
    n_tiles = -(-len(values) // (ROWS * LANES))
    rows = np.zeros((n_tiles, ROWS, LANES), np.float32)
    rows.reshape(-1)[: len(values)] = values
    lanes = rows[:, 0]
    for row in range(1, ROWS):
        lanes = lanes + rows[:, row]
    pairs = lanes[:, 0::2] + lanes[:, 1::2]
    sums = pairs[:, 0::2] + pairs[:, 1::2]
    while sums.shape[1] > 1:
        half = sums.shape[1] // 2
        sums = sums[:, :half] + sums[:, half:]
    result: Array = sums[:, 0]
    return result


def reduce(values: Array, *, op: str = "sum") -> Array:
    """Return the sum, maximum or minimum of all values.

    Parameters
    ----------
    values : int32, uint32, int64 or float32 array, shape (n,); or int64, shape (n, 2)
        Pairs are summed component by component.
    op : {"sum", "max", "min"}

    Returns
    -------
    array like ``values``, shape (1,) or (1, 2)
    """
    if values.ndim == 2:
        return np.sum(values, axis=0, dtype=values.dtype, keepdims=True)
    if len(values) == 0:
        return np.array([identity(values.dtype, op)], values.dtype)
    if values.dtype != np.float32 or op != "sum":
        if op == "sum":
            return np.sum(values, dtype=values.dtype, keepdims=True)
        return scan(values, inclusive=True, op=op)[-1:]
    with np.errstate(invalid="ignore", over="ignore"):
        sums = tile_sums(values + np.float32(0))
        while len(sums) > 1:
            sums = tile_sums(sums)
    sums[np.isnan(sums)] = NAN
    return sums
