"""Areas under curves: metrics that depend on the order of predictions.

Each takes float32 arrays of shape (n_rows,), labels in 0..1, and weights or None. If predictions
have shape (n_classes, n_rows), labels are classes, and the metric is a mean over the classes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]


def auc(label: F32, prediction: F32, weight: F32 | None = None) -> float:
    """Return the area under the ROC curve; ties count one half; NaN if a class has no rows.

    Fawcett 2006, "An introduction to ROC analysis", algorithm 3. The mean over several classes
    weights them by their rows, as in XGBoost's ``src/metric/auc.cc``.
    """
    if prediction.ndim > 1:
        counts = np.bincount(label.astype(np.intp), weight, len(prediction)).tolist()
        return _over_classes(auc, label, prediction, weight, counts)
    positive, negative = _by_prediction(label, prediction, weight)
    below = np.cumsum(negative) - negative
    total: Any = positive.sum() * negative.sum()
    return float((positive * (below + negative / 2)).sum() / total) if total else float("nan")


def aucpr(label: F32, prediction: F32, weight: F32 | None = None) -> float:
    """Return the area under the precision-recall curve; NaN if a class has no rows.

    Between two thresholds, false positives grow in proportion to true positives, and the integral
    of precision is exact: Keilwagen et al. 2014, "Area under precision-recall curves for weighted
    and unweighted data", section 2, as in XGBoost's ``src/metric/auc.cc``. scikit-learn's average
    precision differs, since it is a sum of steps.
    """
    if prediction.ndim > 1:
        return _over_classes(aucpr, label, prediction, weight, [1.0] * len(prediction))
    positive, negative = (part[::-1] for part in _by_prediction(label, prediction, weight))
    total = positive.sum()
    if not total or not negative.sum():
        return float("nan")
    here = positive > 0  # where recall grows
    after, false_after = np.cumsum(positive)[here], np.cumsum(negative)[here]
    grown, false_grown = positive[here], negative[here]
    slope = false_grown / grown
    # with t true positives, precision is t / (a t + b)
    a, b = 1.0 + slope, (false_after - false_grown) - slope * (after - grown)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(a * after + b) - np.log(a * (after - grown) + b)
        bend = np.where(b == 0, 0.0, b / a * logs)
    return float(((grown - bend) / a).sum() / total)


def _over_classes(
    curve: Callable[[F32, F32, F32 | None], float],
    label: F32,
    prediction: F32,
    weight: F32 | None,
    counts: list[float],
) -> float:
    """Return the mean over classes, each against all others."""
    own = [(label == k).astype(np.float32) for k in range(len(prediction))]
    values = [curve(y, p, weight) for y, p in zip(own, prediction, strict=True)]
    return float(np.average(values, weights=counts)) if sum(counts) else float("nan")


def _by_prediction(label: F32, prediction: F32, weight: F32 | None) -> tuple[F64, F64]:
    """Return the weights of labels 1 and 0 at every distinct prediction, in ascending order."""
    order = np.argsort(prediction, kind="stable")
    w = np.ones(label.size) if weight is None else weight.astype(np.float64)
    positive, negative = (w * label)[order], (w * (1.0 - label))[order]
    starts = np.flatnonzero(np.r_[True, np.diff(prediction[order]) != 0])
    return np.add.reduceat(positive, starts), np.add.reduceat(negative, starts)
