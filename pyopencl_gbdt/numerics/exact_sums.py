"""Sums in integers, as kernels add up metrics; the result is the same in any order.

Sums of float32 numbers times weights, in limbs of 32 bits; of several integers for one number; and
integer units for areas under curves. ``portable_math`` has those of a host alone.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.portable_math import to_quanta

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]


#: The largest key of ln(S / hazard) * 1; the logarithm is below 256.
LARGEST_KEY = 134 + 127


def plane_bits(n_rows: int) -> int:
    """Return the number of bits of a plane: the sum over all rows has to stay below 2^61."""
    return min(40, 61 - n_rows.bit_length())


U64 = npt.NDArray[np.uint64]

#: Keys of infinite sums and of NaN sums. The keys of finite sums are smaller.
INFINITE, UNDEFINED = 1000, 2000
N_LIMBS = 4


def parts_of(x: F32) -> tuple[npt.NDArray[np.int64], U64]:
    """Return biased exponents and 24-bit mantissas; subnormal numbers count as 0."""
    bits = x.view(np.uint32)
    exponent = ((bits >> 23) & 0xFF).astype(np.int64)
    mantissa = ((bits & 0x7FFFFF) | 0x800000).astype(np.uint64)
    return exponent, np.where(exponent == 0, np.uint64(0), mantissa)


def key_of(loss: F32, weight: F32) -> npt.NDArray[np.int64]:
    """Return the exponent of loss plus the exponent of weight; 0 where either number is 0."""
    (e, m), (of_weight, n) = parts_of(loss), parts_of(weight)
    fraction = loss.view(np.uint32) & 0x7FFFFF
    key = np.where(e == 255, np.where(fraction != 0, UNDEFINED, INFINITE), e + of_weight)
    return np.where((m == 0) | (n == 0), 0, key)


def sum_words(loss: F32, weight: F32 | None, largest: int | None = None) -> npt.NDArray[np.int64]:
    """Return the sum of loss * weight.

    Parameters
    ----------
    loss, weight : float32 array, shape (n_rows,)
    largest : int or None
        An upper limit of the products' keys; None takes the key of the largest product.

    Returns
    -------
    int64 array, shape (5,)
        Limbs l, and the largest key k: the sum is ``(l0 + l1 2^32 + l2 2^64) 2^(k - 348)``. Bits
        of a product that are smaller than 2^-94 of the scale of the largest key are cut off.
    """
    weight = np.ones_like(loss) if weight is None else weight
    key = key_of(loss, weight)
    largest = int(key.max(initial=0)) if largest is None else largest
    words = np.zeros(N_LIMBS + 1, np.int64)
    words[N_LIMBS] = largest
    if largest in (0, INFINITE, UNDEFINED):
        return words
    product = parts_of(loss)[1] * parts_of(weight)[1]  # 48 bits
    shift = np.minimum(np.where(key == 0, 96, largest - key), 96).astype(np.uint64)
    near, far = np.minimum(shift, np.uint64(48)), np.maximum(shift, np.uint64(48)) - np.uint64(48)
    high = np.where(shift < 48, product >> near, np.uint64(0))
    rest = product & ((np.uint64(1) << near) - np.uint64(1))
    low = np.where(shift < 48, rest << (np.uint64(48) - near), product >> far)
    sign = np.where(loss.view(np.uint32) >> 31, -1, 1)
    limbs = (
        low & np.uint64(0xFFFFFFFF),
        (low >> np.uint64(32)) | ((high & np.uint64(0xFFFF)) << np.uint64(16)),
        high >> np.uint64(16),
    )
    for at, limb in enumerate(limbs):
        words[at] = (sign * limb.astype(np.int64)).sum()
    return words


def sum_of(words: npt.NDArray[np.int64], largest: int) -> Fraction:
    """Return the exact sum that the words of ``sum_words`` represent."""
    return Fraction(*quotient_of(words, largest))


def quotient_of(words: npt.NDArray[np.int64], largest: int) -> tuple[int, int]:
    """Return the same sum as a numerator and a power of two; takes less time than ``sum_of``."""
    whole, power = 0, largest - 348
    for limb in reversed(words[:N_LIMBS].tolist()):
        whole = (whole << 32) + limb
    return (whole << power, 1) if power > 0 else (whole, 1 << -power)


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
