"""Ranking metrics: the device sorts rows within queries and sums over ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.groups import whole_offsets
from pyopencl_gbdt.device import DeviceArray, Launch, Program, Variant, build_variant
from pyopencl_gbdt.device.memory import MemoryPlan
from pyopencl_gbdt.evaluation.metric_kind import MetricKind
from pyopencl_gbdt.metrics import Metric, ranked_of
from pyopencl_gbdt.metrics.query_means import QueryMean
from pyopencl_gbdt.metrics.query_parts import query_of
from pyopencl_gbdt.metrics.ranking import Ranked
from pyopencl_gbdt.metrics.rows import N_WORDS, EvaluatedRows, RowShape
from pyopencl_gbdt.numerics.product_sums import N_LIMBS
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.primitives import Scan, SegmentedRadixSort

_ALL = 2**32 - 1


class RankingMetrics:
    """``ndcg``, ``map`` and ``pre`` of an evaluation set; prepared once, computed every round.

    Rows are sorted once for all metrics. A rank's part is a float32 with the same bits on every
    device, and sums are exact, so each metric has the same bits on every device.

    Parameters
    ----------
    rows : EvaluatedRows
    offsets : int64 array, shape (n_queries + 1,)
    metrics : sequence of Ranked
    """

    def __init__(
        self, rows: EvaluatedRows, offsets: npt.NDArray[np.int64], metrics: Sequence[Ranked]
    ) -> None:
        self.rows, self.metrics = rows, list(metrics)
        self._offsets = offsets
        self.means = [QueryMean(one, rows.label, rows.weight, offsets) for one in metrics]
        self.n_results = len(self.metrics)
        self._programs = [self._build(one) for one in metrics]

    def _build(self, ranked: Ranked) -> Program:
        make = partial(self._build_variant, ranked)
        return build_variant(self.rows.device, "ranking_metric", "auto", make)[1]

    def _build_variant(self, ranked: Ranked, variant: Variant) -> Program:
        return self.rows.device.build(
            "ranking_metric",
            wg_size=self.rows.wg_size or variant.params["wg_size"],
            link=self.rows.link,
            metric=ranked.family,
            exp_gain=ranked.family == "ndcg" and ranked.exp_gain,
        )

    @property
    def _hits(self) -> Program | None:
        """A program that ``map`` needs."""
        pairs = zip(self.metrics, self._programs, strict=True)
        return next((program for one, program in pairs if one.family == "map"), None)

    def plan(self, plan: MemoryPlan, prefix: str) -> None:
        """Add the arrays that ``launches`` allocates to the plan."""
        plan_ranking(plan, prefix, self.rows.shape, self._offsets.size - 1, self.metrics)

    def launches(self, results: DeviceArray, first: int) -> list[Launch]:
        """Return bound launches that write one row of results per metric, from row ``first`` on."""
        rows, device, groups = self.rows, self.rows.device, self.rows.groups
        n = rows.n_rows
        keys, order = device.empty(rows.n_rows, np.float32), device.empty(rows.n_rows, np.uint32)
        offsets = device.upload(self._offsets, np.uint32)
        query = device.upload(query_of(self._offsets), np.uint32)
        sort = SegmentedRadixSort(
            *(device, rows.n_rows, self._offsets.size - 1, np.float32, np.uint32),
            descending=True,
            longest=int(np.diff(self._offsets).max()),
            offset_dtype=np.uint32,
        )
        launches = [self._programs[0].bind("rank_keys", groups, n, rows.margins, keys, order)]
        launches += sort.bind(keys, offsets, order)
        hits = device.empty(rows.n_rows if self._hits else 1, np.int32)
        if self._hits:
            launches.append(self._hits.bind("rank_hits", groups, n, order, rows.labels, hits))
            launches += Scan(device, rows.n_rows, np.int32, inclusive=True).bind(hits, hits)
        sums = device.empty((groups, N_LIMBS), np.int64)
        for at, (one, mean) in enumerate(zip(self.metrics, self.means, strict=True)):
            bind, norms = self._programs[at].bind, device.upload(mean.norms)
            launches += [
                bind(
                    "sum_places", groups, n_rows=n, top=min(one.top or _ALL, _ALL),
                    most=mean.largest, offsets=offsets, query=query, order=order,
                    labels=rows.labels, hits=hits, norms=norms, sums=sums,
                ),
                bind("total_places", 1, groups, first + N_WORDS * at, sums, results),
            ]  # fmt: skip
        return launches

    def values(self, words: npt.NDArray[np.int64]) -> list[float]:
        """Return each metric, a float64, from its row of results."""
        return [mean.value(own) for mean, own in zip(self.means, words, strict=True)]


def plan_ranking(
    plan: MemoryPlan, prefix: str, rows: RowShape, n_queries: int, metrics: Sequence[Ranked]
) -> None:
    """Add the arrays of ranking metrics to the plan, except the sort's counters."""
    for name in ("keys", "order", "query", "sorted keys", "sorted rows"):
        plan.add(f"{prefix}.{name}", rows.n_rows, np.uint32)
    hits = any(one.family == "map" for one in metrics)
    plan.add(f"{prefix}.hits", rows.n_rows if hits else 1, np.int32)
    plan.add(f"{prefix}.offsets", n_queries + 1, np.uint32)
    plan.add(f"{prefix}.norms", (len(metrics), n_queries), np.float32)
    plan.add(f"{prefix}.sums", (rows.groups, N_LIMBS), np.int64)


class RankingKind(MetricKind):
    """``ndcg``, ``map`` and ``pre``: a set's rows are sorted once for all."""

    def takes(self, metric: Metric) -> bool:
        return ranked_of(metric) is not None

    def suits(self, metric: Metric, objective: Objective, rows: Dataset) -> bool:
        return max(objective.n_outputs, rows.n_targets) == 1

    def plan(
        self,
        plan: MemoryPlan,
        prefix: str,
        shape: RowShape,
        rows: Dataset,
        metrics: Mapping[str, Metric],
    ) -> None:
        n_queries = whole_offsets(rows.group_offsets, rows.n_rows).size - 1
        plan_ranking(plan, f"{prefix}: queries", shape, n_queries, _ranked(metrics))

    def prepare(
        self, data: Dataset, rows: EvaluatedRows, metrics: Mapping[str, Metric]
    ) -> Iterator[tuple[RankingMetrics, list[str]]]:
        offsets = whole_offsets(data.group_offsets, data.n_rows)
        yield RankingMetrics(rows, offsets, _ranked(metrics)), list(metrics)


def _ranked(metrics: Mapping[str, Metric]) -> list[Ranked]:
    return [one for metric in metrics.values() if (one := ranked_of(metric))]
