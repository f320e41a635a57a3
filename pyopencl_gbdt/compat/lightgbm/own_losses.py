"""Losses of LightGBM that this library has no kernels for: gradients by NumPy, once a round."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.compat.lightgbm.objectives import LINKS
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.objectives.custom import FunctionObjective

F64 = npt.NDArray[np.float64]
#: Gradients and Hessians of margins, shape (n_rows, n_outputs).
Gradients = tuple[F64, F64]


@dataclass(frozen=True)
class HostRows:
    """What losses of the host read.

    Attributes
    ----------
    margins : float64 array, shape (n_rows, n_outputs)
    labels, weight : float64 array, shape (n_rows,)
    group : int32 array, shape (n_queries,), or None
        Number of rows of each query.
    settings : mapping
        LightGBM's parameters, by main names.
    """

    margins: F64
    labels: F64
    weight: F64
    group: npt.NDArray[np.int32] | None
    settings: Mapping[str, Any]

    def by_query(self, function: Callable[[F64, F64, slice], tuple[F64, F64]]) -> Gradients:
        """Return weighted gradients of one output, query by query."""
        assert self.group is not None
        score = self.margins[:, 0]
        g, h = np.zeros(len(score)), np.zeros(len(score))
        ends = np.append(0, np.cumsum(self.group)).tolist()
        for first, end in itertools.pairwise(ends):
            own = slice(first, end)
            if end - first > 1:
                g[own], h[own] = function(score[own], self.labels[own], own)
        return (g * self.weight)[:, None], (h * self.weight)[:, None]


def one_vs_all(rows: HostRows, number: int) -> Gradients:
    """Return those of a logistic loss for each class; ``objective/multiclass_objective.hpp``."""
    p = LINKS["sigmoid"](rows.margins)
    weight = rows.weight[:, None]
    g = p - (rows.labels[:, None] == np.arange(p.shape[1]))
    return g * weight, p * (1 - p) * weight


def entropy_by_rate(rows: HostRows, number: int) -> Gradients:
    """Return those of ``cross_entropy_lambda``; ``src/objective/xentropy_objective.hpp``."""
    score, label, weight = rows.margins[:, 0], rows.labels, rows.weight
    rate = np.logaddexp(0, score)
    z = -np.expm1(-weight * rate)
    growth = 1 / (1 + np.exp(-score))
    g = growth * weight * (1 - label / np.maximum(z, 1e-15))
    c = 1 / np.maximum(1 - z, 1e-15)
    d = 1 + np.exp(score)
    a = weight * np.exp(score) / (d * d)
    b = (c / np.maximum((c - 1) ** 2, 1e-15)) * (1 + weight * np.exp(score) - c)
    h = a * (1 + label * b)
    return g[:, None], np.maximum(h, 1e-15)[:, None]


def cross_entropy_of_ranks(rows: HostRows, number: int) -> Gradients:
    """Return those of ``rank_xendcg`` (Bruch, 2021); ``src/objective/rank_objective.hpp``."""
    random = np.random.RandomState(number).uniform(size=len(rows.labels))
    return rows.by_query(lambda score, label, own: _of_query(score, label, random[own]))


def _of_query(score: F64, label: F64, random: F64) -> tuple[F64, F64]:
    rho = LINKS["softmax"](score)
    gains = 2.0**label - random
    phi = gains / max(float(gains.sum()), 1e-15)
    first = -phi + rho
    ratio = first / np.maximum(1 - rho, 1e-15)
    second = rho * (ratio.sum() - ratio)
    ratio = second / np.maximum(1 - rho, 1e-15)
    third = rho * (ratio.sum() - ratio)
    return first + second + third, rho * (1 - rho)


def pairs_of_ranks(rows: HostRows, number: int) -> Gradients:
    """Return those of ``lambdarank`` (Burges, 2010); ``src/objective/rank_objective.hpp``."""
    truncation = int(rows.settings.get("lambdarank_truncation_level") or 30)
    is_normed = bool(rows.settings.get("lambdarank_norm", True))
    return rows.by_query(lambda score, label, _: _of_pairs(score, label, truncation, is_normed))


def _of_pairs(score: F64, label: F64, truncation: int, is_normed: bool) -> tuple[F64, F64]:
    order = np.argsort(-score, kind="stable")
    own, grade = score[order], label[order]
    gains, discount = 2.0**grade - 1, 1 / np.log2(np.arange(len(own)) + 2)
    best = float(np.sort(gains)[::-1][:truncation] @ discount[:truncation])
    rank = np.arange(len(own))
    paired = (rank[:, None] < rank) & (rank[:, None] < truncation)
    paired &= grade[:, None] != grade
    sign = np.where(grade[:, None] > grade, 1.0, -1.0)  # the first of a pair is the better one
    off = sign * (own[:, None] - own)
    change = np.abs(gains[:, None] - gains) * np.abs(discount[:, None] - discount)
    change = change / max(best, 1e-15)
    if is_normed and own[0] != own[-1]:
        change = change / (0.01 + np.abs(off))
    p = np.exp(-np.logaddexp(0, off))
    pull = np.where(paired, change * p, 0.0)
    curve = np.where(paired, change * p * (1 - p), 0.0)
    g = np.sum(sign * pull, axis=0) - np.sum(sign * pull, axis=1)
    h = curve.sum(axis=0) + curve.sum(axis=1)
    total = 2 * float(pull.sum())
    if is_normed and total > 0:
        factor = math.log2(1 + total) / total
        g, h = g * factor, h * factor
    back = np.argsort(order)
    return g[back], h[back]


OWN_LOSSES: dict[str, Callable[[HostRows, int], Gradients]] = {
    "lambdarank": pairs_of_ranks,
    "multiclassova": one_vs_all,
    "cross_entropy_lambda": entropy_by_rate,
    "rank_xendcg": cross_entropy_of_ranks,
}


@dataclass(frozen=True)
class HostLoss(FunctionObjective):
    """A loss whose gradients the host computes, of one or several outputs; predicts margins.

    Attributes
    ----------
    outputs : int
    """

    outputs: int = field(default=1, kw_only=True)

    @property
    def n_outputs(self) -> int:
        return self.outputs

    @property
    def parameters(self) -> dict[str, float | str]:
        """The name alone, by which losses are told apart where a model is continued."""
        return {"custom_name": self.custom_name}


def host_loss(
    name: str, function: Callable[[F64, int], tuple[Any, Any]], n_outputs: int, first: int
) -> HostLoss:
    """Return a loss by a function of margins, (n_rows, n_outputs), and the number of the round.

    Parameters
    ----------
    name : str
    function : callable
        Returns gradients and Hessians, (n_rows, n_outputs), or (n_rows,) for one output.
    n_outputs : int
    first : int
        The number of the next round.
    """
    numbers = itertools.count(first)

    def flat(values: Any, shape: tuple[int, int]) -> npt.NDArray[Any]:
        found = np.asarray(values)
        return np.ascontiguousarray(found.T).reshape(-1) if found.shape == shape else found

    def called(margins: npt.NDArray[np.float32], rows: Dataset) -> tuple[Any, Any]:
        own = margins.reshape(n_outputs, -1).T.astype(np.float64)
        g, h = function(own, next(numbers))
        return flat(g, own.shape), flat(h, own.shape)

    return HostLoss(custom_name=name, function=called, outputs=n_outputs)
