"""Integer units for areas under curves: one unit for weights, one for precisions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.portable_math import to_quanta

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
#: A precision is stored as an integer multiple of 2^-60.
PRECISION_BITS = 60


def weight_power(weight: F32 | None) -> int:
    """Return s: weights are rounded to integer multiples of 2^-s, and their sum stays below 2^61.

    The error of a weight is at most 2^-60 times the number of rows times the largest weight.
    Integer weights are exact if s is not negative.
    """
    if weight is None:
        return 0
    bits = int(np.frexp(weight.max())[1]) + int(weight.size).bit_length()
    return 61 - bits


def signed_weights(label: F32, weight: F32 | None) -> I64:
    """Return each row's integer weight, negated where the label is 0."""
    whole = np.ones(label.size, np.int64)
    if weight is not None:
        whole = to_quanta(weight, weight_power(weight))
    return np.where(label > 0, whole, -whole)
