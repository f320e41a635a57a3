"""Ranking metrics: the device sorts rows within queries and sums over ranks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.data.groups import whole_offsets
from pyopencl_gbdt.device import DeviceArray, Launch, Program
from pyopencl_gbdt.evaluation.metric_kind import N_WORDS, EvaluatedRows, MetricKind
from pyopencl_gbdt.metrics import Metric, ranked_of
from pyopencl_gbdt.metrics.ranking import Ranked
from pyopencl_gbdt.numerics.exact_sums import N_LIMBS, key_of, sum_of, sum_words
from pyopencl_gbdt.numerics.portable_math import exact_sum, ordered, portable_log, reciprocal
from pyopencl_gbdt.objectives import Objective
from pyopencl_gbdt.primitives import Scan, SegmentedRadixSort

_f = np.float32
_LN_2 = _f(0.693147182)


def query_of(offsets: I64) -> I64:
    """Return the query of each row."""
    return np.repeat(np.arange(offsets.size - 1), np.diff(offsets))


def parts(
    family: str, prediction: F32, label: F32, offsets: I64, top: int | None, exp_gain: bool
) -> F32:
    """Return each row's part, float32 (n_rows,): query by query, ordered by rank.

    Parameters
    ----------
    family : {"ndcg", "map", "pre"}
    prediction, label : float32 array, shape (n_rows,)
    offsets : int64 array, shape (n_queries + 1,)
    top : int or None
        How many of the first ranks count; None: all.
    exp_gain : bool
        Whether the gain of a label is 2^label - 1; else it is the label.
    """
    query = query_of(offsets)
    order = np.lexsort((np.uint32(0xFFFFFFFF) - ordered(prediction), query))  # a stable sort
    label, rank = label[order], np.arange(label.size) - offsets[query]
    if family == "ndcg":
        gain = np.ldexp(_f(1), label.astype(np.int32)) - _f(1) if exp_gain else label
        part = gain * (_LN_2 * reciprocal(portable_log((rank + 2).astype(np.float32))))
    else:
        part = (label > 0).astype(np.float32)
    if family == "map":
        hits = np.cumsum(label > 0)
        hits = hits - np.concatenate([[0], hits])[offsets[:-1]][query]
        precision = hits.astype(np.float32) * reciprocal((rank + 1).astype(np.float32))
        part = part * np.where(hits == rank + 1, _f(1), np.minimum(precision, _f(1)))
    counted: F32 = part if top is None else np.where(rank < top, part, _f(0))
    return counted


F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]


class QueryMean:
    """Convert an exact sum over ranked rows to the mean over queries.

    A query's norm is its weight divided by its sum in the best ranking. The metric is the sum of
    all parts times norms, divided by the same sum in the best ranking, which thus has exactly 1.

    Parameters
    ----------
    label, weight : float32 array, shape (n_rows,)
        The weight may be None; else it is the same in all rows of a query.
    offsets : int64 array, shape (n_queries + 1,)

    Attributes
    ----------
    norms : float32 array, shape (n_queries,)
        Scaled by a common factor, so that the largest is 1.
    largest : int
        The largest key of the products, see ``numerics.product_sums``.
    """

    def __init__(self, ranked: Ranked, label: F32, weight: F32 | None, offsets: I64) -> None:
        ones = np.ones_like(label)
        best = ones if ranked.family == "pre" else label
        part = parts(ranked.family, best, best, offsets, ranked.top, ranked.exp_gain)
        ideal = np.bincount(query_of(offsets), part.astype(np.float64))
        of_query = (ones if weight is None else weight)[offsets[:-1]]
        none = ideal <= 0
        norms = np.where(none, 0.0, of_query / np.where(none, 1.0, ideal))
        self.norms: F32 = (norms / (norms.max() or 1.0)).astype(np.float32)
        first = parts(ranked.family, best, best, np.arange(label.size + 1), None, ranked.exp_gain)
        self.largest = int(key_of(first.max()[None], np.ones(1, np.float32))[0])
        self._best = sum_of(
            sum_words(part, self.norms[query_of(offsets)], self.largest), self.largest
        )
        self._weights = exact_sum(of_query, None)
        self._ranked_weights = exact_sum(np.where(none, np.float32(0), of_query), None)
        self._constant = Fraction(0)
        if not ranked.minus:  # in XGBoost, the 1 of such a query has a weight only in map
            counted = none.astype(np.float32)
            self._constant = exact_sum(counted, None if ranked.family == "ndcg" else of_query)

    def value(self, words: I64) -> float:
        """Return the metric for ``sum_words``; NaN if no query has a weight."""
        if not self._weights:
            return math.nan
        share = sum_of(words, self.largest) / self._best if self._best else Fraction(0)
        mean = (share * self._ranked_weights + self._constant) / self._weights
        return float(min(mean, Fraction(1)))


_ALL = 2**32 - 1


class RankingMetrics:
    """``ndcg``, ``map`` and ``pre`` of an evaluation set; prepared once, computed every round.

    Rows are sorted once for all metrics. A rank's part is a float32 with the same bits on every
    device, and sums are exact, so each metric has the same bits on every device.

    Parameters
    ----------
    offsets : int64 array, shape (n_queries + 1,)
    """

    def __init__(
        self, rows: EvaluatedRows, offsets: npt.NDArray[np.int64], metrics: Sequence[Ranked]
    ) -> None:
        self.rows, self.metrics = rows, list(metrics)
        self._offsets = offsets
        self.n_results = len(self.metrics)
        self._programs = [
            rows.program(
                "ranking_metric", metric=one.family, exp_gain=one.family == "ndcg" and one.exp_gain
            )
            for one in metrics
        ]
        self._ask()

    @cached_property
    def means(self) -> list[QueryMean]:
        """What converts sums to each metric."""
        own = self.rows.label, self.rows.weight, self._offsets
        return [QueryMean(one, *own) for one in self.metrics]

    def _ask(self) -> None:
        """Ask for the arrays that rows are sorted in, and for what the host knows of queries."""
        rows, array, offsets, n = self.rows, self.rows.array, self._offsets, self.rows.n_rows
        self._sort = SegmentedRadixSort(
            *(rows.device, n, offsets.size - 1, np.float32, np.uint32), descending=True,
            longest=int(np.diff(offsets).max()), offset_dtype=np.uint32,
        )  # fmt: skip
        self._keys, self._order = array("keys", n, np.float32), array("order", n, np.uint32)
        self._begins = array("offsets", offsets.size, np.uint32, offsets)
        self._query = array("query", n, np.uint32, self._upload_queries)
        self._places = array("hits", n if self._hits else 1, np.int32)
        if self._hits:
            self._scan = Scan(rows.device, n, np.int32, inclusive=True)
        self._sums = array("sums", (rows.groups, N_LIMBS), np.int64)
        self._norms = [
            array(f"norms {at}", offsets.size - 1, np.float32, partial(self._upload_norms, at))
            for at in range(len(self.metrics))
        ]

    def _upload_queries(self, query: DeviceArray) -> None:
        query.set(query_of(self._offsets))

    def _upload_norms(self, at: int, norms: DeviceArray) -> None:
        norms.set(self.means[at].norms)

    @property
    def _hits(self) -> Program | None:
        """A program that ``map`` needs."""
        pairs = zip(self.metrics, self._programs, strict=True)
        return next((program for one, program in pairs if one.family == "map"), None)

    def launches(self, results: DeviceArray, first: int) -> list[Launch]:
        """Return bound launches that write one row of results per metric, from row ``first`` on."""
        rows, groups, n, sums = self.rows, self.rows.groups, self.rows.n_rows, self._sums
        keys, order, offsets, hits = self._keys, self._order, self._begins, self._places
        launches = [self._programs[0].bind("rank_keys", groups, n, rows.margins, keys, order)]
        launches += self._sort.bind(keys, offsets, order)
        if self._hits:
            launches.append(self._hits.bind("rank_hits", groups, n, order, rows.labels, hits))
            launches += self._scan.bind(hits, hits)
        for at, (one, mean) in enumerate(zip(self.metrics, self.means, strict=True)):
            bind, norms = self._programs[at].bind, self._norms[at]
            launches += [
                bind(
                    "sum_places", groups, n_rows=n, top=min(one.top or _ALL, _ALL),
                    most=mean.largest, offsets=offsets, query=self._query, order=order,
                    labels=rows.labels, hits=hits, norms=norms, sums=sums,
                ),
                bind("total_places", 1, groups, first + N_WORDS * at, sums, results),
            ]  # fmt: skip
        return launches

    def values(self, words: npt.NDArray[np.int64]) -> list[float]:
        """Return each metric, a float64, from its row of results."""
        return [mean.value(own) for mean, own in zip(self.means, words, strict=True)]


class RankingKind(MetricKind):
    """``ndcg``, ``map`` and ``pre``: a set's rows are sorted once for all."""

    def takes(self, metric: Metric) -> bool:
        return ranked_of(metric) is not None

    def suits(self, metric: Metric, objective: Objective, rows: Dataset) -> bool:
        return max(objective.n_outputs, rows.n_targets) == 1

    def prepare(
        self, data: Dataset, rows: EvaluatedRows, metrics: Mapping[str, Metric]
    ) -> Iterator[tuple[RankingMetrics, list[str]]]:
        offsets = whole_offsets(data.group_offsets, data.n_rows)
        yield RankingMetrics(rows.of("queries"), offsets, _ranked(metrics)), list(metrics)


def _ranked(metrics: Mapping[str, Metric]) -> list[Ranked]:
    return [one for metric in metrics.values() if (one := ranked_of(metric))]
