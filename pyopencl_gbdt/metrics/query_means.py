"""Host's part of ranking metrics: the best value that each query can reach, and weights."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.metrics.query_parts import parts, query_of
from pyopencl_gbdt.metrics.ranking import Ranked
from pyopencl_gbdt.numerics.exact_sums import exact_sum
from pyopencl_gbdt.numerics.product_sums import key_of, sum_of, sum_words

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]


class QueryMean:
    """Convert an exact sum over ranked rows to the mean over queries.

    A query's norm is its weight divided by its sum in the best ranking. The metric is the sum of
    all parts times norms, divided by the same sum in the best ranking, which thus has exactly 1.

    Parameters
    ----------
    ranked : Ranked
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
