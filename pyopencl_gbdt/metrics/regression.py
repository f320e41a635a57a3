"""Regression metrics: functions of the difference between label and prediction.

Each takes float32 arrays of shape (n_rows,) and weights or None, and returns a float64. XGBoost
3.2, ``src/metric/elementwise_metric.cu``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]


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


def quantiles(
    label: F32, prediction: F32, weight: F32 | None = None, numbers: tuple[float, ...] = (0.5,)
) -> float:
    """Return the mean of ``quantile`` over several numbers; predictions (n_numbers, n_rows)."""
    pairs = zip(prediction, numbers, strict=True)
    return float(np.mean([quantile(label, own, weight, number) for own, number in pairs]))
