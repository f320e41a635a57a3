"""Gradients of ranking losses, from pairs of rows of each query."""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from pyopencl_gbdt.device import DeviceArray, Program
from pyopencl_gbdt.device.launch_size import Parts
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.device.team_messages import QueryLabels
from pyopencl_gbdt.fit.workspace import Workspace
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

    Parameters
    ----------
    ws : Workspace
    loss : LambdaRank
    data : Dataset
        Labels, weights and queries.
    """

    def __init__(self, ws: Workspace, loss: LambdaRank, data: Dataset) -> None:
        own = query_facts(data)
        self.ws, self.loss, self._data = ws, loss, data
        self._facts = joined(ws.team.exchange(QueryLabels, own))
        self.n_queries = own.n_queries
        self.n_positions = loss.n_positions(self._facts.longest)
        self.metric = loss.name.removeprefix("rank:")
        self.program = ws.build(
            "gradients",
            lambda variant: ws.device.build(
                "lambda_gradients",
                wg_size=ws.wg_size(variant),
                metric=self.metric,
                mean=loss.is_mean,
                unbiased=loss.lambdarank_unbiased,
                spread=loss.lambdarank_score_normalization,
                normed=loss.lambdarank_normalization and not loss.is_mean,
            ),
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
        n = self.ws.n_rows
        tables = {
            "offsets": ("query_offsets", self.n_queries + 1, np.uint32),
            "query": ("query", n, np.uint32),
            "gain": ("query_gain", n, np.float32),
            "discount": ("query_discount", longest, np.float32),
            **{name: (name, n, np.uint32) for name in _BY_LABEL if self.loss.is_mean},
        }
        for table, planned in tables.items():
            self.ws.array(*planned, partial(self._upload, table))

    def _upload(self, table: str, array: DeviceArray) -> None:
        array.set(getattr(self.tables, table))

    def _ask_for_sums(self) -> None:
        """Ask for ranks, sums of pairs, and the bias of positions."""
        ws, loss, n, positions = self.ws, self.loss, self.ws.n_rows, (2, self.n_positions)
        for name in ("ranks", "rank_order"):
            ws.array(name, n, np.uint32)
        for name in ("relevant", "precision"):
            ws.array(name, n if self.metric == "map" else 1, np.float32)
        ws.array("partners", (loss.n_pairs, n) if loss.is_mean else 1, np.uint32)
        ws.array("lambda_sizes", n, np.float32)
        ws.array("position_losses", (2, n if loss.lambdarank_unbiased else 1), np.float32)
        ws.array("position_sums", positions, np.int64)
        ws.array("position_inverse", positions, np.float32, np.ones(positions))
        ws.array("rank_round", 1, np.uint32)

    def _build(self, template: str) -> Program:
        ws = self.ws
        build = ws.device.build
        return ws.build("gradients", lambda variant: build(template, wg_size=ws.wg_size(variant)))

    def before_round(self, number: int) -> None:
        """Upload the first round's number; the device counts the next rounds itself."""
        if number != self._next:
            self.ws["rank_round"].set([number])
        self._next = number + 1

    def launches(self) -> list[Action]:
        """Return the launches of a round."""
        ws, loss, bind, groups = self.ws, self.loss, self.program.bind, self.ws.row_groups
        n_rows, n_queries = ws.n_rows, self.n_queries
        n_pairs = min(loss.n_pairs, ws.n_rows) if not loss.is_mean else loss.n_pairs
        offsets, query, margins = ws["query_offsets"], ws["query"], ws["margins"]
        ranks, order, g, h = ws["ranks"], ws["rank_order"], ws["given_g"], ws["given_h"]
        parts = self._parts()
        launches: list[Action] = [*parts.bind(
            self.program, "rank_documents", groups, n_rows=n_rows, offsets=offsets, query=query,
            margins=margins, ranks=ranks, order=order,
        )]  # fmt: skip
        if self.metric == "map":
            launches.append(bind(
                "sum_precisions", groups, n_queries=n_queries, offsets=offsets, order=order,
                discount=ws["query_discount"], **ws.arguments("labels", "relevant", "precision"),
            ))  # fmt: skip
        if loss.is_mean:
            launches.append(self.drawing.bind(
                "draw_partners", groups, n_rows=n_rows, first_row=ws.share.first_row,
                n_pairs=n_pairs,
                seed=ws.params.random_state, number=ws["rank_round"], offsets=offsets, query=query,
                **ws.arguments("by_label", "bucket_begin", "bucket_end", "partners"),
            ))  # fmt: skip
        launches += [
            *parts.bind(
                self.program, "lambdas", groups, n_rows=n_rows, n_pairs=n_pairs,
                n_positions=self.n_positions, offsets=offsets, query=query, margins=margins,
                ranks=ranks, order=order, gain=ws["query_gain"], discount=ws["query_discount"],
                inverse=ws["position_inverse"], g=g, h=h, sizes=ws["lambda_sizes"],
                losses=ws["position_losses"],
                **ws.arguments("labels", "relevant", "precision", "partners"),
            ),
            *parts.bind(
                self.program, "scale_lambdas", groups, n_rows=n_rows, factor=self.tables.factor,
                offsets=offsets, query=query, sizes=ws["lambda_sizes"], g=g, h=h,
                number=ws["rank_round"],
            ),
        ]  # fmt: skip
        return launches + (self._bias() if loss.lambdarank_unbiased else [])

    def _parts(self) -> Parts:
        """Return launches that share the rows, so many that all may be of the longest query."""
        n_pairs = float(self.ws.n_rows) * self._facts.longest
        return Parts.of(self.ws.device.caps, _PAIR_BYTES * n_pairs)

    def _bias(self) -> list[Action]:
        """Return the launches that estimate the positions' bias for the next round."""
        ws, bind, n = self.ws, self.bias.bind, self.n_positions
        scale = self.tables.loss_scale
        power = 1.0 / (1.0 + self.loss.lambdarank_bias_norm)
        return [
            bind(
                "sum_losses", (n, 2), ws.n_rows, self.n_queries, scale, ws["query_offsets"],
                ws["position_losses"], ws["position_sums"],
            ),
            *ws.team.sum(ws["position_sums"]),
            bind(
                "update_bias", 1, n, scale, power, ws["position_sums"], ws["position_inverse"]
            ),
        ]  # fmt: skip
