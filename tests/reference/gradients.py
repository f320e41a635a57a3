"""Twin of ``gradients.gradients``: gradients and Hessians in fixed point, a scale per tree."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.portable_math import finite, to_quanta
from tests.reference.row_counts import on_grid

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]


def weigh(q: I64, w: F32) -> I64:
    """Return round(q * w) for w >= 0, ties upward, in exact integer arithmetic."""
    bits = np.asarray(w, np.float32).view(np.uint32)
    exponent = ((bits >> 23) & 0xFF).astype(np.int64)
    mantissa = ((bits & 0x7FFFFF) | 0x800000).astype(np.int64)
    shift = 150 - exponent
    up = np.maximum(-shift, 0)
    down = np.clip(shift, 1, 38)
    p = np.where(shift > 100, 0, q >> np.clip(shift - 38, 0, 62))
    high, low = p >> down, p & ((np.int64(1) << down) - 1)
    small = high * mantissa + ((low * mantissa + (np.int64(1) << (down - 1))) >> down)
    result: I64 = np.where(shift <= 0, (q * mantissa) << up, small)
    return np.where(exponent == 0, 0, result)


@dataclass(frozen=True)
class Scale:
    """The fixed point of a tree's gradients and Hessians.

    Attributes
    ----------
    g, h : int
        Gradients are multiplied by 2^g, Hessians by 2^h, and rounded.
    wide : bool
        Whether some quanta need more than 32 bits.
    weight_shift : int
        Weights were divided by 2^weight_shift, so one quantum is 2^(weight_shift - g).
    count_bits, least_rows : int
        Where rows are counted: bits of a count in a sum of Hessians, and rows that a child needs.
    """

    g: int
    h: int
    wide: bool
    weight_shift: int = 0
    count_bits: int = 0
    least_rows: int = 0

    @property
    def sum_g(self) -> int:
        """The exponent for sums: a weighted sum of gradients is its quanta times 2^-sum_g."""
        return self.g - self.weight_shift

    @property
    def sum_h(self) -> int:
        """The exponent for sums: a weighted sum of Hessians is its quanta times 2^-sum_h."""
        return self.h - self.weight_shift


def exponent_counts(x: F32, weight: F32 | None) -> I64:
    """Return the number of rows per biased exponent, without rows of weight 0.

    Parameters
    ----------
    x : float32 array, shape (n_rows,)
    weight : float32 array, shape (n_rows,), or None

    Returns
    -------
    int64 array, shape (256,)
    """
    counted = x if weight is None else x[weight != 0]
    return np.bincount((counted.view(np.uint32) >> 23) & 0xFF, minlength=256)


def scale_exponent(counts: I64, weight_bits: int) -> tuple[int, bool]:
    """Return the scale's exponent for gradients or for Hessians, and whether quanta are wide.

    All nonzero values but one in 1024 stay below 2^24 quanta (small data may have up to 16 larger
    ones, at most one in 8), and no sum over rows reaches 2^61. A biased exponent e means values
    below 2^(e - 126); 0 means values that count as 0.
    """
    there = [e for e in range(1, 256) if counts[e]]
    if not there:
        return 0, False
    sum_bits = max(e - 126 + int(counts[e]).bit_length() for e in there)
    total = int(counts[1:].sum())
    few = max(total // 1024, min(total // 8, 16))
    bulk = max(e for e in there if int(counts[e:].sum()) > few)
    s = max(-126, min(150 - bulk, 61 - 8 - sum_bits - weight_bits, 120))
    return s, there[-1] - 126 + s + weight_bits > 30


def choose_scale(
    g: F32,
    h: F32,
    weight: F32 | None,
    weight_bits: int,
    weight_shift: int = 0,
    *,
    factors: F32 | None = None,
    counting: tuple[int, int] = (0, 0),
) -> Scale:
    """Return the scale of a tree.

    Parameters
    ----------
    g, h : float32 array, shape (n_rows,)
    weight : float32 array, shape (n_rows,), or None
    weight_bits, weight_shift : int
        From ``weights.normalise``.
    factors : float32 array, shape (n_rows,), or None
        From ``sample.factors``.
    counting : (int, int)
        ``count_bits`` and ``least_rows``.
    """
    if factors is not None:
        g, h, counted = finite(g * factors), finite(h * factors), factors != 0
        weight = counted.astype(np.float32) if weight is None else np.where(counted, weight, 0)
    scale_g, wide_g = scale_exponent(exponent_counts(g, weight), weight_bits)
    scale_h, wide_h = scale_exponent(exponent_counts(h, weight), weight_bits)
    return Scale(scale_g, scale_h, wide_g or wide_h, weight_shift, *counting)


def quantize(g: F32, h: F32, weight: F32 | None, scale: Scale, factors: F32 | None = None) -> I64:
    """Return weighted gradients and Hessians as integers; ``factors`` as for ``choose_scale``.

    Returns
    -------
    int64 array, shape (n_rows, 2)
        Quanta of gradient and Hessian; a row with weight has a Hessian of at least 1 quantum.
        Where rows are counted, sums of them tell the number of such rows.
    """
    seen = np.ones(g.size, np.bool_)
    if factors is not None:
        g, h, seen = finite(g * factors), finite(h * factors), factors != 0
    quanta = np.stack([to_quanta(g, scale.g), np.maximum(to_quanta(h, scale.h), seen)], axis=1)
    if weight is not None:
        quanta = weigh(quanta, weight[:, None])
        seen &= weight > 0
        quanta[:, 1] = np.where(seen, np.maximum(quanta[:, 1], 1), quanta[:, 1])
    return on_grid(quanta, seen, scale.count_bits) if scale.count_bits else quanta


def sum_of_squares(quanta: I64) -> int:
    """Return the sum of squares of gradients in units of 2^9 quanta, at most 32767 of them each."""
    sizes = np.minimum(np.abs(quanta[:, 0]) >> 9, 32767)
    return int((sizes * sizes).sum())


def words(quanta: I64) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Return (low, high) with quanta = high * 2^32 + low; both are signed."""
    low = quanta.astype(np.int32)
    return low, ((quanta - low) >> 32).astype(np.int32)
