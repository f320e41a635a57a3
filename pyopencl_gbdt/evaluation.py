"""The metrics of the evaluation sets of a fit: on the device where they can be, else on the host.

A metric that has a form for the device is computed from margins, labels and weights that lie there,
and the host reads a few numbers a round, of all metrics and sets together. For the others the
margins are copied to the host.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pyopencl_gbdt.dataset import Dataset
from pyopencl_gbdt.device import DeviceArray, Launch
from pyopencl_gbdt.device.memory import MemoryPlan
from pyopencl_gbdt.metrics import DatasetMetric, Metric, curve_of, row_loss_of, takes_queries
from pyopencl_gbdt.metrics.rows import F32, N_WORDS, EvaluatedRows
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.steps.curve import Curves
from pyopencl_gbdt.steps.mean_loss import MeanLoss
from pyopencl_gbdt.watched import WatchedRows
from pyopencl_gbdt.workspace import Workspace

_ADVICE = "leave out an evaluation set, or the metrics auc and aucpr"
#: The names of a set and of a metric, as in the history.
Place = tuple[str, str]


@dataclass(frozen=True)
class _OnDevice:
    """Metrics that are prepared together, and where they go."""

    prepared: MeanLoss | Curves
    places: list[Place]


class Evaluation:
    """All metrics of all sets, prepared once.

    Parameters
    ----------
    ws : Workspace
        Of the fit; has the labels of the training rows.
    objective : Objective
    metrics : mapping of str to Metric
    evals : sequence of (Dataset, str)
    watched : sequence of WatchedRows
        The same sets on the device.

    Raises
    ------
    MemoryPlanError
        If the device has no room for what the metrics need, before it is taken.
    """

    def __init__(
        self,
        ws: Workspace,
        objective: Objective,
        metrics: Mapping[str, Metric],
        evals: Sequence[tuple[Dataset, str]],
        watched: Sequence[WatchedRows],
    ) -> None:
        self._objective, self._metrics = objective, metrics
        self._on_device: list[_OnDevice] = []
        self._on_host: list[tuple[Dataset, str, list[str], DeviceArray]] = []
        for (rows, name), at in zip(evals, watched, strict=True):
            apart = [m for m, function in metrics.items() if not has_kernels(function, rows, at)]
            if apart:
                self._on_host.append((rows, name, apart, at.margins))
            together = [metric for metric in metrics if metric not in apart]
            if together:
                self._prepare(rows_on_device(ws, objective, rows, at), name, together)
        self._launches: list[Launch] = []
        self._results: DeviceArray | None = None
        if self._on_device:
            self._bind(ws)

    def _prepare(self, rows: EvaluatedRows, name: str, metrics: list[str]) -> None:
        curves = {metric: curve_of(self._metrics[metric]) for metric in metrics}
        areas = [metric for metric in metrics if curves[metric]]
        if areas:
            prepared = Curves(rows, [curves[metric] for metric in areas])
            self._on_device.append(_OnDevice(prepared, [(name, metric) for metric in areas]))
        for metric in metrics:
            loss = row_loss_of(self._metrics[metric])
            if loss is not None:
                self._on_device.append(_OnDevice(MeanLoss(rows, loss), [(name, metric)]))

    def _bind(self, ws: Workspace) -> None:
        plan = MemoryPlan()
        for number, group in enumerate(self._on_device):
            group.prepared.plan(plan, f"metric {number}")
        n_results = sum(len(group.places) for group in self._on_device)
        plan.add("results", (n_results, N_WORDS), np.int64)
        plan.check(ws.device, _ADVICE)
        self._results = ws.device.zeros((n_results, N_WORDS), np.int64)
        first = 0
        for group in self._on_device:
            self._launches += group.prepared.launches(self._results, first)
            first += N_WORDS * len(group.places)

    def launch(self) -> None:
        """Enqueue what computes the metrics of the margins that the sets have by then."""
        for launch in self._launches:
            launch()

    def values(self) -> Iterator[tuple[Place, float]]:
        """Yield every metric of every set, as of the last ``launch``; waits for it."""
        if self._results is not None:
            words, first = self._results.get(), 0
            for group in self._on_device:
                for at, place in enumerate(group.places):
                    yield place, group.prepared.value(words[first + at], at)
                first += len(group.places)
        for rows, name, metrics, margins in self._on_host:
            found = margins.get()
            prediction = self._objective.to_probability(found)
            for metric in metrics:
                function, wanted = self._metrics[metric], prediction
                if isinstance(function, DatasetMetric) and function.of_prediction:
                    wanted = self._objective.to_prediction(found).T
                yield (name, metric), on_host(function, metric, rows, wanted)


def on_host(metric: Metric, name: str, rows: Dataset, prediction: F32) -> float:
    """Return a metric of a set; of several targets, of all alike."""
    if isinstance(metric, DatasetMetric):
        return metric(prediction, rows)
    label, weight = rows.label, rows.weight
    if rows.n_targets > 1:
        label, prediction = label.T.ravel(), prediction.ravel()
        weight = None if weight is None else np.tile(weight, rows.n_targets)
    queries = (rows.group_offsets,) if takes_queries(name) else ()
    return metric(label, prediction, weight, *queries)


def has_kernels(metric: Metric, rows: Dataset, watched: WatchedRows) -> bool:
    """Tell whether kernels compute a metric of a set; curves are those of labels 0 and 1."""
    n_outputs = watched.margins.size // rows.n_rows
    if curve_of(metric):
        return n_outputs == 1 and bool(((rows.label == 0) | (rows.label == 1)).all())
    loss = row_loss_of(metric)
    return loss is not None and loss.n_outputs == n_outputs


def rows_on_device(
    ws: Workspace, objective: Objective, rows: Dataset, watched: WatchedRows
) -> EvaluatedRows:
    """Return a set as kernels see it; copies labels, but the training rows', and weights."""
    device, weight = ws.device, rows.weight
    plan = MemoryPlan()
    plan.add("labels", rows.n_rows if watched.values is not None else 0, np.float32)
    plan.add("weights", 1 if weight is None else rows.n_rows, np.float32)
    plan.check(device, _ADVICE)
    return EvaluatedRows(
        device=device,
        margins=watched.margins,
        labels=ws["labels"] if watched.values is None else device.upload(rows.label),
        weights=device.upload(np.ones(1, np.float32) if weight is None else weight),
        label=rows.label,
        weight=weight,
        link=objective.link,
        wg_size=ws.params.work_group_size,
    )
