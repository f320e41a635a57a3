"""Metrics as NumPy functions: of numbers, classes, counts, amounts, and times to an event.

Each takes float32 labels, predictions of shape (n_rows,), or (n_classes, n_rows) for several
classes, and weights or None, and returns a float64. XGBoost 3.2, ``elementwise_metric.cu``,
``multiclass_metric.cu`` and ``survival_metric.cu`` in ``src/metric``, including the constants that
keep logarithms finite.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from pyopencl_gbdt.data.dataset import Dataset


F32 = npt.NDArray[np.float32]


def logloss(label: F32, prediction: F32, weight: F32 | None = None) -> float:
    """Return the (weighted) mean cross-entropy; arguments of logarithms are at least 1e-16."""
    p = prediction.astype(np.float64)
    other = np.where(p < 1.0, np.log1p(-np.minimum(p, 0.9999999999999999)), np.log(1e-16))
    loss = -(label * np.log(np.maximum(p, 1e-16)) + (1.0 - label) * other)
    return float(np.average(loss, weights=weight))


def error(label: F32, prediction: F32, weight: F32 | None = None, number: float = 0.5) -> float:
    """Return the share of misclassified rows; predictions above ``number`` mean label 1."""
    y = label.astype(np.float64)
    return float(np.average(np.where(prediction > number, 1.0 - y, y), weights=weight))


def mlogloss(label: F32, prediction: F32, weight: F32 | None = None) -> float:
    """Return the (weighted) mean of -ln p; p of the row's class is at least 1e-16."""
    own = prediction[label.astype(np.intp), np.arange(label.size)].astype(np.float64)
    return float(np.average(-np.log(np.maximum(own, 1e-16)), weights=weight))


def merror(label: F32, prediction: F32, weight: F32 | None = None) -> float:
    """Return the share of rows with a wrong most probable class; of equals, the first counts."""
    wrong = np.argmax(prediction, axis=0) != label
    return float(np.average(wrong, weights=weight))


def rmse(label: F32, prediction: F32, weight: F32 | None = None) -> float:
    """Return the root of the (weighted) mean squared difference."""
    difference = prediction.astype(np.float64) - label
    return float(np.sqrt(np.average(difference * difference, weights=weight)))


def rmsle(label: F32, prediction: F32, weight: F32 | None = None) -> float:
    """Return the root mean squared difference of ln(1 + x); NaN if a prediction is below -1."""
    with np.errstate(invalid="ignore", divide="ignore"):
        difference = np.log1p(prediction.astype(np.float64)) - np.log1p(label.astype(np.float64))
    return float(np.sqrt(np.average(difference * difference, weights=weight)))


def mae(label: F32, prediction: F32, weight: F32 | None = None) -> float:
    """Return the mean absolute difference."""
    return float(np.average(np.abs(prediction.astype(np.float64) - label), weights=weight))


def mape(label: F32, prediction: F32, weight: F32 | None = None) -> float:
    """Return the mean of |label - prediction| / |label|; infinite or NaN if a label is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.abs((prediction.astype(np.float64) - label) / label)
    return float(np.average(share, weights=weight))


def mphe(label: F32, prediction: F32, weight: F32 | None = None, number: float = 1.0) -> float:
    """Return the mean pseudo-Huber loss; ``number`` is the slope."""
    z = (prediction.astype(np.float64) - label) / number
    return float(np.average(number * number * (np.sqrt(1.0 + z * z) - 1.0), weights=weight))


def quantile(label: F32, prediction: F32, weight: F32 | None = None, number: float = 0.5) -> float:
    """Return the mean pinball loss; ``number`` is the quantile (Koenker and Bassett 1978)."""
    difference = label.astype(np.float64) - prediction
    loss = np.where(difference >= 0, number * difference, (number - 1.0) * difference)
    return float(np.average(loss, weights=weight))


def expectile(label: F32, prediction: F32, weight: F32 | None = None, number: float = 0.5) -> float:
    """Return the mean of ``w (p - label)^2``; w is ``number`` below the label, else 1 - number."""
    difference = prediction.astype(np.float64) - label
    loss = np.where(difference >= 0, 1.0 - number, number) * difference * difference
    return float(np.average(loss, weights=weight))


def mean_over_numbers(
    label: F32,
    prediction: F32,
    weight: F32 | None = None,
    *,
    function: Callable[..., float],
    numbers: tuple[float, ...],
) -> float:
    """Return a metric's mean over several numbers; predictions (n_numbers, n_rows)."""
    pairs = zip(prediction, numbers, strict=True)
    return float(np.mean([function(label, own, weight, number) for own, number in pairs]))


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


def cox_nloglik(label: F32, prediction: F32, weight: F32 | None = None) -> float:
    """Return the negative log partial likelihood of hazards per event; NaN without events.

    Labels are those of ``survival:cox``. Weights are ignored, as in XGBoost 3.2
    (``src/metric/rank_metric.cc``).
    """
    times = np.abs(label)
    order = np.argsort(times, kind="stable")
    hazard, times = prediction[order].astype(np.float64), times[order]
    event = label[order] > 0
    if not event.any():
        return float("nan")
    at_risk = np.cumsum(hazard[::-1])[::-1][np.searchsorted(times, times)]
    with np.errstate(divide="ignore"):
        return float(np.mean(np.log(at_risk[event]) - np.log(hazard[event])))


def aft_nloglik(
    margin: F32, rows: Dataset, distribution: str = "normal", scale: float = 1.0
) -> float:
    """Return the mean negative log likelihood of bounds, for logarithms of times (margins).

    XGBoost 3.2, ``src/common/survival_util.h``; likelihoods are at least 1e-12.
    """
    lower, upper = (np.asarray(bound, np.float64) for bound in rows.bounds)
    density, share = _DISTRIBUTIONS[distribution]
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        m = margin.astype(np.float64)
        z_l, z_u = (np.log(lower) - m) / scale, (np.log(upper) - m) / scale
        known = density(z_l) / (scale * lower)
        likelihood = np.where(lower == upper, known, share(z_u) - share(z_l))
        loss = -np.log(np.maximum(likelihood, 1e-12))
    return float(np.average(loss, weights=rows.weight))


def interval_regression_accuracy(margin: F32, rows: Dataset) -> float:
    """Return the share of rows whose predicted time, e^margin, is within the bounds.

    XGBoost 3.2, ``src/metric/survival_metric.cu``.
    """
    lower, upper = rows.bounds
    time = np.exp(margin.astype(np.float64))
    return float(np.average((time >= lower) & (time <= upper), weights=rows.weight))


def _normal_density(z: F64) -> F64:
    density: F64 = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
    return density


def _normal_share(z: F64) -> F64:
    return np.fromiter(map(math.erfc, (-z / math.sqrt(2)).tolist()), np.float64, z.size) / 2


def _logistic_share(z: F64) -> F64:
    share: F64 = 1 / (1 + np.exp(-z))
    return share


def _extreme_share(z: F64) -> F64:
    share: F64 = -np.expm1(-np.exp(z))
    return share


#: Density and cumulative distribution function, by name.
_DISTRIBUTIONS: dict[str, tuple[Callable[[F64], F64], Callable[[F64], F64]]] = {
    "normal": (_normal_density, _normal_share),
    "logistic": (lambda z: _logistic_share(z) * _logistic_share(-z), _logistic_share),
    "extreme": (lambda z: np.exp(z - np.exp(z)), _extreme_share),
}
