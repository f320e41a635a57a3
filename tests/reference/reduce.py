"""Twin of ``primitives.reduce``: NumPy's reductions, with the kernels' order of float sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tests.reference.scan import NAN, identity, scan

Array = npt.NDArray[Any]

ROWS, LANES = 16, 1024


def lane_sums(values: Array, rows: int, lanes: int) -> Array:
    """Return the float32 sums of each tile's lanes, top to bottom, shape (n_tiles, lanes)."""
    tiles = np.zeros((-(-len(values) // (rows * lanes)), rows, lanes), np.float32)
    tiles.reshape(-1)[: len(values)] = values
    sums: Array = tiles[:, 0]
    for row in range(1, rows):
        sums = sums + tiles[:, row]
    return sums


def halved(sums: Array) -> Array:
    """Add the right half of every row to the left one until one number is left of each."""
    while sums.shape[1] > 1:
        half = sums.shape[1] // 2
        sums = sums[:, :half] + sums[:, half:]
    result: Array = sums[:, 0]
    return result


def _tile_sums(values: Array) -> Array:
    """Return the float32 sums of tiles of 16384 elements."""
    sums = lane_sums(values, ROWS, LANES)
    for _ in range(2):  # neighbours first
        sums = sums[:, 0::2] + sums[:, 1::2]
    return halved(sums)


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
        sums = _tile_sums(values + np.float32(0))
        while len(sums) > 1:
            sums = _tile_sums(sums)
    sums[np.isnan(sums)] = NAN
    return sums
