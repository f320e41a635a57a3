"""Twin of ``gradients.lambda_gradients``: query by query, pair by pair."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.numerics.portable_math import (
    df_from_i64,
    ordered,
    portable_exp,
    portable_log,
    portable_log1p,
    reciprocal,
    scale_by,
    to_quanta,
)
from pyopencl_gbdt.numerics.random_numbers import mix
from pyopencl_gbdt.objectives.query_tables import QueryTables, query_tables
from pyopencl_gbdt.objectives.ranking import LambdaRank

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
_f = np.float32

#: Larger differences of margins are clamped to this.
_FAR = _f(2.0**40)
#: Smaller numbers count as 0, so that no result depends on a device's subnormals.
_TINY = _f(2.0**-100)
#: Added to the difference of margins that divides a pair's weight; XGBoost's value.
_SPREAD = _f(0.01)
_LEAST_CURVE = _f(1e-16)
_INVERSE_LN_2 = _f(1.44269502)
#: Bounds of the inverse of a bias ratio, and of the losses of a row.
_LEAST_INVERSE, _MOST_INVERSE = _f(2.0**-20), _f(2.0**20)
_MOST_LOSS = _f(2.0**16)


@dataclass
class Query:
    """The rows of one query: margins, labels, gains, ranks, and rows by rank."""

    margin: F32
    label: F32
    gain: F32
    rank: I64
    order: I64
    relevant: F32
    precision: F32


class LambdaGradients:
    """Computes the gradients of round after round.

    Parameters
    ----------
    loss : LambdaRank
    data : Dataset
    seed : int
        ``random_state``, for pairs by ``mean``.
    """

    def __init__(self, loss: LambdaRank, data: Dataset, seed: int = 0) -> None:
        self.loss, self.label, self.seed = loss, data.label, seed
        self.tables: QueryTables = query_tables(loss, data)
        n = loss.n_positions(self.tables.longest)
        self.inverse = np.ones((2, n), np.float32)  # 1 / t+ and 1 / t-

    def __call__(self, number: int, margins: F32) -> tuple[F32, F32]:
        """Return a round's g and h, float32 (1, n_rows), from margins (1, n_rows)."""
        margin, offsets = margins[0], self.tables.offsets.astype(np.int64)
        g, h = np.zeros_like(margin), np.zeros_like(margin)
        losses = np.zeros((2, margin.size), np.float32)
        for begin, end in pairwise(offsets):
            rows = slice(begin, end)
            query = self._query(margin[rows], rows)
            drawn = self._draw(number, rows) if self.loss.is_mean else None
            g[rows], h[rows] = self._lambdas(query, drawn, losses[:, rows])
        if self.loss.lambdarank_unbiased:
            self._update_bias(losses, offsets)
        return g[None], h[None]

    def _query(self, margin: F32, rows: slice) -> Query:
        label = self.label[rows]
        order = np.argsort(~ordered(margin), kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        discount = self.tables.discount[: order.size]
        relevant = np.cumsum(label[order], dtype=np.float32)
        precision = np.cumsum(label[order] * discount, dtype=np.float32)
        return Query(margin, label, self.tables.gain[rows], rank, order, relevant, precision)

    def _draw(self, number: int, rows: slice) -> I64:
        """Return each row's partners, int64 (pairs, rows of the query); -1 means no partner."""
        t = self.tables
        begin, end = t.bucket_begin[rows].astype(np.int64), t.bucket_end[rows].astype(np.int64)
        others = begin.size - (end - begin)
        with np.errstate(over="ignore"):
            bits = mix(
                mix(np.array([self.seed], np.uint32) + np.uint32(0x9E3779B9)) + np.uint32(number)
            )
            bits = mix(bits + np.arange(rows.start, rows.stop, dtype=np.uint32))
        found = []
        for pair in range(self.loss.n_pairs):
            with np.errstate(over="ignore"):
                chosen = (
                    mix(bits + np.uint32(pair)).astype(np.uint64) * others.astype(np.uint64)
                ) >> 32
            place = chosen.astype(np.int64)
            place = np.where(place < begin, place, place - begin + end)
            partner = t.by_label[rows][np.minimum(place, begin.size - 1)].astype(np.int64)
            found.append(np.where(others > 0, partner, -1))
        return np.array(found)

    def _lambdas(self, query: Query, drawn: I64 | None, losses: F32) -> tuple[F32, F32]:
        """Return a query's g and h; add losses of its rows, as better and as worse row."""
        n, loss = query.margin.size, self.loss
        g, h, size = (np.zeros(n, np.float32) for _ in range(3))
        everyone = np.arange(n)

        def add(rows: I64, partners: I64) -> None:
            pull, curve, cost = self._pairs(query, rows, partners)
            better = query.label[rows] > query.label[partners]
            g[rows] = g[rows] + np.where(better, -pull, pull)
            h[rows] = h[rows] + curve
            size[rows] = size[rows] + pull
            k = self.inverse.shape[1]
            known = (rows < k) & (partners < k)
            for side, mine in ((0, better), (1, ~better)):
                here = known & mine
                weight = self.inverse[1 - side][partners[here]]
                losses[side][rows[here]] += cost[here] * weight

        if drawn is None:
            for rank, partner in enumerate(query.order):
                rows = everyone if rank < loss.n_pairs else everyone[query.rank < loss.n_pairs]
                rows = rows[query.label[rows] != query.label[partner]]
                add(rows, np.full(rows.size, partner))
        else:
            for partners in drawn:
                rows = everyone[partners >= 0]
                add(rows, partners[rows])
            for partner in everyone:
                for row in drawn[:, partner]:
                    if row >= 0:
                        add(np.array([row]), np.array([partner]))
        factor = np.full(1, self.tables.factor)
        if loss.lambdarank_normalization and drawn is None:
            total = np.cumsum(size, dtype=np.float32)[-1:]
            if total[0] > 0:
                logs = portable_log1p(total) * _INVERSE_LN_2
                factor = (logs * reciprocal(total)) * factor
        return g * factor, h * factor

    def _pairs(self, query: Query, rows: I64, partners: I64) -> tuple[F32, ...]:
        """Return lambda, Hessian and loss of pairs with different labels; all are >= 0."""
        better = query.label[rows] > query.label[partners]
        d = query.margin[rows] - query.margin[partners]
        d = np.where(better, d, -d)
        size = np.minimum(np.abs(d), _FAR)
        e = portable_exp(-size)
        r = reciprocal(_f(1.0) + e)
        er = e * r
        delta = self._delta(query, rows, partners)
        if self.loss.lambdarank_score_normalization and (
            query.margin[query.order[0]] != query.margin[query.order[-1]]
        ):
            delta = delta * reciprocal(size + _SPREAD)
        pull = np.where(d < 0, r, er) * delta
        curve = (np.maximum(er * r, _LEAST_CURVE) * delta) * _f(2.0)
        cost = np.zeros_like(delta)
        if self.loss.lambdarank_unbiased:
            cost = (portable_log1p(e) + np.where(d > 0, size, _f(0.0))) * delta
            high, low = np.where(better, rows, partners), np.where(better, partners, rows)
            k = self.inverse.shape[1]
            plus = self.inverse[0][np.minimum(high, k - 1)]
            minus = self.inverse[1][np.minimum(low, k - 1)]
            known = (high < k) & (low < k) & (plus > 0) & (minus > 0)
            weight = np.where(known, plus * minus, _f(1.0))
            pull, curve = pull * weight, curve * weight
        return tuple(np.where(part < _TINY, _f(0.0), part) for part in (pull, curve, cost))

    def _delta(self, query: Query, rows: I64, partners: I64) -> F32:
        """Return the change of the metric if two rows are swapped."""
        if self.loss.name == "rank:pairwise":
            return np.ones(rows.size, np.float32)
        discount, rank = self.tables.discount, query.rank
        if self.loss.name == "rank:ndcg":
            gains = np.abs(query.gain[rows] - query.gain[partners])
            weights: F32 = gains * np.abs(discount[rank[rows]] - discount[rank[partners]])
            return weights
        a = np.minimum(rank[rows], rank[partners])
        b = np.maximum(rank[rows], rank[partners])
        n, m = query.relevant[a], query.relevant[b]
        between = query.precision[b - 1] - query.precision[a]
        first = query.label[query.order[a]] == 0
        rise = (m * discount[b] - (n + _f(1.0)) * discount[a]) - between
        fall = (n * discount[a] - m * discount[b]) + between
        changes: F32 = np.abs(np.where(first, rise, fall)) * query.gain[rows]
        return changes

    def _update_bias(self, losses: F32, offsets: I64) -> None:
        scale = self.tables.loss_scale
        n = self.inverse.shape[1]
        place = np.arange(losses.shape[1]) - np.repeat(offsets[:-1], np.diff(offsets))
        for side in range(2):
            quanta = to_quanta(np.minimum(losses[side], _MOST_LOSS), scale)
            sums = np.array([quanta[place == k].sum() for k in range(n)])
            if sums[0] < 1:
                continue
            values = scale_by(df_from_i64(sums)[0], -scale)
            ratio = values * reciprocal(values[:1])
            power = _f(1.0 / (1.0 + self.loss.lambdarank_bias_norm))
            t = portable_exp(portable_log(ratio) * power)
            inverse = np.clip(reciprocal(t), _LEAST_INVERSE, _MOST_INVERSE)
            self.inverse[side] = np.where(sums > 0, inverse, _f(0.0))
