"""Metrics by XGBoost's names: functions of (label, prediction, weight) in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.errors import ParameterError

F32 = npt.NDArray[np.float32]
Metric = Callable[[F32, F32, "F32 | None"], float]


def rmse(label: F32, prediction: F32, weight: F32 | None = None) -> float:
    """Root of the (weighted) mean squared difference."""
    difference = prediction.astype(np.float64) - label
    return float(np.sqrt(np.average(difference * difference, weights=weight)))


def logloss(label: F32, prediction: F32, weight: F32 | None = None) -> float:
    """Return the (weighted) mean cross-entropy; probabilities are kept 1e-16 from 0 and 1."""
    p = np.clip(prediction.astype(np.float64), 1e-16, 1.0 - 1e-16)
    loss = -(label * np.log(p) + (1.0 - label) * np.log1p(-p))
    return float(np.average(loss, weights=weight))


def auc(label: F32, prediction: F32, weight: F32 | None = None) -> float:
    """Area under the ROC curve; ties count one half; NaN where a class is absent.

    Fawcett 2006, "An introduction to ROC analysis", algorithm 3.
    """
    order = np.argsort(prediction, kind="stable")
    w = np.ones(label.size) if weight is None else weight.astype(np.float64)
    positive, negative = (w * label)[order], (w * (1.0 - label))[order]
    starts = np.flatnonzero(np.r_[True, np.diff(prediction[order]) != 0])
    positive, negative = np.add.reduceat(positive, starts), np.add.reduceat(negative, starts)
    below = np.cumsum(negative) - negative
    total: Any = positive.sum() * negative.sum()
    return float((positive * (below + negative / 2)).sum() / total) if total else float("nan")


METRICS: dict[str, Metric] = {"rmse": rmse, "logloss": logloss, "auc": auc}


def get_metric(name: str) -> Metric:
    """Return a metric by name.

    Raises
    ------
    ParameterError
        If there is no such metric.
    """
    if name not in METRICS:
        raise ParameterError(f"eval_metric={name!r}: expected one of {sorted(METRICS)}")
    return METRICS[name]
