"""Exact sums of float32 numbers times float32 weights, in 32-bit limbs as kernels store them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]
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
    whole = sum(int(words[at]) << 32 * at for at in range(N_LIMBS))
    return whole * Fraction(2) ** (largest - 348)
