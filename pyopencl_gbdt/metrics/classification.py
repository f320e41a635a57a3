"""Classification metrics: of the probability of label 1, or of the probabilities of all classes.

Each takes float32 labels, predictions of shape (n_rows,), or (n_classes, n_rows) for several
classes, and weights or None, and returns a float64. XGBoost 3.2,
``src/metric/elementwise_metric.cu`` and ``multiclass_metric.cu``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

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
