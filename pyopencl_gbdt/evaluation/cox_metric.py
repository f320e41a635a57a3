"""The metric ``cox-nloglik``, computed by scans over the rows in order of time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device import DeviceArray, Launch
from pyopencl_gbdt.evaluation.metric_kind import EvaluatedRows, MetricKind
from pyopencl_gbdt.metrics import Metric, cox_nloglik
from pyopencl_gbdt.numerics.exact_sums import LARGEST_KEY, N_LIMBS, plane_bits, sum_of
from pyopencl_gbdt.numerics.expressions import exp
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.objectives.base import link_statements
from pyopencl_gbdt.objectives.survival import in_time
from pyopencl_gbdt.primitives import Reduce, Scan


class CoxMetric:
    """``cox-nloglik`` of an evaluation set; prepared once, computed every round.

    Sums of hazards and losses are exact, so the metric has the same bits on every device. Hazards
    below 2^-80 of the largest one (for up to a million rows) count as 0 in the sums.

    ``rows``: labels are times, negated for censored rows; predictions are above 0.
    """

    n_results = 1

    def __init__(self, rows: EvaluatedRows) -> None:
        self.rows = rows
        self._n_events = int((rows.label > 0).sum())
        self._program = rows.program("cox_metric")
        n, device, array = rows.n_rows, rows.device, rows.array
        self._reduce = Reduce(device, n, np.float32, op="max")
        self._scan = Scan(device, n, np.int64, inclusive=True, pairs=True)
        self._starts = array("starts", n, np.uint32)
        self._order = array("order", n, np.uint32, self._sort)
        self._hazards = array("hazards", n, np.float32)
        self._largest = array("largest", 1, np.float32)
        self._planes = array("planes", (n, 2), np.int64)
        self._sums = array("sums", (rows.groups, N_LIMBS), np.int64)

    def _sort(self, order: DeviceArray) -> None:
        """Sort the rows by time on the host, and upload their order."""
        found, starts = in_time(self.rows.label)
        order.set(found)
        self._starts.set(starts)

    def launches(self, results: DeviceArray, first: int) -> list[Launch]:
        """Return bound launches that write row ``first`` of the results."""
        rows, groups, bind = self.rows, self.rows.groups, self._program.bind
        n, width = rows.n_rows, plane_bits(rows.n_rows)
        hazards, largest, planes, sums = self._hazards, self._largest, self._planes, self._sums
        return [
            bind("cox_hazards", groups, n, self._order, rows.margins, hazards),
            *self._reduce.bind(hazards, largest),
            bind("cox_planes", groups, n, width, largest, hazards, planes),
            *self._scan.bind(planes, planes),
            bind(
                "cox_losses", groups, n_rows=n, width=width, starts=self._starts, largest=largest,
                hazards=hazards, sums=planes, totals=sums,
            ),
            bind("total_losses", 1, groups, first, sums, results),
        ]  # fmt: skip

    def values(self, words: npt.NDArray[np.int64]) -> list[float]:
        """Return the metric, a float64, from its row of results; NaN if there is no event."""
        if not self._n_events:
            return [math.nan]
        return [float(sum_of(words[0], LARGEST_KEY) / self._n_events)]


class CoxKind(MetricKind):
    """``cox-nloglik``."""

    def takes(self, metric: Metric) -> bool:
        return metric is cox_nloglik

    def suits(self, metric: Metric, objective: Objective, rows: Dataset) -> bool:
        return objective.link == link_statements(exp) and rows.n_targets == 1

    def prepare(
        self, data: Dataset, rows: EvaluatedRows, metrics: Mapping[str, Metric]
    ) -> Iterator[tuple[CoxMetric, list[str]]]:
        for name in metrics:
            yield CoxMetric(rows.of(name)), [name]
