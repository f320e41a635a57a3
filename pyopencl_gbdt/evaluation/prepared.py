"""Choose the metrics that have kernels, and prepare them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.groups import whole_offsets
from pyopencl_gbdt.device import Device, DeviceArray, Launch
from pyopencl_gbdt.device.memory import MemoryPlan
from pyopencl_gbdt.evaluation.auc import Curves
from pyopencl_gbdt.evaluation.cox_metric import CoxMetric
from pyopencl_gbdt.evaluation.mean_loss import MeanLoss
from pyopencl_gbdt.evaluation.ranking_metric import RankingMetrics
from pyopencl_gbdt.evaluation.watched import WatchedRows
from pyopencl_gbdt.metrics import Metric, cox_nloglik, curve_of, ranked_of, row_loss_of
from pyopencl_gbdt.metrics.bounds_losses import log_pairs
from pyopencl_gbdt.metrics.rows import EvaluatedRows
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.objectives.base import LogLink
from pyopencl_gbdt.objectives.softmax import SoftProb

#: Most rows whose area under the ROC curve the host computes where it shares the device's memory:
#: so few take it less time than the launches, and there are seven kernels less to build.
FEW_ROWS = 2048
ADVICE = "leave out an evaluation set, or the metrics auc and aucpr"
#: Kernels number rows times targets with 31 bits.
_MOST_ROWS = 2**31 - 1


class Prepared(Protocol):
    """Metrics of one evaluation set that are computed together, every round.

    Attributes
    ----------
    n_results : int
        Number of rows of results.
    """

    n_results: int

    def plan(self, plan: MemoryPlan, prefix: str) -> None:
        """Add the arrays that ``launches`` allocates to the plan."""

    def launches(self, results: DeviceArray, first: int) -> list[Launch]:
        """Return bound launches that write the results from row ``first`` on."""

    def values(self, words: npt.NDArray[np.int64]) -> list[float]:
        """Return the metrics from their rows of results."""


def has_kernels(metric: Metric, objective: Objective, rows: Dataset) -> bool:
    """Tell whether kernels compute a metric of a set; for curves, labels must be 0 and 1."""
    classes = isinstance(objective, SoftProb)
    if rows.label.size > _MOST_ROWS or (objective.n_outputs > 1 and not classes):
        return False
    if metric is cox_nloglik:
        return objective.link == LogLink.link and rows.n_targets == 1
    if ranked_of(metric):
        return max(objective.n_outputs, rows.n_targets) == 1
    if curve_of(metric):
        return classes or bool(((rows.label == 0) | (rows.label == 1)).all())
    loss = row_loss_of(metric)
    if loss is None or (loss.bounds and rows.n_targets > 1):
        return False
    return loss.classes == classes


def runs_kernels(device: Device, metric: Metric, objective: Objective, rows: Dataset) -> bool:
    """Tell whether a metric of a set is computed by kernels, not on the host.

    The area under the ROC curve of a few rows without weights is not, where their margins are at
    hand: it is a quotient of whole numbers, which has the same bits.
    """
    at_hand = device.caps.unified_memory and rows.label.size <= FEW_ROWS
    simple = rows.weight is None and objective.n_outputs == rows.n_targets == 1
    if at_hand and simple and curve_of(metric) == "auc":
        return False
    return has_kernels(metric, objective, rows)


def n_classes_of(objective: Objective) -> int:
    """Return the number of classes if probabilities are the softmax of margins, else 0."""
    return objective.n_outputs if isinstance(objective, SoftProb) else 0


def prepare(
    data: Dataset, rows: EvaluatedRows, metrics: Mapping[str, Metric]
) -> Iterator[tuple[Prepared, list[str]]]:
    """Yield prepared metrics with kernels and their names; related metrics share one object."""
    curves = {name: curve_of(metric) for name, metric in metrics.items() if curve_of(metric)}
    if curves:
        yield Curves(rows, list(curves.values())), list(curves)
    ranked = {name: one for name, metric in metrics.items() if (one := ranked_of(metric))}
    if ranked:
        offsets = whole_offsets(data.group_offsets, data.n_rows)
        yield RankingMetrics(rows, offsets, list(ranked.values())), list(ranked)
    for name, metric in metrics.items():
        if metric is cox_nloglik:
            yield CoxMetric(rows), [name]
        loss = row_loss_of(metric)
        if loss is not None:
            yield MeanLoss(_with_bounds(data, rows) if loss.bounds else rows, loss), [name]


def _with_bounds(data: Dataset, rows: EvaluatedRows) -> EvaluatedRows:
    """Return rows whose labels are the logarithms of the bounds."""
    plan = MemoryPlan()
    plan.add("bounds", (4, data.n_rows), np.float32)
    plan.check(rows.device, ADVICE)
    return replace(rows, labels=rows.device.upload(log_pairs(*data.bounds)))


def rows_on_device(
    device: Device,
    objective: Objective,
    rows: Dataset,
    watched: WatchedRows,
    wg_size: int = 0,
    labels: DeviceArray | None = None,
) -> EvaluatedRows:
    """Return a set for kernels; copies its weights, and its labels unless they are there already.

    With several targets, every target has all rows, one target after the other.
    """
    label, weight = rows.label, rows.weight
    if rows.n_targets > 1:
        label = label.T.ravel()
        weight = None if weight is None else np.tile(weight, rows.n_targets)
    plan = MemoryPlan()
    plan.add("labels", label.size if labels is None else 0, np.float32)
    plan.add("weights", 1 if weight is None else label.size, np.float32)
    plan.check(device, ADVICE)
    return EvaluatedRows(
        device=device,
        margins=watched.margins,
        labels=device.upload(label) if labels is None else labels,
        weights=device.upload(np.ones(1, np.float32) if weight is None else weight),
        label=label,
        weight=weight,
        link=objective.link,
        wg_size=wg_size,
        n_classes=n_classes_of(objective),
    )
