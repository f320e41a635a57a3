"""Gradients of ranking losses, from pairs of rows of each query."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from pyopencl_gbdt.device import DeviceArray, Program
from pyopencl_gbdt.device.arena import Arena
from pyopencl_gbdt.device.program import Action, Parts
from pyopencl_gbdt.device.team.messages import QueryLabels
from pyopencl_gbdt.fit.nodes import Nodes
from pyopencl_gbdt.fit.rows import FitRows
from pyopencl_gbdt.fit.ways import Ways
from pyopencl_gbdt.objectives.query_tables import QueryTables, joined, query_facts, query_tables

if TYPE_CHECKING:
    from pyopencl_gbdt.data.dataset import Dataset
    from pyopencl_gbdt.objectives.ranking import LambdaRank

#: Tables of each query's rows in the order of their labels, for drawing partners.
_BY_LABEL = ("by_label", "bucket_begin", "bucket_end")
#: What a row reads of another row of its query, about.
_PAIR_BYTES = 16


class LambdaGradients:
    """Computes ``given_g`` and ``given_h`` of a ranking loss; one work-item sums a row's pairs.

    ``data``: labels, weights and queries.
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
