"""What each row of a ranked query adds to a metric, on the host."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.portable_log import portable_log
from pyopencl_gbdt.numerics.portable_math import ordered, reciprocal

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
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
