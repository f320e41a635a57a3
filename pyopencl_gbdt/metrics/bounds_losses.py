"""Metrics of bounded times that are means over rows, as kernels compute them, with host twins.

``y`` is the logarithm of the lower bound. ``labels`` holds the logarithms of both bounds, each as
two floats, see ``log_pairs``. ``p`` is the logarithm of the predicted time.
"""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.metrics.likelihood import log64
from pyopencl_gbdt.metrics.row_loss import F32, RowLoss
from pyopencl_gbdt.numerics.expressions import literal
from pyopencl_gbdt.numerics.portable_log import portable_log, portable_log1p
from pyopencl_gbdt.numerics.portable_math import portable_exp
from pyopencl_gbdt.numerics.portable_survival import decay, mills_right, minus_log_decay

_f = np.float32
#: The logarithm that stands for a missing bound, and the largest loss of a row: -ln 1e-12.
_FAR, _MOST = _f(1e35), _f(27.6310211)
_HALF_LOG_TWO_PI, _PER_ROOT_TWO_PI = _f(0.918938533), _f(0.39894228)
_LIMITS = {"normal": (-3e4, 3e4), "logistic": (-1e3, 1e3), "extreme": (-1e3, 60.0)}
#: Gauss-Legendre quadrature with five points on 0..1, as in ``templates/aft.cl.mako``.
_NODES = tuple(map(_f, (0.0469100773, 0.230765343, 0.5, 0.769234657, 0.953089952)))
_WEIGHTS = tuple(map(_f, (0.118463442, 0.239314333, 0.284444451, 0.239314333, 0.118463442)))


def log_pairs(lower: F32, upper: F32) -> F32:
    """Return the logarithms of bounds as pairs of floats, float32 (4, n_rows).

    The order is: lower bound, its rounding error, upper bound, its rounding error. Logarithms of
    0 and infinity are -1e35 and 1e35.
    """
    pairs = []
    for bound, far in ((lower, -_FAR), (upper, _FAR)):
        there = (bound > 0) & (bound < np.inf)
        log = log64(np.where(there, bound, _f(1)).astype(np.float64))
        high = log.astype(np.float32)
        pairs += [np.where(there, high, far), np.where(there, (log - high).astype(np.float32), 0)]
    return np.array(pairs, np.float32)


def _within(p: F32, bounds: F32, unit: np.float32) -> F32:
    low, low_rest, high, high_rest = bounds
    above = (p > low) | ((p == low) & (low_rest <= 0))
    below = (p < high) | ((p == high) & (high_rest >= 0))
    within: F32 = (above & below).astype(np.float32)
    return within


ACCURACY = RowLoss(
    "const f32 y_rest = labels[(u64)n_rows + row], u = labels[2 * (u64)n_rows + row]; "
    "const f32 u_rest = labels[3 * (u64)n_rows + row]; "
    "const int above = p > y || (p == y && y_rest <= 0.0f); "
    "const int below = p < u || (p == u && u_rest >= 0.0f); loss = above && below ? 1.0f : 0.0f;",
    _within,
    bounds=True,
)

#: Distances in scales: from the prediction to each bound, and between the bounds.
_DISTANCES = (
    "const f32 y_rest = labels[(u64)n_rows + row], u = labels[2 * (u64)n_rows + row]; "
    "const f32 u_rest = labels[3 * (u64)n_rows + row]; "
    "const f32 d_l = (y - p) + y_rest; const f32 d_u = (u - p) + u_rest; "
    "const f32 d_w = (u - y) + (u_rest - y_rest); "
    "f32 z_l = clamped(d_l, -1e35f, 1e35f) * SCALE; z_l = clamped(z_l, LOW, HIGH); "
    "f32 z_u = clamped(d_u, -1e35f, 1e35f) * SCALE; z_u = clamped(z_u, LOW, HIGH); "
    "f32 w = clamped(d_w, 0.0f, 1e35f) * SCALE; w = clamped(w, 0.0f, 1e5f); "
    "const int known = u == y && u_rest == y_rest; if (known) w = 1.0f; "
)
#: Statements that set ``density``, -ln of the density at z_l, and ``share``, -ln of the
#: probability between the bounds.
_KERNELS = {
    "normal": (
        "const f32 half_z = 0.5f * z_l; const f32 square = half_z * z_l; "
        f"const f32 density = square + {literal(_HALF_LOG_TWO_PI)}; "
        "const int turned = z_l + z_u < 0.0f; "
        "const f32 a = turned ? -z_u : z_l; const f32 b = turned ? -z_l : z_u; "
        "const f32 half_a = 0.5f * a; const f32 square_a = half_a * a; "
        "const f32 half_b = 0.5f * b; const f32 square_b = half_b * b; "
        "const f32 middle = 0.5f * (a + b); const f32 y_ab = middle * w; "
        "const int near = w < 1.0f && y_ab < 1.0f; "
        "const f32 right_a = mills_right(a < 0.0f ? -a : a); "
        "const f32 right_b = mills_right(b < 0.0f ? -b : b); "
        "const f32 less = portable_exp(-y_ab) * right_b; f32 mean = right_a - less; "
        "if (near) { const f32 half_w = 0.5f * w; mean = 0.0f; QUADRATURE mean = w * mean; } "
        "const f32 tail_a = portable_exp(-square_a) * right_a; "
        "const f32 tail_b = portable_exp(-square_b) * right_b; "
        f"const f32 tails = (tail_a + tail_b) * {literal(_PER_ROOT_TWO_PI)}; "
        f"const f32 beside = (square_a + {literal(_HALF_LOG_TWO_PI)}) - portable_log(mean); "
        "const int around = !near && a < 0.0f; "
        "const f32 share = around ? -portable_log1p(around ? -tails : 0.0f) : beside; "
    ),
    "logistic": (
        "const f32 size = z_l < 0.0f ? -z_l : z_l; "
        "const f32 rest = 2.0f * portable_log1p(portable_exp(-size)); "
        "const f32 density = size + rest; "
        "const f32 size_u = z_u < 0.0f ? -z_u : z_u; "
        "const f32 above = portable_log1p(portable_exp(-size_u)) + (z_u < 0.0f ? -z_u : 0.0f); "
        "const f32 below = portable_log1p(portable_exp(-size)) + (z_l > 0.0f ? z_l : 0.0f); "
        "const f32 share = (above + below) + minus_log_decay(w); "
    ),
    "extreme": (
        "const f32 w_l = portable_exp(z_l); const f32 density = w_l - z_l; "
        "const f32 d = portable_exp(z_u) * decay(w); "
        "const f32 share = w_l + minus_log_decay(d); "
    ),
}
_QUADRATURE = " ".join(
    f"{{ const f32 x = w * {literal(node)}; const f32 bend = half_w * {literal(node)}; "
    f"const f32 slope = a + bend; const f32 part = {literal(weight)} * portable_exp(-(x * slope)); "
    "mean = mean + part; }"
    for node, weight in zip(_NODES, _WEIGHTS, strict=True)
)


def nloglik(distribution: str, scale: float) -> RowLoss:
    """Return the negative log likelihood of accelerated failure times, as a loss per row.

    Parameters
    ----------
    distribution : {"normal", "logistic", "extreme"}
    scale : float
    """
    inverse = _f(1.0 / float(_f(scale)))
    low, high = map(_f, _LIMITS[distribution])
    log_scale = _f(log64(np.array([float(_f(scale))]))[0])
    shares = {"normal": _normal, "logistic": _logistic, "extreme": _extreme}[distribution]

    def twin(p: F32, bounds: F32, unit: np.float32) -> F32:
        y, y_rest, u, u_rest = bounds
        differences = ((y - p) + y_rest, (u - p) + u_rest)
        z_l, z_u = (
            np.clip(np.clip(d, -_FAR, _FAR) * inverse, low, high).astype(_f) for d in differences
        )
        w = np.clip((u - y) + (u_rest - y_rest), _f(0), _FAR) * inverse
        w, known = np.clip(w, _f(0), _f(1e5)), (u == y) & (u_rest == y_rest)
        density, share = shares(z_l, z_u, np.where(known, _f(1), w))
        loss = np.where(known, density + (y + log_scale), share)
        least: F32 = np.minimum(loss, _MOST)
        return least

    words = {"SCALE": inverse, "LOW": low, "HIGH": high}
    kernel = _DISTANCES
    for word, number in words.items():
        kernel = kernel.replace(word, literal(number))
    kernel += _KERNELS[distribution].replace("QUADRATURE", _QUADRATURE)
    kernel += (
        f"const f32 log_time = y + {literal(log_scale)}; "
        "const f32 either = known ? density + log_time : share; "
        f"loss = either > {literal(_MOST)} ? {literal(_MOST)} : either;"
    )
    return RowLoss(kernel, twin, bounds=True)


def _normal(z_l: F32, z_u: F32, w: F32) -> tuple[F32, F32]:
    density = (_f(0.5) * z_l) * z_l + _HALF_LOG_TWO_PI
    turned = z_l + z_u < 0
    a, b = np.where(turned, -z_u, z_l), np.where(turned, -z_l, z_u)
    square_a, square_b = (_f(0.5) * a) * a, (_f(0.5) * b) * b
    y = (_f(0.5) * (a + b)) * w
    near = (w < 1) & (y < 1)
    right_a, right_b = mills_right(np.abs(a)), mills_right(np.abs(b))
    mean = np.where(near, w * _mean(a, w), right_a - portable_exp(-y) * right_b)
    tails = portable_exp(-square_a) * right_a + portable_exp(-square_b) * right_b
    around = ~near & (a < 0)
    inside = -portable_log1p(np.where(around, -(tails * _PER_ROOT_TWO_PI), _f(0)))
    return density, np.where(around, inside, (square_a + _HALF_LOG_TWO_PI) - portable_log(mean))


def _mean(a: F32, w: F32) -> F32:
    """Return the mean of phi(x) / phi(a) for x between a and a + w."""
    mean = np.zeros_like(a)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        slope = a + (_f(0.5) * w) * node
        mean = mean + weight * portable_exp(-((w * node) * slope))
    return mean


def _logistic(z_l: F32, z_u: F32, w: F32) -> tuple[F32, F32]:
    rest = portable_log1p(portable_exp(-np.abs(z_l)))
    above = portable_log1p(portable_exp(-np.abs(z_u))) + np.maximum(-z_u, _f(0))
    below = rest + np.maximum(z_l, _f(0))
    return np.abs(z_l) + _f(2) * rest, (above + below) + minus_log_decay(w)


def _extreme(z_l: F32, z_u: F32, w: F32) -> tuple[F32, F32]:
    w_l = portable_exp(z_l)
    return w_l - z_l, w_l + minus_log_decay(portable_exp(z_u) * decay(w))
