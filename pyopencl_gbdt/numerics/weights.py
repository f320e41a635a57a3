"""Row weights and shares of their sum, scaled as the kernels expect."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
#: Exponents of float32 numbers, moved up by 200.
_EXPONENTS = 400


def _own(counts: I64) -> I64:
    return counts


def normalise(
    weight: F32 | None, add_up: Callable[[I64], I64] = _own, most: Callable[[int], int] = int
) -> tuple[F32 | None, int, int]:
    """Scale weights by a power of two, so that nearly all of them lie below 128.

    Weights that all lie in 1..128 are not scaled: an integer weight k counts as exactly k rows.

    Parameters
    ----------
    weight : float32 array, shape (n_rows,), or None
        Weights >= 0, not all 0.
    add_up, most : callable
        Return the sum of every team member's counts, and the largest of their numbers, where
        several members have a part of the rows each.

    Returns
    -------
    scaled : float32 array, shape (n_rows,), or None
    bits : int
        All scaled weights lie below ``2**bits``; 0 if there are no weights.
    shift : int
        ``weight = scaled * 2**shift``, except for weights 2**100 times smaller than most.
    """
    if weight is None:
        return None, 0, 0
    exponents = np.frexp(weight[weight > 0])[1]  # weight < 2**exponent
    counts = add_up(np.bincount(exponents + 200, minlength=_EXPONENTS))
    above = counts[::-1].cumsum()[::-1] - counts
    bulk = int(np.flatnonzero(above <= counts.sum() // 1024)[0]) - 200
    shift = 0 if 1 <= bulk <= 7 else (bulk - 7 if bulk > 7 else bulk - 1)
    # float64 cannot overflow here; then clip to what kernels can multiply, without subnormals
    scaled = np.ldexp(weight.astype(np.float64), -shift) + 0.0
    kept = np.where(scaled > 0, np.clip(scaled, 2.0**-100, 2.0**30), 0).astype(np.float32)
    return kept, most(max(0, int(np.frexp(kept.max(initial=0))[1]))), shift


def whole(weight: F64, n_rows: int = 0, largest: float = 0.0) -> I64:
    """Return integers in proportion to the weights, as precise as a sum below 2^61 allows.

    Parameters
    ----------
    weight : float64 array, shape (n_rows,)
        Weights >= 0.
    n_rows : int
        Number of all weights, if these are a part; 0 is the number of these.
    largest : float
        Largest of all weights, if it is larger than these.

    Returns
    -------
    int64 array, shape (n_rows,)
        A power of two times the weights, rounded; at least 1 where a weight is not 0.
    """
    top = math.frexp(max(largest, float(weight.max(initial=0.0))))[1]  # weight < 2^top
    scaled = np.rint(np.ldexp(weight, 61 - (n_rows or weight.size).bit_length() - top))
    return np.maximum(scaled.astype(np.int64), (weight > 0).astype(np.int64))
