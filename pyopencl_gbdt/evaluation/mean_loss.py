"""Metrics that are means of a loss: the device sums exactly, the host divides."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import DeviceArray, Launch
from pyopencl_gbdt.evaluation.metric_kind import F32, EvaluatedRows, MetricKind
from pyopencl_gbdt.metrics import Metric, row_loss_of
from pyopencl_gbdt.metrics.bounds_losses import log_pairs
from pyopencl_gbdt.metrics.row_losses import RowLoss
from pyopencl_gbdt.numerics.exact_sums import INFINITE, N_LIMBS, UNDEFINED, quotient_of
from pyopencl_gbdt.numerics.portable_math import exact_sum
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.objectives.classification import SoftProb
from pyopencl_gbdt.objectives.distributions import Distribution

#: Labels are squared without scaling if their largest exponent is at most this far from 0.
_SQUARABLE, _FURTHEST = 30, 100


class MeanLoss:
    """A metric that is a weighted mean over rows; prepared once, computed every round.

    A row's loss is a float32 with the same bits on every device. The sum of losses times weights
    is exact, except for bits 2^46 times smaller than the largest product, so the metric has the
    same bits on every device and for any order of the rows. Rows of weight 0 do not count, even if
    their loss is NaN or infinite.
    """

    n_results = 1

    def __init__(self, rows: EvaluatedRows, loss: RowLoss) -> None:
        self.rows, self.loss = rows, loss
        facts = {"row_loss": loss.kernel, "weighted": rows.weight is not None}
        self._program = rows.program("mean_loss", **facts)
        self._largest = rows.array("largest", rows.common_groups, np.uint32)
        self._sums = rows.array("sums", (rows.common_groups, N_LIMBS), np.int64)

    @cached_property
    def mean(self) -> Mean:
        """What converts sums to the metric."""
        return Mean(self.loss, self.rows.label, self.rows.weight)

    def launches(self, results: DeviceArray, first: int) -> list[Launch]:
        """Return bound launches that write words ``first .. first + 4`` of the results."""
        rows, bind, sums = self.rows, self._program.bind, self._sums
        groups = rows.common_groups
        inputs = {
            "n_rows": rows.n_rows, "n_outputs": max(1, rows.n_classes), "unit": self.mean.unit,
            "margins": rows.margins, "labels": rows.labels, "weights": rows.weights,
            "largest": self._largest,
        }  # fmt: skip
        return [
            bind("largest_loss", groups, **inputs),
            bind("sum_losses", groups, **inputs, first=first, sums=sums, results=results),
            bind("total_losses", 1, groups, first, sums, results),
        ]

    def values(self, words: npt.NDArray[np.int64]) -> list[float]:
        """Return the metric, a float64, from its row of results, shape (1, N_WORDS)."""
        return [self.mean.value(words[0])]


class Mean:
    """Convert a sum to a metric, on the host: weights, constants, the root.

    Attributes
    ----------
    unit : float32
        As for ``RowLoss``.
    """

    def __init__(self, loss: RowLoss, label: F32, weight: F32 | None) -> None:
        self.loss = loss
        self._weights = Fraction(label.size) if weight is None else exact_sum(weight, None)
        self._constant = Fraction(0)
        if loss.constant is not None:
            self._constant = exact_sum(loss.constant(label).astype(np.float32), weight)
        self.unit = unit_of(label) if loss.scaled else np.float32(1.0)

    def value(self, words: npt.NDArray[np.int64]) -> float:
        """Return the metric for ``sum_words``."""
        largest = int(words[N_LIMBS])
        if largest in (INFINITE, UNDEFINED):
            return math.inf if largest == INFINITE else math.nan
        # (total / power + constant) / weights as a quotient of integers, which Python rounds once
        total, power = quotient_of(words, largest)
        constant, weights = self._constant, self._weights
        numerator = total * constant.denominator + constant.numerator * power
        denominator = power * constant.denominator * weights.numerator
        mean = numerator * weights.denominator / denominator * self.loss.factor
        return math.sqrt(mean) / float(self.unit) if self.loss.root else mean


def unit_of(label: F32) -> np.float32:
    """Return a power of two that scales labels whose squares would be out of range close to 1."""
    exponent = math.frexp(float(np.abs(label).max()))[1]
    far = abs(exponent) > _SQUARABLE and bool(label.any())
    unit: np.float32 = np.float32(2.0 ** -min(max(exponent, -_FURTHEST), _FURTHEST) if far else 1)
    return unit


class MeanKind(MetricKind):
    """Means of a loss over rows: every metric that has a ``RowLoss``."""

    def takes(self, metric: Metric) -> bool:
        return row_loss_of(metric) is not None

    def suits(self, metric: Metric, objective: Objective, rows: Dataset) -> bool:
        loss = _loss(metric)
        if loss.bounds and rows.n_targets > 1:
            return False
        if loss.distributed != isinstance(objective, Distribution):
            return False
        return loss.classes == isinstance(objective, SoftProb)

    def prepare(
        self, data: Dataset, rows: EvaluatedRows, metrics: Mapping[str, Metric]
    ) -> Iterator[tuple[MeanLoss, list[str]]]:
        for name, metric in metrics.items():
            loss = _loss(metric)
            own = rows.of(name)
            yield MeanLoss(_with_bounds(data, own) if loss.bounds else own, loss), [name]


def _loss(metric: Metric) -> RowLoss:
    loss = row_loss_of(metric)
    assert loss is not None
    return loss


def _with_bounds(data: Dataset, rows: EvaluatedRows) -> EvaluatedRows:
    """Return rows whose labels are the logarithms of the bounds."""

    def upload(pairs: DeviceArray) -> None:
        pairs.set(log_pairs(*data.bounds))

    return replace(rows, labels=rows.array("bounds", (4, data.n_rows), np.float32, upload))
