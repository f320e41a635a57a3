"""Areas under curves: metrics that depend on the order of predictions.

Each takes float32 arrays of shape (n_rows,), labels in 0..1, and weights or None. If predictions
have shape (n_classes, n_rows), labels are classes, and the metric is a mean over the classes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.metrics.formulas import log64
from pyopencl_gbdt.numerics.exact_sums import N_LIMBS, PRECISION_BITS, signed_weights

I64 = npt.NDArray[np.int64]


class Areas:
    """Total weights by which the areas are divided.

    Attributes
    ----------
    positive, negative : int
        Integer weights of all rows with label 1, and with label 0.
    each : list of Areas
        One ``Areas`` per class; here only this one.
    """

    def __init__(self, label: F32, weight: F32 | None) -> None:
        signed = signed_weights(label, weight)
        self.positive = int(signed[signed > 0].sum())
        self.negative = -int(signed[signed < 0].sum())

    @property
    def each(self) -> list[Areas]:
        return [self]

    @property
    def undefined(self) -> bool:
        """Whether there are no rows of one class."""
        return not (self.positive and self.negative)

    def value(self, curve: str, words: I64) -> float:
        """Return the metric for one row of ``area_words``; NaN if a class has no rows."""
        return math.nan if self.undefined else float(self.share(curve, words[0]))

    def share(self, curve: str, words: I64) -> Fraction:
        """Return the exact metric; both classes must have rows."""
        area = sum(int(words[at]) << 32 * at for at in range(N_LIMBS))
        if curve == "auc":
            return Fraction(area, 2 * self.positive * self.negative)
        return Fraction(area, self.positive << PRECISION_BITS)


class ClassAreas:
    """Areas of each class against all others, and their mean.

    As in XGBoost 3.2, ``src/metric/auc.cc``, the mean of ``auc`` weights classes by rows; that
    of ``aucpr`` weights all classes equally.
    """

    def __init__(self, label: F32, weight: F32 | None, n_classes: int) -> None:
        own = [(label == k).astype(np.float32) for k in range(n_classes)]
        self.each = [Areas(positive, weight) for positive in own]

    @property
    def undefined(self) -> bool:
        """Whether a class has no rows."""
        return any(areas.undefined for areas in self.each)

    def value(self, curve: str, words: I64) -> float:
        """Return the metric for the ``area_words`` of all classes; NaN if a class has no rows."""
        if self.undefined:
            return math.nan
        counts = [areas.positive if curve == "auc" else 1 for areas in self.each]
        parts = zip(self.each, words, counts, strict=True)
        total = sum((areas.share(curve, own) * count for areas, own, count in parts), Fraction(0))
        return float(total / sum(counts))


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


#: What keeps the quotient of `ams` finite: XGBoost's, and that of the Higgs challenge.
_AMS_EDGE = 10.0


def ams(label: F32, prediction: F32, weight: F32 | None = None, number: float = 0.15) -> float:
    """Return the approximate median significance of the rows with the largest predictions.

    ``number`` is their share of all rows; 0 and 1 take the share with the largest result.
    Rows whose label is above 0.5 are signal, with the weight s, the others background, with the
    weight b: ``sqrt(2 ((s + b + 10) ln(1 + s / (b + 10)) - s))``. Adam-Bourdarios et al. 2014,
    "The Higgs boson machine learning challenge"; XGBoost 3.2, ``src/metric/rank_metric.cc``, which
    leaves the last row out, too.
    """
    n_top = int(np.float32(number) * np.float32(label.size)) or label.size
    order = np.argsort(-prediction, kind="stable")[: label.size - 1]
    w = np.ones(label.size) if weight is None else weight.astype(np.float64)
    signal = np.cumsum(np.where(label > 0.5, w, 0.0)[order[:n_top]])
    background = np.cumsum(np.where(label > 0.5, 0.0, w)[order[:n_top]]) + _AMS_EDGE
    logs = log64(1.0 + signal / background)
    found = np.sqrt(np.maximum(2.0 * ((signal + background) * logs - signal), 0.0))
    if not found.size:
        return 0.0
    if n_top != label.size:
        return float(found[-1])
    ends = np.sort(prediction)[::-1]
    return float(np.max(found, initial=0.0, where=ends[:-1] != ends[1:]))


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
