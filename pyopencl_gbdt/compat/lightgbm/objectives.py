"""LightGBM's objectives: their names, this library's losses, links and default metrics.

Of losses that this library has no kernels for, NumPy computes the gradients, once a round.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.formats.base import link_of
from pyopencl_gbdt.objectives.custom import FunctionObjective

F64 = npt.NDArray[np.float64]

_NAMES = """
regression regression_l2 l2 mean_squared_error mse l2_root root_mean_squared_error rmse
regression_l1 l1 mean_absolute_error mae
huber
fair
poisson
quantile
mape mean_absolute_percentage_error
gamma
tweedie
binary
multiclass softmax
multiclassova multiclass_ova ova ovr
cross_entropy xentropy
cross_entropy_lambda xentlambda
lambdarank
rank_xendcg xendcg xe_ndcg xe_ndcg_mart xendcg_mart
none None null custom na
"""
OBJECTIVES: dict[str, str] = {
    one: line.split()[0] for line in _NAMES.split("\n") if line for one in line.split()
}
"""The main name of every objective's name."""


@dataclass(frozen=True)
class Kind:
    """One objective.

    Attributes
    ----------
    loss : str
        This library's loss; empty where the gradients are those of ``own_losses``, or the user's.
    link : str
        What turns margins into predictions.
    metric : str
        LightGBM's default metric.
    """

    loss: str
    link: str
    metric: str


KINDS: dict[str, Kind] = {
    "regression": Kind("reg:squarederror", "identity", "l2"),
    "regression_l1": Kind("reg:absoluteerror", "identity", "l1"),
    "huber": Kind("huber", "identity", "huber"),
    "fair": Kind("fair", "identity", "fair"),
    "poisson": Kind("count:poisson", "exp", "poisson"),
    "quantile": Kind("reg:quantileerror", "identity", "quantile"),
    "mape": Kind("mape", "identity", "mape"),
    "gamma": Kind("reg:gamma", "exp", "gamma"),
    "tweedie": Kind("reg:tweedie", "exp", "tweedie"),
    "binary": Kind("binary:logistic", "sigmoid", "binary_logloss"),
    "multiclass": Kind("multi:softprob", "softmax", "multi_logloss"),
    "multiclassova": Kind("", "sigmoid", "multi_logloss"),
    "cross_entropy": Kind("cross_entropy", "sigmoid", "cross_entropy"),
    "cross_entropy_lambda": Kind("", "softplus", "cross_entropy_lambda"),
    "lambdarank": Kind("rank:ndcg", "identity", "ndcg"),
    "rank_xendcg": Kind("", "identity", "ndcg"),
    "none": Kind("", "identity", ""),
}
RANKING = ("lambdarank", "rank_xendcg")
SEVERAL = ("multiclass", "multiclassova")


def main_objective(given: Any) -> str:
    """Return the main name of an objective.

    Raises
    ------
    ParameterError
        In LightGBM's words, if there is none of this name.
    """
    name = "none" if given is None else OBJECTIVES.get(str(given).strip(), "")
    if not name:
        raise ParameterError(
            f"Unknown objective type name: {given}: expected one of {', '.join(KINDS)}; give one, "
            "or a function"
        )
    return name


def _softmax(margins: F64) -> F64:
    powers: F64 = np.exp(margins - margins.max(axis=-1, keepdims=True))
    found: F64 = powers / powers.sum(axis=-1, keepdims=True)
    return found


def _sigmoid(margins: F64) -> F64:
    found: F64 = np.exp(-np.logaddexp(0, -margins))
    return found


LINKS: dict[str, Callable[[F64], F64]] = {
    "identity": lambda margins: margins,
    "exp": np.exp,
    "sigmoid": _sigmoid,
    "softmax": _softmax,
    "softplus": lambda margins: np.logaddexp(0, margins),
}
"""Functions of margins, float64 (n_rows,) or (n_rows, n_classes)."""


def link_of_model(ensemble: Ensemble) -> str:
    """Return the link of a model that was read from a file."""
    link = link_of(ensemble)
    return {"class": "softmax"}.get(link, link if link in LINKS else "identity")


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
    """A loss whose gradients the host computes, of one or several outputs; predicts margins."""

    outputs: int = field(default=1, kw_only=True)

    @property
    def n_outputs(self) -> int:
        return self.outputs

    @property
    def parameters(self) -> dict[str, float | str]:
        """The name alone, which identifies the loss where a model is continued."""
        return {"custom_name": self.custom_name}


def host_loss(
    name: str, function: Callable[[F64, int], tuple[Any, Any]], n_outputs: int, first: int
) -> HostLoss:
    """Return a loss by a function of margins, (n_rows, n_outputs), and the number of the round.

    Parameters
    ----------
    function : callable
        Returns gradients and Hessians, (n_rows, n_outputs), or (n_rows,) for one output.
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
