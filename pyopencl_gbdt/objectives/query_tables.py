"""What stays constant while a ranking model is trained, as kernels and their twin take it.

The numbers come from exact sums and ``portable_log``: the same bits on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.groups import whole_offsets
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.numerics.portable_math import exact_sum, portable_log, reciprocal

if TYPE_CHECKING:
    from pyopencl_gbdt.data.dataset import Dataset
    from pyopencl_gbdt.objectives.ranking import LambdaRank

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
_LN_2 = np.float32(0.693147182)


@dataclass(frozen=True)
class QueryTables:
    """Rows, gains and discounts of queries.

    Attributes
    ----------
    offsets : uint32 array, shape (n_queries + 1,)
    query : uint32 array, shape (n_rows,)
        The query of each row.
    discount : float32 array, shape (longest,)
        For rank k from 0: 1 / log2(k + 2), or 1 / (k + 1) for ``rank:map``.
    gain : float32 array, shape (n_rows,)
        The label's gain divided by the query's largest DCG, or 0 if that is 0. For ``rank:map``
        1 divided by the number of relevant rows of the query.
    by_label, bucket_begin, bucket_end : uint32 array, shape (n_rows,)
        ``by_label`` lists each query's rows by descending label, as positions within the query.
        For every row, the others say where its label's rows begin and end in that list.
    loss_scale : int
        The exponent of the fixed-point unit for sums of losses, each below 2^16.
    factor : float32
        Factor of all gradients: the number of queries divided by the sum of their weights, and
        for pairs by ``mean`` divided by the number of pairs per row.
    """

    offsets: U32
    query: U32
    discount: F32
    gain: F32
    by_label: U32
    bucket_begin: U32
    bucket_end: U32
    loss_scale: int
    factor: np.float32

    @property
    def longest(self) -> int:
        return longest_of(self.offsets)


@dataclass(frozen=True)
class QueryFacts:
    """What gradients depend on beside the rows of their query.

    Attributes
    ----------
    n_queries, longest : int
        Number of queries, and the number of rows of the longest one.
    weight : Fraction or None
        Sum of the queries' weights.
    """

    n_queries: int
    longest: int
    weight: Fraction | None


def query_facts(data: Dataset) -> QueryFacts:
    """Return the facts of some rows; without queries, all rows are one query."""
    offsets = whole_offsets(data.group_offsets, data.n_rows)
    weight = None if data.weight is None else exact_sum(data.weight[offsets[:-1]], None)
    return QueryFacts(offsets.size - 1, longest_of(offsets), weight)


def joined(facts: Sequence[QueryFacts]) -> QueryFacts:
    """Return the facts of all parts of the rows."""
    weights = [own.weight for own in facts if own.weight is not None]
    return QueryFacts(
        sum(own.n_queries for own in facts),
        max(own.longest for own in facts),
        sum(weights, Fraction()) if weights else None,
    )


def longest_of(offsets: npt.NDArray[Any]) -> int:
    """Return the number of rows of the longest query; 0 without queries."""
    return int(np.diff(offsets).max(initial=0))


def query_tables(loss: LambdaRank, data: Dataset, facts: QueryFacts | None = None) -> QueryTables:
    """Compute the tables of a loss for some data; without queries, all rows are one query.

    ``facts``: those of all rows, if the data are a part of them.
    """
    facts = facts or query_facts(data)
    offsets = whole_offsets(data.group_offsets, data.n_rows)
    query = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    order = np.lexsort((-data.label, query))  # a stable sort
    place = np.arange(data.n_rows) - offsets[query]
    ranks = np.arange(longest_of(offsets))
    discount = _discount(loss, ranks)
    begin, end = _buckets(data.label[order], query)
    bucket_begin, bucket_end = np.empty_like(begin), np.empty_like(end)
    bucket_begin[order], bucket_end[order] = begin - offsets[query], end - offsets[query]
    return QueryTables(
        offsets=offsets.astype(np.uint32),
        query=query.astype(np.uint32),
        discount=discount,
        gain=_gain(loss, data.label, query, order, place, discount),
        by_label=(order - offsets[query]).astype(np.uint32),
        bucket_begin=bucket_begin.astype(np.uint32),
        bucket_end=bucket_end.astype(np.uint32),
        loss_scale=min(32, 46 - facts.n_queries.bit_length()),
        factor=_factor(loss, facts),
    )


def _discount(loss: LambdaRank, ranks: I64) -> F32:
    if loss.name == "rank:map":
        return (1.0 / (ranks + 1.0)).astype(np.float32)
    inverse: F32 = _LN_2 * reciprocal(portable_log((ranks + 2).astype(np.float32)))
    return inverse


def _gain(loss: LambdaRank, label: F32, query: I64, order: I64, place: I64, discount: F32) -> F32:
    """Return gains divided by each query's best sum; sums run row by row in float64."""
    wide = label.astype(np.float64)
    if loss.name == "rank:map":
        gain, share = np.ones(label.size), wide
    else:
        exponential = loss.ndcg_exp_gain and loss.name == "rank:ndcg"
        gain = (np.ldexp(1.0, label.astype(np.int64)) - 1.0) if exponential else wide
        gain = gain.astype(np.float32).astype(np.float64)
        counts = place < (np.inf if loss.is_mean else loss.n_pairs)
        share = gain[order] * np.where(counts, discount[place], 0)  # exact: two factors of 24 bits
    total = np.bincount(query, weights=share)[query]
    return (gain * np.where(total > 0, 1.0 / np.where(total > 0, total, 1.0), 0)).astype(np.float32)


def _buckets(label: F32, query: I64) -> tuple[I64, I64]:
    """Return where runs of equal labels in a query begin and end; rows are sorted by both."""
    heads = np.r_[True, (label[1:] != label[:-1]) | (query[1:] != query[:-1])]
    starts = np.append(np.flatnonzero(heads), label.size)
    bucket = np.cumsum(heads) - 1
    return starts[bucket], starts[bucket + 1]


def _factor(loss: LambdaRank, facts: QueryFacts) -> np.float32:
    factor = 1.0
    if facts.weight is not None:
        factor = float(facts.n_queries / facts.weight)
    if loss.is_mean and loss.lambdarank_normalization:
        factor /= loss.n_pairs
    rounded: np.float32 = np.float32(min(max(factor, 1e-30), 1e30))
    return rounded
