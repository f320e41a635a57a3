"""Gradients of ranking losses, from pairs of rows of each query."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.groups import whole_offsets
from pyopencl_gbdt.device import DeviceArray, Program
from pyopencl_gbdt.device.arena import Arena
from pyopencl_gbdt.device.program import Action, Parts
from pyopencl_gbdt.device.team.messages import QueryLabels
from pyopencl_gbdt.fit.nodes import Nodes
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.fit.ways import Ways
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.numerics.portable_math import exact_sum, portable_log, reciprocal

if TYPE_CHECKING:
    from pyopencl_gbdt.data.dataset import Dataset
    from pyopencl_gbdt.objectives.ranking import LambdaRank

#: Tables of each query's rows in the order of their labels, for drawing partners.
_BY_LABEL = ("by_label", "bucket_begin", "bucket_end")
#: What a row reads of another row of its query, about.
_PAIR_BYTES = 16

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
_LN_2 = np.float32(0.693147182)


@dataclass(frozen=True)
class QueryTables:
    """Rows, gains and discounts of queries, which stay while a ranking model is trained.

    They come from exact sums and ``portable_log``: the same bits on every machine.

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

    Parameters
    ----------
    loss : LambdaRank
    data : Dataset
    facts : QueryFacts or None
        Those of all rows, if the data are a part of them.
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


class LambdaGradients:
    """Computes ``given_g`` and ``given_h`` of a ranking loss; one work-item sums a row's pairs.

    Parameters
    ----------
    arena, rows, nodes, ways
    loss : LambdaRank
    data : Dataset
        Labels, weights and queries.
    """

    def __init__(
        self, arena: Arena, rows: FitRows, nodes: Nodes, ways: Ways, loss: LambdaRank, data: Dataset
    ) -> None:
        own = query_facts(data)
        self.arena, self.rows, self.nodes, self.ways = arena, rows, nodes, ways
        self.loss, self._data = loss, data
        self._facts = joined(rows.team.exchange(QueryLabels, own))
        self.n_queries = own.n_queries
        self.n_positions = loss.n_positions(self._facts.longest)
        self.metric = loss.name.removeprefix("rank:")
        self.program = ways.build_kernel(
            "gradients",
            template="lambda_gradients",
            metric=self.metric,
            mean=loss.is_mean,
            unbiased=loss.lambdarank_unbiased,
            spread=loss.lambdarank_score_normalization,
            normed=loss.lambdarank_normalization and not loss.is_mean,
        )
        if loss.is_mean:
            self.drawing = self._build("draw_partners")
        if loss.lambdarank_unbiased:
            self.bias = self._build("position_bias")
        self._next = -1
        self._ask_for_tables(own.longest)
        self._ask_for_sums()

    @cached_property
    def tables(self) -> QueryTables:
        """What stays constant of queries; computed when it is needed first."""
        return query_tables(self.loss, self._data, self._facts)

    def _ask_for_tables(self, longest: int) -> None:
        """Ask for the tables of queries, of which the longest one has so many rows."""
        n = self.rows.n_rows
        tables = {
            "offsets": ("query_offsets", self.n_queries + 1, np.uint32),
            "query": ("query", n, np.uint32),
            "gain": ("query_gain", n, np.float32),
            "discount": ("query_discount", longest, np.float32),
            **{name: (name, n, np.uint32) for name in _BY_LABEL if self.loss.is_mean},
        }
        for table, planned in tables.items():
            self.arena.array(*planned, partial(self._upload, table))

    def _upload(self, table: str, array: DeviceArray) -> None:
        array.set(getattr(self.tables, table))

    def _ask_for_sums(self) -> None:
        """Ask for ranks, sums of pairs, and the bias of positions."""
        loss, n, positions = self.loss, self.rows.n_rows, (2, self.n_positions)
        arena = self.arena
        for name in ("ranks", "rank_order"):
            arena.array(name, n, np.uint32)
        for name in ("relevant", "precision"):
            arena.array(name, n if self.metric == "map" else 1, np.float32)
        arena.array("partners", (loss.n_pairs, n) if loss.is_mean else 1, np.uint32)
        arena.array("lambda_sizes", n, np.float32)
        arena.array("position_losses", (2, n if loss.lambdarank_unbiased else 1), np.float32)
        arena.array("position_sums", positions, np.int64)
        arena.array("position_inverse", positions, np.float32, np.ones(positions))
        arena.array("rank_round", 1, np.uint32)

    def _build(self, template: str) -> Program:
        return self.ways.build_kernel("gradients", template=template)

    def before_round(self, number: int) -> None:
        """Upload the first round's number; the device counts the next rounds itself."""
        if number != self._next:
            self.arena["rank_round"].set([number])
        self._next = number + 1

    def launches(self) -> list[Action]:
        """Return the launches of a round."""
        loss, bind, groups = self.loss, self.program.bind, self.rows.row_groups
        arena, rows = self.arena, self.rows
        n_rows, n_queries = rows.n_rows, self.n_queries
        n_pairs = min(loss.n_pairs, rows.n_rows) if not loss.is_mean else loss.n_pairs
        offsets, query, margins = arena["query_offsets"], arena["query"], arena["margins"]
        ranks, order, g, h = (
            arena["ranks"],
            arena["rank_order"],
            arena["given_g"],
            arena["given_h"],
        )
        parts = self._parts()
        launches: list[Action] = [*parts.bind(
            self.program, "rank_documents", groups, n_rows=n_rows, offsets=offsets, query=query,
            margins=margins, ranks=ranks, order=order,
        )]  # fmt: skip
        if self.metric == "map":
            launches.append(bind(
                "sum_precisions", groups, n_queries=n_queries, offsets=offsets, order=order,
                discount=arena["query_discount"],
                **arena.arguments("labels", "relevant", "precision"),
            ))  # fmt: skip
        if loss.is_mean:
            launches.append(self.drawing.bind(
                "draw_partners", groups, n_rows=n_rows, first_row=rows.share.first_row,
                n_pairs=n_pairs,
                seed=self.nodes.params.random_state, number=arena["rank_round"], offsets=offsets,
                query=query,
                **arena.arguments("by_label", "bucket_begin", "bucket_end", "partners"),
            ))  # fmt: skip
        launches += [
            *parts.bind(
                self.program, "lambdas", groups, n_rows=n_rows, n_pairs=n_pairs,
                n_positions=self.n_positions, offsets=offsets, query=query, margins=margins,
                ranks=ranks, order=order, gain=arena["query_gain"],
                discount=arena["query_discount"],
                inverse=arena["position_inverse"], g=g, h=h, sizes=arena["lambda_sizes"],
                losses=arena["position_losses"],
                **arena.arguments("labels", "relevant", "precision", "partners"),
            ),
            *parts.bind(
                self.program, "scale_lambdas", groups, n_rows=n_rows, factor=self.tables.factor,
                offsets=offsets, query=query, sizes=arena["lambda_sizes"], g=g, h=h,
                number=arena["rank_round"],
            ),
        ]  # fmt: skip
        return launches + (self._bias() if loss.lambdarank_unbiased else [])

    def _parts(self) -> Parts:
        """Return launches that share the rows, as many as if all queries were the longest."""
        n_pairs = float(self.rows.n_rows) * self._facts.longest
        return Parts.of(self.arena.device.caps, _PAIR_BYTES * n_pairs)

    def _bias(self) -> list[Action]:
        """Return the launches that estimate the positions' bias for the next round."""
        bind, n = self.bias.bind, self.n_positions
        arena, rows = self.arena, self.rows
        scale = self.tables.loss_scale
        power = 1.0 / (1.0 + self.loss.lambdarank_bias_norm)
        return [
            bind(
                "sum_losses", (n, 2), rows.n_rows, self.n_queries, scale, arena["query_offsets"],
                arena["position_losses"], arena["position_sums"],
            ),
            *rows.team.sum(arena["position_sums"]),
            bind(
                "update_bias", 1, n, scale, power, arena["position_sums"], arena["position_inverse"]
            ),
        ]  # fmt: skip
