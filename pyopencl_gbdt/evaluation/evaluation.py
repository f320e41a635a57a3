"""The metrics of a fit's evaluation sets: on the device where possible, else on the host.

Metrics with kernels are computed where margins, labels and weights lie; once a round, the host
reads a few numbers for all metrics and sets together. For other metrics the margins are copied to
the host.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import Device, DeviceArray, Launch
from pyopencl_gbdt.device.arena import Arena, zeros
from pyopencl_gbdt.evaluation.metric_kind import Prepared
from pyopencl_gbdt.evaluation.prepared import prepare, rows_on_device, runs_kernels
from pyopencl_gbdt.evaluation.watched import EvaluationSet, Margins, PagedMargins, prefix_of
from pyopencl_gbdt.metrics import DatasetMetric, Metric, takes_queries
from pyopencl_gbdt.metrics.rows import F32, N_WORDS
from pyopencl_gbdt.objectives import Objective

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
    objective : Objective
    metrics : mapping of str to Metric
    evals : sequence of (Dataset, str)
    watched : sequence of EvaluationSet
        The same evaluation sets on the device.
    labels : DeviceArray or None
        Of the training rows, if these are among the sets.
    wg_size : int
        Work-items per work-group; 0 is each variant's default.

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
    ) -> None:
        arena = Arena(device)
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
                of_set = rows_on_device(arena, objective, rows, at, wg_size, there, prefix)
                for prepared, names in prepare(rows, of_set, together):
                    self._on_device.append(_OnDevice(prepared, [(name, m) for m in names]))
        self._results: DeviceArray | None = None
        if self._on_device:
            n_results = sum(group.prepared.n_results for group in self._on_device)
            self._results = arena.array("results", (n_results, N_WORDS), np.int64, zeros)
        arena.allocate(joins=False)

    @cached_property
    def _launches(self) -> list[Launch]:
        """The launches of all metrics on the device."""
        launches: list[Launch] = []
        first = 0
        for group in self._on_device:
            assert self._results is not None
            launches += group.prepared.launches(self._results, first)
            first += N_WORDS * group.prepared.n_results
        return launches

    def launch(self) -> None:
        """Enqueue the kernels that compute the metrics of the current margins."""
        for launch in self._launches:
            launch()

    def values(self) -> Iterator[tuple[Place, float]]:
        """Yield every metric of every set, as of the last ``launch``; waits for the device."""
        if self._results is not None:
            words, first = self._results.get(), 0
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
