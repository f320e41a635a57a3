"""Quantiles of distributions with a parameter for each row, in float64, on the host.

They end in NumPy's logarithms and exponentials, so their last digits may differ between machines.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

F64 = npt.NDArray[np.float64]
#: From this shape on the cube root of a gamma number is normal, within 1e-5 of its quantile.
_CUBIC = 1000.0
#: Terms of a series or fraction end at this share of the sum, or after so many.
_SMALL, _MOST_TERMS = 1e-12, 5000
_HALVINGS = 48
#: Counts above the first have a gamma distribution, within 1e-5, where mean / size is above the
#: second: the Poisson distribution adds little to the gamma distribution of its mean.
_MANY, _WIDE = 1e5, 1e6


def normal_quantile(level: float) -> float:
    """Return the quantile of the normal distribution with mean 0 and deviation 1."""
    from statistics import NormalDist  # imports fractions and decimals

    return NormalDist().inv_cdf(level)


def gamma_quantile(shape: F64, level: float) -> F64:
    """Return the quantiles of gamma distributions of scale 1; relative error below 1e-5.

    Parameters
    ----------
    shape : float64 array, shape (n_rows,)
        Above 0.
    level : float
        Above 0, below 1.
    """
    low = np.full_like(shape, -100.0)  # logarithms
    high = np.log(shape + 12 * np.sqrt(shape) + 60)
    few = shape < _CUBIC
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        below = np.zeros(shape.shape, np.bool_)
        below[few] = gamma_share(shape[few], np.exp(middle[few])) < level
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    ninth = 1 / (9 * shape)  # Wilson and Hilferty 1931
    root = np.maximum(1 - ninth + normal_quantile(level) * np.sqrt(ninth), 0)
    found: F64 = np.where(few, np.exp(high), shape * root**3)
    return found


def negative_binomial_quantile(mean: F64, size: F64, level: float) -> F64:
    """Return the quantiles: the least counts whose share of smaller and equal ones is ``level``.

    Parameters
    ----------
    mean, size : float64 array, shape (n_rows,)
        Above 0.
    level : float
        Above 0, below 1.
    """
    share, rest = size / (size + mean), mean / (size + mean)
    low = np.full_like(mean, -1.0)  # not a quantile
    high = np.ceil(mean + (12 * np.sqrt(mean) + 60) * np.sqrt(1 + mean / size) + 60 * mean / size)
    wide = np.flatnonzero(mean / size > _WIDE)
    smooth = np.ceil(mean[wide] / size[wide] * gamma_quantile(size[wide], level))
    many = smooth > _MANY
    low[wide[many]] = smooth[many]
    high[wide] = np.where(many, smooth, np.minimum(high[wide], 2 * _MANY))
    while True:
        middle = np.floor((low + high) / 2)
        rows = np.flatnonzero((low < middle) & (middle < high))  # above 2^53 not all integers exist
        if not rows.size:
            return np.asarray(high)
        middle = middle[rows]
        enough = beta_share(size[rows], middle + 1, share[rows], rest[rows]) >= level
        low[rows] = np.where(enough, low[rows], middle)
        high[rows] = np.where(enough, middle, high[rows])


def gamma_share(shape: F64, x: F64) -> F64:
    """Return the share of a gamma distribution of scale 1 below x: Abramowitz and Stegun 6.5."""
    factor = np.exp(shape * np.log(x) - x - log_gamma(shape))
    near = x < shape + 1
    term = 1 / shape
    total, rising = term, shape
    for _ in range(_MOST_TERMS):  # 6.5.29
        rising = rising + 1
        term = np.where(near, term * x / rising, 0)
        total = total + term
        if (term <= _SMALL * total).all():
            break
    b = x + 1 - shape
    d = 1 / _off_zero(b)
    c, fraction = np.full_like(x, 1e300), d
    for n in range(1, _MOST_TERMS):  # 6.5.31 by Lentz's method
        a = n * (shape - n)
        b = b + 2
        d = 1 / _off_zero(a * d + b)
        c = _off_zero(b + a / c)
        step = c * d
        fraction = np.where(near, fraction, fraction * step)
        if (near | (np.abs(step - 1) < _SMALL)).all():
            break
    return np.where(near, factor * total, 1 - factor * fraction)


def beta_share(a: F64, b: F64, x: F64, rest: F64) -> F64:
    """Return the regularised incomplete beta function: Abramowitz and Stegun 26.5.8.

    ``rest`` is ``1 - x``, which has more digits than the difference where x is near 1.
    """
    turned = x > (a + 1) / (a + b + 2)
    a, b = np.where(turned, b, a), np.where(turned, a, b)
    x, rest = np.where(turned, rest, x), np.where(turned, x, rest)
    front = log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * _log(x, rest) + b * _log(rest, x)
    c = np.ones_like(x)
    d = 1 / _off_zero(1 - (a + b) * x / (a + 1))
    fraction = d
    for n in range(1, _MOST_TERMS):
        even = n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n))
        odd = -(a + n) * (a + b + n) * x / ((a + 2 * n) * (a + 2 * n + 1))
        step: Any = 1.0
        for one in (even, odd):
            d = 1 / _off_zero(1 + one * d)
            c = _off_zero(1 + one / c)
            step = step * (c * d)
        fraction = fraction * step
        if (np.abs(step - 1) < _SMALL).all():
            break
    found = np.exp(front) * fraction / a
    return np.where(turned, 1 - found, found)


def log_gamma(x: F64) -> F64:
    """Return ln gamma(x) for x above 0: Stirling's series of x + 8, then the recurrence."""
    far = x + 8
    z = 1 / (far * far)
    series: Any = 1 / 1188
    for coefficient in (-1 / 1680, 1 / 1260, -1 / 360, 1 / 12):
        series = series * z + coefficient
    total = (far - 0.5) * np.log(far) - far + 0.9189385332046727 + series / far
    for k in range(8):
        total = total - np.log(x + k)
    return np.asarray(total, np.float64)


def _log(x: F64, rest: F64) -> F64:
    """Return ln x; ``rest`` is ``1 - x``."""
    return np.where(x < 0.5, np.log(x), np.log1p(-np.minimum(rest, 0.5)))


def _off_zero(x: F64) -> F64:
    return np.where(np.abs(x) < 1e-300, 1e-300, x)
