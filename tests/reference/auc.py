"""Twin of ``evaluation.auc``: areas under curves as sums of integers."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.exact_sums import PRECISION_BITS, signed_weights
from pyopencl_gbdt.numerics.portable_loss import minus_log1p
from pyopencl_gbdt.numerics.portable_math import df_from_i64, portable_log1p, reciprocal, to_quanta

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
_f = np.float32
_MASK = (1 << 32) - 1


def vertices(prediction: F32, signed: I64) -> tuple[I64, I64]:
    """Return cumulative weights of labels 1 and 0 at each distinct prediction, starting with 0."""
    order = np.argsort(prediction, kind="stable")
    ends = np.flatnonzero(np.r_[np.diff(prediction[order]) != 0, True])
    sums = [np.cumsum(np.maximum(sign * signed[order], 0))[ends] for sign in (1, -1)]
    positive, negative = (np.concatenate([[0], part]) for part in sums)
    return positive, negative


def roc_factors(positive: I64, negative: I64) -> tuple[I64, I64]:
    """Return two factors whose product is twice a trapezium's area under the ROC curve."""
    return np.diff(positive), negative[1:] + negative[:-1]


def pr_factors(positive: I64, negative: I64) -> tuple[I64, I64]:
    """Return the weight of labels 1, and the mean precision in 2^-60, of each piece of the curve.

    A piece leads from t of t + f rows to t + dt of t + f + ds, as the threshold falls. With
    s = t + f, the precision at a share x of the piece is ``(t + x dt) / (s + x ds)``. With
    u = ds / s its mean is ``(t L(u) + dt M(u)) / s``, where L(u) = ln(1 + u) / u and
    M(u) = (u - ln(1 + u)) / u^2.
    """
    t1, f1 = positive[-1] - positive[:-1], negative[-1] - negative[:-1]
    t0, f0 = positive[-1] - positive[1:], negative[-1] - negative[1:]
    s0, s1, dt, ds = t0 + f0, t1 + f1, t1 - t0, (t1 + f1) - (t0 + f0)
    t, grown, steps = (df_from_i64(part)[0] for part in (t0, dt, ds))
    per = reciprocal(df_from_i64(np.maximum(s0, 1))[0])
    u = np.maximum(steps, _f(1.0)) * per
    per_u = reciprocal(u)
    of_t = portable_log1p(u) * per_u
    of_dt = np.where(u < _f(2.0**-40), _f(0.5), (minus_log1p(u) * per_u) * per_u)
    precision = (t * per) * of_t + (grown * per) * of_dt
    first = grown * reciprocal(np.maximum(steps, _f(1.0)))
    precision = np.where(s0 == 0, first, precision)
    precision = np.where((t1 == s1) | (precision > 1), _f(1.0), precision)
    return dt, to_quanta(precision.astype(np.float32), PRECISION_BITS)


def product_words(a: I64, b: I64) -> I64:
    """Return the sum of products as 32-bit limbs, lowest first; factors are below 2^63."""
    (a0, a1), (b0, b1) = (((x & _MASK).astype(np.uint64), x >> 32) for x in (a, b))
    a1, b1 = a1.astype(np.uint64), b1.astype(np.uint64)
    mask, half = np.uint64(_MASK), np.uint64(32)
    p00, p01, p10, p11 = a0 * b0, a0 * b1, a1 * b0, a1 * b1
    middle = (p00 >> half) + (p01 & mask) + (p10 & mask)
    upper = p11 + (p01 >> half) + (p10 >> half) + (middle >> half)
    limbs = (p00 & mask, middle & mask, upper & mask, upper >> half)
    return np.array([limb.sum(dtype=np.uint64) for limb in limbs]).astype(np.int64)


def area_words(curve: str, prediction: F32, label: F32, weight: F32 | None) -> I64:
    """Return the limbs of an area.

    Parameters
    ----------
    curve : {"auc", "aucpr"}
    prediction, label, weight : float32 array, shape (n_rows,)
        Labels 0 and 1; the weight may be None.
    """
    corners = vertices(prediction, signed_weights(label, weight))
    factors = roc_factors(*corners) if curve == "auc" else pr_factors(*corners)
    return product_words(*factors)
