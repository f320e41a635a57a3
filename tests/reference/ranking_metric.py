"""Twin of ``evaluation.ranking_metric``: what each row of ranked queries adds to a metric."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.portable_math import portable_log, reciprocal
from tests.reference.mean_loss import sum_words

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
_f = np.float32
_LN_2 = _f(0.693147182)


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
    found = np.zeros(label.size, np.float32)
    ranks = np.arange(1, label.size + 1).astype(np.float32)
    of_rank = reciprocal(ranks)
    discount = _LN_2 * reciprocal(portable_log(ranks + _f(1)))
    for begin, end in pairwise(offsets.tolist()):
        order = sorted(range(begin, end), key=lambda row: -prediction[row])  # a stable sort
        hits = 0
        for rank, row in enumerate(order[:top]):
            relevant = label[row] > 0
            hits += relevant
            if family == "ndcg":
                gain = _f(2.0 ** float(label[row])) - _f(1) if exp_gain else label[row]
                part = gain * discount[rank]
            elif family == "pre":
                part = _f(relevant)
            else:
                exact = hits == rank + 1
                precision = _f(1) if exact else min(_f(hits) * of_rank[rank], _f(1))
                part = precision if relevant else _f(0)
            found[begin + rank] = part
    return found


def ranked_words(part: F32, offsets: I64, norms: F32, largest: int) -> I64:
    """Return the words of the sum of ``parts`` times their queries' norms.

    Parameters
    ----------
    norms : float32 array, shape (n_queries,)
    largest : int
        As in ``sum_words``.
    """
    return sum_words(part, np.repeat(norms, np.diff(offsets)), largest)
