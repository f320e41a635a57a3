"""Twin of ordered target statistics: one pass over the rows, with a dictionary."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.model.statistics import Priors, shrunken_mean

F32 = npt.NDArray[np.float32]
U8 = npt.NDArray[np.uint8]
I32 = npt.NDArray[np.int32]
U32 = npt.NDArray[np.uint32]


def ordered_statistics(
    codes: I32, hits: U8, counted: U8, order: U32, priors: Priors, weight: int = 1
) -> F32:
    """Return the statistics of every row, from the rows before it in an order.

    Parameters
    ----------
    codes : int32 array, shape (n_rows,)
        The row's level; below 0 is missing.
    hits : uint8 array, shape (n_targets, n_rows)
        1 where the row's target lies above a border, or is of a class.
    counted : uint8 array, shape (n_rows,)
        0 where the row has weight 0; such a row is not part of any sum.
    order : uint32 array, shape (n_rows,)
    priors : tuple of tuple of float
        Of each target, equally many.
    weight : int
        The rows that a prior counts as.

    Returns
    -------
    float32 array, shape (n_targets, n_priors, n_rows)
        NaN where the level is missing.
    """
    n_targets, n_rows = hits.shape
    out = np.full((n_targets, len(priors[0]), n_rows), np.nan, np.float32)
    counts: dict[int, int] = {}
    sums: dict[int, list[int]] = {}
    for row in order.tolist():
        level = int(codes[row])
        if level < 0:
            continue
        count, own = counts.get(level, 0), sums.setdefault(level, [0] * n_targets)
        for target in range(n_targets):
            for place, prior in enumerate(priors[target]):
                out[target, place, row] = shrunken_mean(own[target], count, prior, weight)
        if counted[row]:
            counts[level] = count + 1
            sums[level] = [s + int(hit) for s, hit in zip(own, hits[:, row], strict=True)]
    return out
