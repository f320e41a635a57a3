"""Metrics of bounded times that are means over rows, as kernels compute them.

``p`` is the logarithm of the predicted time. ``y`` and ``u`` are the logarithms of the lower and
the upper bound, ``y_rest`` and ``u_rest`` their rounding errors, see ``log_pairs``.
"""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.metrics.formulas import log64
from pyopencl_gbdt.metrics.row_losses import F32, LossOfRow, RowLoss
from pyopencl_gbdt.numerics.expressions import (
    Number,
    Term,
    at_least,
    at_most,
    clamped,
    decay,
    exp,
    log,
    log1p,
    mills_right,
    minus_log_decay,
    size_of,
    where,
)
from pyopencl_gbdt.objectives.survival import mean_of_density

#: The logarithm that stands for a missing bound, and the largest loss of a row: -ln 1e-12.
_FAR, _MOST = np.float32(1e35), 27.6310211
_HALF_LOG_TWO_PI, _PER_ROOT_TWO_PI = 0.918938533, 0.39894228
_LIMITS = {"normal": (-3e4, 3e4), "logistic": (-1e3, 1e3), "extreme": (-1e3, 60.0)}


def log_pairs(lower: F32, upper: F32) -> F32:
    """Return the logarithms of bounds as pairs of floats, float32 (4, n_rows).

    The order is: lower bound, its rounding error, upper bound, its rounding error. Logarithms of
    0 and infinity are -1e35 and 1e35.
    """
    pairs = []
    for bound, far in ((lower, -_FAR), (upper, _FAR)):
        there = (bound > 0) & (bound < np.inf)
        ln = log64(np.where(there, bound, 1).astype(np.float64))
        high = ln.astype(np.float32)
        pairs += [np.where(there, high, far), np.where(there, (ln - high).astype(np.float32), 0)]
    return np.array(pairs, np.float32)


def _within(p: Number, y: Number, y_rest: Number, u: Number, u_rest: Number) -> Term:
    above = (p > y) | (p.equals(y) & (y_rest <= 0))
    below = (p < u) | (p.equals(u) & (u_rest >= 0))
    return where(above & below, 1, 0)


ACCURACY = LossOfRow(_within, bounds=True)


def nloglik(distribution: str = "normal", scale: float = 1.0) -> RowLoss:
    """Return the negative log likelihood of accelerated failure times, as a loss per row.

    Parameters
    ----------
    distribution : {"normal", "logistic", "extreme"}
    """
    kept = float(np.float32(scale))
    inverse, limits = 1.0 / kept, _LIMITS[distribution]
    log_scale = float(log64(np.array([kept]))[0])
    shares = {"normal": _normal, "logistic": _logistic, "extreme": _extreme}[distribution]

    def of_row(p: Number, y: Number, y_rest: Number, u: Number, u_rest: Number) -> Term:
        d_l, d_u = (y - p) + y_rest, (u - p) + u_rest
        z_l, z_u = (clamped(clamped(d, -_FAR, _FAR) * inverse, *limits) for d in (d_l, d_u))
        width = clamped((u - y) + (u_rest - y_rest), 0, _FAR) * inverse
        known = u.equals(y) & u_rest.equals(y_rest)
        density, share = shares(z_l, z_u, where(known, 1, clamped(width, 0, 1e5)))
        return at_most(where(known, density + (y + log_scale), share), _MOST)

    return LossOfRow(of_row, bounds=True)


def _normal(z_l: Number, z_u: Number, w: Number) -> tuple[Number, Number]:
    """Return -ln of the density at z_l and of the probability between the bounds, w apart."""
    density = (0.5 * z_l) * z_l + _HALF_LOG_TWO_PI
    turned = z_l + z_u < 0
    a, b = where(turned, -z_u, z_l), where(turned, -z_l, z_u)
    square_a, square_b = (0.5 * a) * a, (0.5 * b) * b
    y = (0.5 * (a + b)) * w
    near = (w < 1) & (y < 1)
    right_a, right_b = mills_right(size_of(a)), mills_right(size_of(b))
    far_mean = right_a - exp(-y) * right_b
    mean = where(near, lambda: w * mean_of_density(a, w), far_mean)
    tails = exp(-square_a) * right_a + exp(-square_b) * right_b
    beside = (square_a + _HALF_LOG_TWO_PI) - log(mean)
    around = ~near & (a < 0)
    return density, where(around, lambda: -log1p(-(tails * _PER_ROOT_TWO_PI)), beside)


def _logistic(z_l: Number, z_u: Number, w: Number) -> tuple[Number, Number]:
    size = size_of(z_l)
    rest = log1p(exp(-size))
    above = log1p(exp(-size_of(z_u))) + at_least(-z_u, 0)
    below = rest + at_least(z_l, 0)
    return size + 2 * rest, (above + below) + minus_log_decay(w)


def _extreme(z_l: Number, z_u: Number, w: Number) -> tuple[Number, Number]:
    w_l = exp(z_l)
    return w_l - z_l, w_l + minus_log_decay(exp(z_u) * decay(w))
