"""Twin of scores of pairs of categorical columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.categories.pair_scores import RIDGE, n_cells
from pyopencl_gbdt.numerics.random_numbers import random_bits

I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
_FINE, _COARSE, _MOST = 8, 4, 127


def _rounded(values: I64, bits: int) -> I64:
    return (values + (1 << (bits - 1))) >> bits


def _quotient(a: I64, b: I64) -> I64:
    """Return a / b, rounded half away from 0."""
    return np.where(a < 0, -((b // 2 - a) // b), (a + b // 2) // b)


def pair_scores(
    quanta: I32, levels: Sequence[npt.NDArray[np.uint32]], n_levels: Sequence[int]
) -> I64:
    """Return how much gradients depend on every two columns together.

    Parameters
    ----------
    quanta : int32 array, shape (n_rows, 2)
        Gradient and Hessian of each row of the sample.
    levels : sequence of uint32 array, shape (n_rows,)
        Of each column; ``n_levels`` and above are missing.
    n_levels : sequence of int

    Returns
    -------
    int64 array, shape (n_columns, n_columns)
        0 at and below the diagonal.
    """
    n, cells = quanta.shape[0], n_cells(quanta.shape[0])
    mask = cells - 1
    r = np.clip(quanta[:, 0].astype(np.int64) >> 9, -(_MOST << _FINE), _MOST << _FINE)
    h = np.clip(_rounded(quanta[:, 1].astype(np.int64) >> 1, 16), 0, _MOST)
    more = 1 + int(h.sum()) * RIDGE // n
    for own, missing in zip(levels, n_levels, strict=True):
        there = own < missing
        cell = own[there].astype(np.int64) & mask
        g = np.zeros(cells, np.int64)
        np.add.at(g, cell, _rounded(r[there], _COARSE))
        total = np.bincount(cell, h[there], cells).astype(np.int64) + more
        rest = r[there] - _quotient(h[there] * (g[cell] << _COARSE), total[cell])
        r[there] = np.clip(rest, -(_MOST << 2 * _FINE), _MOST << 2 * _FINE)
    found = np.zeros((len(levels), len(levels)), np.int64)
    values = _rounded(r, _FINE)
    for one, a in enumerate(levels):
        for other in range(one + 1, len(levels)):
            there = (a < n_levels[one]) & (levels[other] < n_levels[other])
            hashed = random_bits(a[there], levels[other][there]) & np.uint32(mask)
            at, mine = hashed.astype(np.int64), values[there]
            near = np.clip(mine, -_MOST, _MOST)
            g, q = (np.zeros(cells, np.int64) for _ in range(2))
            np.add.at(g, at, mine)
            np.add.at(q, at, near * near)
            total = np.bincount(at, h[there], cells).astype(np.int64) + more
            found[one, other] = _quotient((g * g - q) * 64, total).sum()
    return found
