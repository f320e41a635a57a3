"""Ranking metrics: NDCG, mean average precision and precision.

Each takes float32 labels and predictions of shape (n_rows,); weights or None, where all rows of
a query have the query's weight; and int64 query offsets, shape (n_queries + 1,), or None if all
rows are one query. XGBoost 3.2, ``src/metric/rank_metric.cc``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.groups import whole_offsets
from pyopencl_gbdt.data.targets import refuse
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from pyopencl_gbdt.parameters.parameters import Parameters

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
_SUFFIX = re.compile(r"([1-9][0-9]{0,8})?(-?)")


def ndcg(
    label: F32,
    prediction: F32,
    weight: F32 | None = None,
    offsets: I64 | None = None,
    *,
    top: int | None = None,
    minus: bool = False,
    exp_gain: bool = True,
) -> float:
    """Return the normalised discounted cumulative gain of the ``top`` rows, mean over queries.

    Parameters
    ----------
    label, prediction, weight, offsets
        See the module.
    top : int or None
        Number of rows per query that count, by prediction; None is all. Ties keep their order.
    minus : bool
        Whether queries without a relevant row count 0 instead of 1.
    exp_gain : bool
        Whether a label's gain is 2^label - 1; else it is the label.

    Raises
    ------
    DataError
        If a label has no exponential gain.

    Notes
    -----
    As in XGBoost, the 1 of a query without a relevant row is not weighted.
    """
    wrong = (label < 0) | (exp_gain & ((label != np.rint(label)) | (label > 31)))
    allowed = "whole numbers 0..31" if exp_gain else "numbers >= 0"
    move = "change the labels, or give another eval_metric"
    refuse(wrong, label, "y", f"{allowed} for ndcg", move)
    offsets, query, rank = _places(label, offsets)
    gain = np.exp2(label.astype(np.float64)) - 1.0 if exp_gain else label.astype(np.float64)
    discount = _counted(rank, top) / np.log2(rank + 2.0)
    found = np.bincount(query, gain[_order(prediction, query)] * discount)
    ideal = np.bincount(query, gain[_order(label, query)] * discount)
    of_query = _query_weight(weight, offsets)
    none = ideal <= 0
    value = np.where(none, 0.0 if minus else 1.0, found / np.where(none, 1.0, ideal) * of_query)
    return _mean(value, of_query)


def average_precision(
    label: F32,
    prediction: F32,
    weight: F32 | None = None,
    offsets: I64 | None = None,
    *,
    top: int | None = None,
    minus: bool = False,
) -> float:
    """Return the mean over queries of the average precision at the relevant rows in the ``top``.

    Labels are 0 and 1; parameters are those of ``ndcg``.
    """
    _check_binary(label, "map")
    offsets, query, rank = _places(label, offsets)
    hit = label[_order(prediction, query)].astype(np.float64)
    total = np.bincount(query, hit)
    hits = np.cumsum(hit)  # integers, so sums are exact
    hits -= np.r_[0.0, hits[offsets[1:-1] - 1]][query]
    found = np.bincount(query, hit * hits / (rank + 1.0) * _counted(rank, top))
    most = total if top is None else np.minimum(total, top)
    none = total <= 0
    value = np.where(none, 0.0 if minus else 1.0, found / np.where(none, 1.0, most))
    of_query = _query_weight(weight, offsets)
    return _mean(value * of_query, of_query)


def precision(
    label: F32,
    prediction: F32,
    weight: F32 | None = None,
    offsets: I64 | None = None,
    *,
    top: int | None = None,
    minus: bool = False,
) -> float:
    """Return the share of relevant rows in the ``top``; parameters as for ``average_precision``.

    ``minus`` has no effect: queries without a relevant row count 0 anyway.
    """
    _check_binary(label, "pre")
    offsets, query, rank = _places(label, offsets)
    counted = _counted(rank, top)
    hits = np.bincount(query, label[_order(prediction, query)] * counted)
    of_query = _query_weight(weight, offsets)
    return _mean(hits / np.bincount(query, counted) * of_query, of_query)


#: Ranking metrics by XGBoost's names.
RANKING: dict[str, Callable[..., float]] = {
    "ndcg": ndcg,
    "map": average_precision,
    "pre": precision,
}


@dataclass(frozen=True)
class Ranked:
    """A metric of ``RANKING`` (its name is ``family``) with its options, see ``ndcg``."""

    family: str
    top: int | None = None
    minus: bool = False
    exp_gain: bool = True


def ranked_of(metric: Callable[..., float]) -> Ranked | None:
    """Return the metric and options of a ``ranking_metric``; None for another metric."""
    if not isinstance(metric, partial) or metric.args:
        return None
    names = {function: name for name, function in RANKING.items()}
    family = names.get(metric.func)
    return None if family is None else Ranked(family, **metric.keywords)


def ranking_metric(name: str, parameters: Parameters | None) -> Callable[..., float]:
    """Return a metric by a name like ``"ndcg"``, ``"ndcg@5"``, ``"ndcg@5-"`` or ``"ndcg-"``.

    ``name``: a name of ``RANKING``, optionally with ``@`` and the number of rows, and a ``-``.
    ``parameters``: where ``ndcg`` finds ``ndcg_exp_gain``; None uses the default.

    Raises
    ------
    ParameterError
        If the text after ``@`` is not such a number.
    """
    family = family_of(name)
    text = name[len(family) :]
    match = _SUFFIX.fullmatch(text.removeprefix("@"))
    if match is None or (text[:1] == "@") != bool(match[1]):
        raise ParameterError(
            f"eval_metric={name!r}: expected a whole number from 1 after @; write {family}@10, or "
            f"{family}@10- where queries without a relevant row shall count 0"
        )
    options = {"top": int(match[1]) if match[1] else None, "minus": bool(match[2])}
    if family == "ndcg" and parameters is not None:
        options["exp_gain"] = parameters.ndcg_exp_gain
    return partial(RANKING[family], **options)


def family_of(name: str) -> str:
    """Return a metric's name without its number and trailing ``-``."""
    family = name.partition("@")[0]
    return family.removesuffix("-") if family.removesuffix("-") in RANKING else family


def _places(label: F32, offsets: I64 | None) -> tuple[I64, I64, I64]:
    """Return query offsets and, for rows in ``_order``, each row's query and rank from 0."""
    offsets = whole_offsets(offsets, label.size)
    query = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    return offsets, query, np.arange(label.size) - offsets[query]


def _order(values: F32, query: I64) -> I64:
    """Return the rows of each query by descending value; ties keep their order."""
    return np.lexsort((-values, query))


def _counted(rank: I64, top: int | None) -> F64:
    return np.ones(rank.size) if top is None else (rank < top).astype(np.float64)


def _query_weight(weight: F32 | None, offsets: I64) -> F64:
    n_queries = offsets.size - 1
    return np.ones(n_queries) if weight is None else weight[offsets[:-1]].astype(np.float64)


def _mean(values: F64, of_query: F64) -> float:
    total = float(of_query.sum())
    return min(1.0, float(values.sum()) / total) if total > 0 else float("nan")


def _check_binary(label: F32, name: str) -> None:
    wrong = (label != 0) & (label != 1)
    move = "give 1 for relevant rows, or eval_metric='ndcg'"
    refuse(wrong, label, "y", f"0 or 1 for {name}", move)
