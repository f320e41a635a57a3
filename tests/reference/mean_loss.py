"""Twin of ``evaluation.mean_loss``: sums of float32 losses times float32 weights, row by row."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.exact_sums import INFINITE, N_LIMBS, UNDEFINED

F32 = npt.NDArray[np.float32]
#: Bits of a product that are kept, and bits of a limb.
_KEPT, _LIMB = 96, 32


def sum_words(loss: F32, weight: F32 | None, largest: int | None = None) -> npt.NDArray[np.int64]:
    """Return the limbs of the sum of loss * weight, and the largest key.

    Same result as ``numerics.product_sums.sum_words``, with Python integers, product by product.
    """
    weight = np.ones_like(loss) if weight is None else weight
    rows = [_product(*pair) for pair in zip(_bits(loss), _bits(weight), strict=True)]
    if largest is None:
        largest = max((key for _, _, key in rows), default=0)
    limbs = [0] * N_LIMBS
    if largest not in (0, INFINITE, UNDEFINED):
        for sign, product, key in rows:  # 48 bits; products of the largest key are shifted by 48
            kept = (product << _KEPT - 48) >> (largest - key)
            for at in range(_KEPT // _LIMB):
                limbs[at] += sign * ((kept >> at * _LIMB) & ((1 << _LIMB) - 1))
    return np.array([*limbs, largest], np.int64)


def _bits(x: F32) -> list[int]:
    found: list[int] = x.view(np.uint32).tolist()
    return found


def _product(loss: int, weight: int) -> tuple[int, int, int]:
    """Return sign, product of the mantissas, and key, from the bits of two numbers."""
    (e, m), (of_weight, n) = (((bits >> 23) & 255, (bits & 0x7FFFFF) | 1 << 23)
                              for bits in (loss, weight))  # fmt: skip
    if e == 0 or of_weight == 0:  # zero or subnormal, which counts as zero
        return 1, 0, 0
    if e == 255:
        return 1, 0, INFINITE if m == 1 << 23 else UNDEFINED
    return -1 if loss >> 31 else 1, m * n, e + of_weight
