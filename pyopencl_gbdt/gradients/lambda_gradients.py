"""Gradients of ranking losses, from pairs of rows of each query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pyopencl_gbdt.device import Program
from pyopencl_gbdt.device.launch_size import Parts
from pyopencl_gbdt.device.program import Action
from pyopencl_gbdt.fit.workspace import Workspace
from pyopencl_gbdt.objectives.query_tables import joined, query_facts, query_tables

if TYPE_CHECKING:
    from pyopencl_gbdt.data.dataset import Dataset
    from pyopencl_gbdt.objectives.ranking import LambdaRank

#: Tables of each query's rows in the order of their labels, for drawing partners.
_BY_LABEL = ("by_label", "bucket_begin", "bucket_end")
#: What a row reads of another row of its query, about.
_PAIR_BYTES = 16


def reserve(ws: Workspace, loss: LambdaRank, n_queries: int, longest: int) -> None:
    """Plan the memory of query tables, ranks and sums of pairs.

    ``longest`` is the number of rows of the longest query.
    """
    n, of_map = ws.n_rows, loss.name == "rank:map"
    positions = (2, loss.n_positions(longest))
    ws.reserve("query_offsets", n_queries + 1, np.uint32)
    ws.reserve("query", n, np.uint32)
    ws.reserve("query_gain", n, np.float32)
    ws.reserve("query_discount", longest, np.float32)
    for name in _BY_LABEL if loss.is_mean else ():
        ws.reserve(name, n, np.uint32)
    for name in ("ranks", "rank_order"):
        ws.reserve(name, n, np.uint32)
    for name in ("relevant", "precision"):
        ws.reserve(name, n if of_map else 1, np.float32)
    ws.reserve("partners", (loss.n_pairs, n) if loss.is_mean else 1, np.uint32)
    ws.reserve("lambda_sizes", n, np.float32)
    ws.reserve("position_losses", (2, n if loss.lambdarank_unbiased else 1), np.float32)
    ws.reserve("position_sums", positions, np.int64)
    ws.reserve("position_inverse", positions, np.float32)
    ws.reserve("rank_round", 1, np.uint32)


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
        facts = joined(ws.team.exchange(query_facts(data)))
        self.ws, self.loss, self.tables = ws, loss, query_tables(loss, data, facts)
        tables = self.tables
        self.n_queries = tables.offsets.size - 1
        self.n_positions = loss.n_positions(facts.longest)
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
        self._fixed = {
            "query_offsets": tables.offsets,
            "query": tables.query,
            "query_gain": tables.gain,
            "query_discount": tables.discount,  # of the ranks that a member's queries have
        }
        if loss.is_mean:
            self._fixed |= {name: getattr(tables, name) for name in _BY_LABEL}
        reserve(ws, loss, self.n_queries, facts.longest)

    def _build(self, template: str) -> Program:
        ws = self.ws
        build = ws.device.build
        return ws.build("gradients", lambda variant: build(template, wg_size=ws.wg_size(variant)))

    def begin(self) -> None:
        """Upload the tables, and reset the bias of positions."""
        for name, values in self._fixed.items():
            self.ws[name].set(values)
        self.ws["position_inverse"].set(np.ones((2, self.n_positions), np.float32))
        self._next = -1

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
        """Return the launches that share the pairs of all queries, which each kernel may visit."""
        sizes = np.diff(self.tables.offsets).astype(np.float64)
        return Parts.of(self.ws.device.caps, _PAIR_BYTES * float(np.square(sizes).sum()))

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
