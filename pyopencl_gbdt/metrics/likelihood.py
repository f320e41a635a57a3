"""Negative log-likelihoods and deviances of counts and positive amounts.

Each takes float32 arrays of shape (n_rows,) and weights or None, and returns a float64. XGBoost
3.2, ``src/metric/elementwise_metric.cu``, including its constants that keep logarithms finite.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
_HALF_LOG_TWO_PI = 0.9189385332046727


def poisson_nloglik(label: F32, prediction: F32, weight: F32 | None = None) -> float:
    """Return the mean of ``ln(label!) + p - label ln p``; p is at least 1e-16."""
    y, p = label.astype(np.float64), np.maximum(prediction.astype(np.float64), 1e-16)
    return float(np.average(log_gamma(y + 1.0) + p - y * np.log(p), weights=weight))


def gamma_nloglik(label: F32, prediction: F32, weight: F32 | None = None) -> float:
    """Return the mean of ``label / p + ln p`` (shape 1); p is at least 1e-6."""
    p = np.maximum(prediction.astype(np.float64), 1e-6)
    return float(np.average(label / p + np.log(p), weights=weight))


def gamma_deviance(label: F32, prediction: F32, weight: F32 | None = None) -> float:
    """Return twice the mean of ``ln(p / y) + y / p - 1``; 1e-6 is added to p and y."""
    y, p = label.astype(np.float64) + 1e-6, prediction.astype(np.float64) + 1e-6
    return 2.0 * float(np.average(np.log(p / y) + y / p - 1.0, weights=weight))


def tweedie_nloglik(
    label: F32, prediction: F32, weight: F32 | None = None, number: float = 1.5
) -> float:
    """Return the mean of ``p^(2 - rho) / (2 - rho) - y p^(1 - rho) / (1 - rho)``; rho: ``number``.

    At rho 1, where XGBoost's metric is infinite, this is the limit without the infinite constant,
    ``p - y ln p``. Predictions below 1e-30 count as 1e-30, so that it is finite.
    """
    y, p = label.astype(np.float64), np.maximum(prediction.astype(np.float64), 1e-30)
    if number == 1.0:
        return float(np.average(p - y * np.log(p), weights=weight))
    one, two = 1.0 - number, 2.0 - number
    log_p = np.log(p)
    loss = np.exp(two * log_p) / two - y * np.exp(one * log_p) / one
    return float(np.average(loss, weights=weight))


def log_gamma(z: F64) -> F64:
    """Return ln of the gamma function for z >= 1, within 1e-12 relative to max(1, result).

    Stirling's series at z + 7 (Abramowitz and Stegun 6.1.41), then the recurrence down to z.
    """
    product = z.copy()
    for step in range(1, 7):
        product *= z + step
    x = z + 7.0
    r = 1.0 / (x * x)
    series = (1 / 12 - r * (1 / 360 - r * (1 / 1260 - r * (1 / 1680 - r / 1188)))) / x
    stirling = (x - 0.5) * log64(x) - x + _HALF_LOG_TWO_PI + series
    result: F64 = stirling - log64(product)
    return result


def log64(x: F64) -> F64:
    """Return ln x of finite x > 0, within 2e-16 relative to max(1, |result|).

    The bits are the same on every machine, unlike NumPy's: it uses only IEEE 754 operations, in a
    fixed order. With s = (m - 1) / (m + 1), ln m = 2 (s + s^3 / 3 + s^5 / 5 + ...).
    """
    mantissa, exponent = np.frexp(x)
    low = mantissa < 0.7071067811865476
    mantissa, exponent = np.where(low, 2.0 * mantissa, mantissa), exponent - low
    s = (mantissa - 1.0) / (mantissa + 1.0)
    z = s * s
    series = np.full_like(z, 1 / 23)
    for odd in range(21, 0, -2):
        series = series * z + 1 / odd
    result: F64 = exponent * 0.6931471805599453 + 2.0 * s * series
    return result
