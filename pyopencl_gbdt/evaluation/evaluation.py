"""The metrics of a fit's evaluation sets: on the device where possible, else on the host.

Metrics with kernels are computed where margins, labels and weights lie; once a round, the host
reads a few numbers for all metrics and sets together. For other metrics the margins are copied to
the host.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device, DeviceArray, Launch
from pyopencl_gbdt.device.arena import Arena, MemoryPlan, zeros
from pyopencl_gbdt.device.paper import PaperDevice
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.device.room import shared
from pyopencl_gbdt.device.transfers import EarlyCopy
from pyopencl_gbdt.evaluation.auc import CurveKind
from pyopencl_gbdt.evaluation.cox_metric import CoxKind
from pyopencl_gbdt.evaluation.mean_loss import MeanKind
from pyopencl_gbdt.evaluation.metric_kind import F32, N_WORDS, EvaluatedRows, MetricKind, Prepared
from pyopencl_gbdt.evaluation.ranking_metric import RankingKind
from pyopencl_gbdt.evaluation.watched import (
    EvaluationSet,
    Margins,
    PagedMargins,
    RowsInBatches,
    is_read_anew,
    prefix_of,
)
from pyopencl_gbdt.growth.boosting import of_followed_rows
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.metrics import DatasetMetric, Metric, takes_queries
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.objectives.classification import SoftProb
from pyopencl_gbdt.objectives.distributions import Distribution

if TYPE_CHECKING:
    from pyopencl_gbdt.prediction.predict_sparse import SparseRows


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
    return _suits(kind_of(metric), metric, objective, rows)


def _suits(kind: MetricKind | None, metric: Metric, objective: Objective, rows: Dataset) -> bool:
    if kind is None or rows.label.size > _MOST_ROWS:
        return False
    if objective.n_outputs > 1 and not isinstance(objective, SoftProb | Distribution):
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
    return _suits(kind, metric, objective, rows)


def n_classes_of(objective: Objective) -> int:
    """Return the number of classes if probabilities are the softmax of margins, else 0."""
    return objective.n_outputs if isinstance(objective, SoftProb) else 0


def by_kind(metrics: Mapping[str, Metric]) -> Iterator[tuple[MetricKind, dict[str, Metric]]]:
    """Yield every kind of which there are metrics, and these."""
    kinds = {name: kind_of(metric) for name, metric in metrics.items()}
    for kind in KINDS:
        own = {name: metric for name, metric in metrics.items() if kinds[name] is kind}
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
    most_rows: int = 0,
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
        most_rows=most_rows,
    )


def _rows_together(device: Device, evals: Sequence[tuple[Dataset, str]]) -> int:
    """Return the rows of the largest set if the launches of several sets are joined, else 0."""
    return 0 if device.room is None else max((rows.label.size for rows, _ in evals), default=0)


#: Names of an evaluation set and of a metric, as in the history.
Place = tuple[str, str]


@dataclass(frozen=True)
class _OnDevice:
    """Metrics that are prepared together, and where their results go."""

    prepared: Prepared
    places: list[Place]


class Evaluation:
    """All metrics of all evaluation sets; prepared once, computed every round.

    Parameters
    ----------
    device : Device
        May be on paper; then nothing can be launched.
    watched : sequence of EvaluationSet
        The same evaluation sets on the device.
    labels : DeviceArray or None
        The labels of the training rows, if these are among the sets.
    wg_size : int
        Work-items per work-group; 0 is each variant's default.
    most_rows : int
        As for ``EvaluatedRows``; 0 is what suits the device.

    Raises
    ------
    MemoryPlanError
        If the device lacks memory for the metrics.
    """

    def __init__(
        self,
        device: Device,
        objective: Objective,
        metrics: Mapping[str, Metric],
        evals: Sequence[tuple[Dataset, str]],
        watched: Sequence[EvaluationSet],
        labels: DeviceArray | None = None,
        wg_size: int = 0,
        most_rows: int = 0,
    ) -> None:
        arena, most_rows = Arena(device), most_rows or _rows_together(device, evals)
        self._objective, self._metrics = objective, metrics
        self._on_device: list[_OnDevice] = []
        self._on_host: list[tuple[Dataset, str, list[str], Margins]] = []
        for (rows, name), at in zip(evals, watched, strict=True):
            paged = isinstance(at.margins, PagedMargins)
            apart = [
                m
                for m, one in metrics.items()
                if paged or not runs_kernels(device, one, objective, rows)
            ]
            if apart:
                self._on_host.append((rows, name, apart, at.margins))
            together = {m: one for m, one in metrics.items() if m not in apart}
            if together:
                own = at.values is None and not at.gathered
                there, prefix = labels if own else None, f"{prefix_of(name)}: "
                how = wg_size, there, prefix, most_rows
                of_set = rows_on_device(arena, objective, rows, at, *how)
                for prepared, names in prepare(rows, of_set, together):
                    self._on_device.append(_OnDevice(prepared, [(name, m) for m in names]))
        self._has_launched = False
        self._results: EarlyCopy | None = None
        self._first_row = 0
        self.n_results = sum(group.prepared.n_results for group in self._on_device)
        """Rows of results on the device."""
        if self._on_device:
            shape = (self.n_results, N_WORDS)
            self._results = EarlyCopy(arena.array("results", shape, np.int64, zeros))
        arena.allocate(joins=device.room is not None)

    @cached_property
    def launches(self) -> list[list[Launch]]:
        """The launches of all metrics on the device: a list for each set and related metrics."""
        launches: list[list[Launch]] = []
        first = self._first_row * N_WORDS
        for group in self._on_device:
            assert self._results is not None
            launches.append(group.prepared.launches(self._results.array, first))
            first += N_WORDS * group.prepared.n_results
        return launches

    @cached_property
    def _joined(self) -> list[Action]:
        """The same launches, enqueued by few calls; recording these would delay the first round.

        H200, two sets of 10 000 x 20, CUDA: 1.87 to 1.83 ms a round of five folds one after
        another, 1.31 to 1.02 side by side (``cv``, fastest of three).
        """
        assert self._results is not None
        device: Device = self._results.array.device
        return device.together([*chain.from_iterable(self.launches)])

    def launch(self) -> None:
        """Enqueue the kernels that compute the metrics of the current margins."""
        if self._results is None:
            return
        every = self._joined if self._has_launched else chain.from_iterable(self.launches)
        for action in every:
            action()
        self._has_launched = True
        self._results()

    def share(self, results: EarlyCopy, first_row: int) -> list[list[Launch]]:
        """Write the results to rows of an array of several fits; return the launches anew."""
        if self._results is None:
            return []
        self._results, self._first_row = results, first_row
        for bound in ("launches", "_joined"):
            self.__dict__.pop(bound, None)
        return self.launches

    @property
    def reads_margins(self) -> bool:
        """Whether the host computes metrics, from the margins when it asks for values."""
        return bool(self._on_host)

    def values(self) -> Iterator[tuple[Place, float]]:
        """Yield every metric of every set, as of the last ``launch``; waits for the device."""
        if self._results is not None:
            words, first = self._results.values(), self._first_row
            for group in self._on_device:
                end = first + group.prepared.n_results
                yield from zip(group.places, group.prepared.values(words[first:end]), strict=True)
                first = end
        for rows, name, metrics, margins in self._on_host:
            found = margins.get()
            prediction = self._objective.to_probability(found)
            for metric in metrics:
                function, wanted = self._metrics[metric], prediction
                if isinstance(function, DatasetMetric) and function.of_prediction:
                    wanted = self._objective.to_prediction(found).T
                yield (name, metric), on_host(function, metric, rows, wanted)


def on_host(metric: Metric, name: str, rows: Dataset, prediction: F32) -> float:
    """Compute a metric of a set on the host; over all targets together, if there are several."""
    if isinstance(metric, DatasetMetric):
        return metric(prediction, rows)
    label, weight = rows.label, rows.weight
    if rows.n_targets > 1:
        label, prediction = label.T.ravel(), prediction.ravel()
        weight = None if weight is None else np.tile(weight, rows.n_targets)
    queries = (rows.group_offsets,) if takes_queries(name) else ()
    return metric(label, prediction, weight, *queries)


def plan_evaluation(
    device: Device,
    objective: Objective,
    metrics: Mapping[str, Metric],
    evals: Sequence[tuple[Dataset, str]],
    data: Dataset,
    gathered: Dataset | None = None,
    *,
    weighted: bool = False,
) -> MemoryPlan:
    """Return the plan of all sets, without the margins and labels of the training rows.

    ``gathered``: the training rows of all members of a team.
    ``weighted``: whether trees have weights, so that sets have sums of trees.
    """
    known = shared(device)
    sizes = _sizes(device, objective, metrics, evals, data) if gathered is None else None
    key = sizes and (*sizes, weighted)
    plan: MemoryPlan | None = known.get(key)
    if plan is None:
        plan = _planned(device, objective, metrics, evals, data, gathered, weighted=weighted)
    if key is not None:
        known[key] = plan
    return MemoryPlan(dict(plan.arrays))  # others add to it


def _sizes(
    device: Device,
    objective: Objective,
    metrics: Mapping[str, Metric],
    evals: Sequence[tuple[Dataset, str]],
    data: Dataset,
) -> tuple[object, ...] | None:
    """Return all facts that the plan of dense rows without queries depends on; None for others."""
    loss = type(objective), objective.n_outputs, str(objective.parameters)
    found: list[object] = [plan_evaluation, *loss]
    for rows, name in evals:
        if not isinstance(rows.features, np.ndarray) or rows.group_offsets is not None:
            return None
        by_kernels = [runs_kernels(device, one, objective, rows) for one in metrics.values()]
        shapes = rows.features.shape, rows.label.shape, rows.weight is None
        found += [name, rows is data, *shapes, *zip(metrics, by_kernels, strict=True)]
    return tuple(found)


def _planned(
    device: Device,
    objective: Objective,
    metrics: Mapping[str, Metric],
    evals: Sequence[tuple[Dataset, str]],
    data: Dataset,
    gathered: Dataset | None,
    *,
    weighted: bool,
) -> MemoryPlan:
    plan = MemoryPlan()
    for rows, name in evals:
        paper, prefix = PaperDevice.like(device, has_limits=False), prefix_of(name)
        shape = max(objective.n_outputs, rows.n_targets), rows.n_rows
        if rows is data:
            watched = EvaluationSet(None, 0.0, DeviceArray(paper, shape, np.float32, None))
        else:
            values = None if rows is gathered else _values(device, paper, rows, shape[0])
            margins = paper.empty(shape, np.float32, "margins")
            watched = EvaluationSet(values, 0.0, margins, gathered=rows is gathered)
            if weighted and values is not None:
                of_followed_rows(paper, shape)
        labels = DeviceArray(paper, (rows.label.size,), np.float32, None)
        Evaluation(
            paper, objective, metrics, [(rows, name)], [watched], labels,
            most_rows=_rows_together(device, evals),
        )  # fmt: skip
        for number, one in enumerate(paper.allocations):
            own = one.name.removeprefix(f"{prefix}: ") or f"array {number}"
            plan.add(f"{prefix}: {own}", one.shape, one.dtype)
    return plan


def _values(
    device: Device, paper: PaperDevice, rows: Dataset, n_outputs: int
) -> DeviceArray | SparseRows | RowsInBatches:
    """Return the values of a set on paper, where ``EvaluationSet.of`` will have them."""
    shape = rows.n_rows, rows.n_features
    if rows.sparse is not None:
        from pyopencl_gbdt.prediction.predict_sparse import SparseRows

        return SparseRows.of(paper, rows.sparse)
    if rows.batches is not None and is_read_anew(device, rows.batches):
        anew = RowsInBatches(paper, rows.batches)
        paper.empty((n_outputs, anew.piece.shape[0]), np.float32, "margins of a piece")
        return anew
    if rows.lies_on(device):
        return DeviceArray(paper, shape, np.float32, None)
    return paper.empty(shape, np.float32, "values")
