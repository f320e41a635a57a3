"""Losses of LightGBM that this library has no kernels for: gradients by NumPy, once a round."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.compat.lightgbm.objectives import LINKS
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.objectives.custom import FunctionObjective

F64 = npt.NDArray[np.float64]
#: Gradients and Hessians of margins, shape (n_rows, n_outputs).
Gradients = tuple[F64, F64]


def _weights(rows: Dataset, n_rows: int) -> F64:
    return np.ones(n_rows) if rows.weight is None else rows.weight.astype(np.float64)


def one_vs_all(margins: F64, labels: F64, rows: Dataset, number: int) -> Gradients:
    """Return those of a logistic loss for each class; ``objective/multiclass_objective.hpp``."""
    p = LINKS["sigmoid"](margins)
    weight = _weights(rows, len(labels))[:, None]
    g = p - (labels[:, None] == np.arange(margins.shape[1]))
    return g * weight, p * (1 - p) * weight


def entropy_by_rate(margins: F64, labels: F64, rows: Dataset, number: int) -> Gradients:
    """Return those of ``cross_entropy_lambda``; ``src/objective/xentropy_objective.hpp``."""
    score, label = margins[:, 0], labels
    weight = _weights(rows, len(labels))
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


def cross_entropy_of_ranks(margins: F64, labels: F64, rows: Dataset, number: int) -> Gradients:
    """Return those of ``rank_xendcg`` (Bruch, 2021); ``src/objective/rank_objective.hpp``."""
    score, offsets = margins[:, 0], rows.group_offsets
    assert offsets is not None
    random = np.random.RandomState(number).uniform(size=len(score))
    g, h = np.zeros(len(score)), np.zeros(len(score))
    for first, end in itertools.pairwise(offsets.tolist()):
        own = slice(first, end)
        if end - first > 1:
            g[own], h[own] = _of_query(score[own], labels[own], random[own])
    weight = _weights(rows, len(score))
    return (g * weight)[:, None], (h * weight)[:, None]


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


OWN_LOSSES: dict[str, Callable[[F64, F64, Dataset, int], Gradients]] = {
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
