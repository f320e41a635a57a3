"""Metrics of probabilities: of label 1, or of every class.

Each takes float32 arrays of shape (n_rows,), those of several classes probabilities of shape
(n_classes, n_rows), and weights or None, and returns a float64. XGBoost 3.2,
``src/metric/elementwise_metric.cu`` and ``multiclass_metric.cu``.
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


def mlogloss(label: F32, prediction: F32, weight: F32 | None = None) -> float:
    """Return the (weighted) mean of -log p of a row's class; p is kept 1e-16 from 0."""
    own = prediction[label.astype(np.intp), np.arange(label.size)].astype(np.float64)
    return float(np.average(-np.log(np.maximum(own, 1e-16)), weights=weight))


def merror(label: F32, prediction: F32, weight: F32 | None = None) -> float:
    """Share of rows whose class is not the most probable one, the first of equals."""
    wrong = np.argmax(prediction, axis=0) != label
    return float(np.average(wrong, weights=weight))
