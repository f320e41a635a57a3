"""Metrics of probabilities of label 1.

Each takes float32 arrays of shape (n_rows,) and weights or None, and returns a float64. XGBoost
3.2, ``src/metric/elementwise_metric.cu``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]


def logloss(label: F32, prediction: F32, weight: F32 | None = None) -> float:
    """Return the (weighted) mean cross-entropy; logarithms are taken of 1e-16 at least."""
    p = prediction.astype(np.float64)
    other = np.where(p < 1.0, np.log1p(-np.minimum(p, 0.9999999999999999)), np.log(1e-16))
    loss = -(label * np.log(np.maximum(p, 1e-16)) + (1.0 - label) * other)
    return float(np.average(loss, weights=weight))


def error(label: F32, prediction: F32, weight: F32 | None = None, number: float = 0.5) -> float:
    """Share of rows on the wrong side; predictions above ``number`` stand for label 1."""
    y = label.astype(np.float64)
    return float(np.average(np.where(prediction > number, 1.0 - y, y), weights=weight))
