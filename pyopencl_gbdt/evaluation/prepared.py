"""Choose the metrics that have kernels, and prepare them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.device.arena import Arena
from pyopencl_gbdt.evaluation.auc import CurveKind
from pyopencl_gbdt.evaluation.cox_metric import CoxKind
from pyopencl_gbdt.evaluation.mean_loss import MeanKind
from pyopencl_gbdt.evaluation.metric_kind import MetricKind, Prepared
from pyopencl_gbdt.evaluation.ranking_metric import RankingKind
from pyopencl_gbdt.evaluation.watched import EvaluationSet
from pyopencl_gbdt.metrics import Metric
from pyopencl_gbdt.metrics.rows import EvaluatedRows
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.objectives.classification import SoftProb

#: All kinds of metrics that have kernels; a metric belongs to the first kind that takes it.
KINDS: list[MetricKind] = [CurveKind(), RankingKind(), CoxKind(), MeanKind()]
#: Most rows whose area under the ROC curve the host computes where it shares the device's memory:
#: so few take it less time than the launches, and there are seven kernels less to build.
FEW_ROWS = 2048
#: Kernels number rows times targets with 31 bits.
_MOST_ROWS = 2**31 - 1


def kind_of(metric: Metric) -> MetricKind | None:
    """Return a metric's kind; None for a metric without kernels, such as a user's own."""
    return next((kind for kind in KINDS if kind.takes(metric)), None)


def has_kernels(metric: Metric, objective: Objective, rows: Dataset) -> bool:
    """Tell whether kernels compute a metric of a set; for curves, labels must be 0 and 1."""
    kind = kind_of(metric)
    if kind is None or rows.label.size > _MOST_ROWS:
        return False
    if objective.n_outputs > 1 and not isinstance(objective, SoftProb):
        return False
    return kind.suits(metric, objective, rows)


def runs_kernels(device: Device, metric: Metric, objective: Objective, rows: Dataset) -> bool:
    """Tell whether a metric of a set is computed by kernels, not on the host.

    The area under the ROC curve of a few rows without weights is not, where their margins are at
    hand: it is a quotient of whole numbers, which has the same bits.
    """
    at_hand = device.caps.unified_memory and rows.label.size <= FEW_ROWS
    simple = rows.weight is None and objective.n_outputs == rows.n_targets == 1
    kind = kind_of(metric)
    if at_hand and simple and kind is not None and kind.exact_on_host(metric):
        return False
    return has_kernels(metric, objective, rows)


def n_classes_of(objective: Objective) -> int:
    """Return the number of classes if probabilities are the softmax of margins, else 0."""
    return objective.n_outputs if isinstance(objective, SoftProb) else 0


def by_kind(metrics: Mapping[str, Metric]) -> Iterator[tuple[MetricKind, dict[str, Metric]]]:
    """Yield every kind of which there are metrics, and these."""
    for kind in KINDS:
        own = {name: metric for name, metric in metrics.items() if kind_of(metric) is kind}
        if own:
            yield kind, own


def prepare(
    data: Dataset, rows: EvaluatedRows, metrics: Mapping[str, Metric]
) -> Iterator[tuple[Prepared, list[str]]]:
    """Yield prepared metrics with kernels and their names; related metrics share one object."""
    for kind, own in by_kind(metrics):
        yield from kind.prepare(data, rows, own)


def rows_on_device(
    arena: Arena,
    objective: Objective,
    rows: Dataset,
    watched: EvaluationSet,
    wg_size: int = 0,
    labels: DeviceArray | None = None,
    name: str = "",
) -> EvaluatedRows:
    """Return a set for kernels; asks for its weights, and its labels unless they are there already.

    With several targets, every target has all rows, one target after the other.
    """
    label, weight = rows.label, rows.weight
    if rows.n_targets > 1:
        label = label.T.ravel()
        weight = None if weight is None else np.tile(weight, rows.n_targets)
    if labels is None:
        labels = arena.array(f"{name}labels", label.size, np.float32, label)
    weights = np.ones(1, np.float32) if weight is None else weight
    assert isinstance(watched.margins, DeviceArray)
    return EvaluatedRows(
        arena=arena,
        margins=watched.margins,
        labels=labels,
        weights=arena.array(f"{name}weights", weights.size, np.float32, weights),
        label=label,
        weight=weight,
        link=objective.link,
        wg_size=wg_size,
        n_classes=n_classes_of(objective),
        name=name,
    )
