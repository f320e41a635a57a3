"""LightGBM's robust losses, for targets with outliers: ``huber``, ``fair`` and ``mape``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyopencl_gbdt.numerics.expressions import (
    Number,
    Term,
    at_least,
    at_most,
    clamped,
    evaluate,
    reciprocal,
    size_of,
    where,
)
from pyopencl_gbdt.objectives.base import F32, F64, MeanStart, Objective

_FAR = 2.0**110


@dataclass(frozen=True)
class Huber(MeanStart):
    """Gradient ``margin - label``, clamped to ``huber_alpha``; Hessian 1; starts at the mean.

    LightGBM 4, ``src/objective/regression_objective.hpp``; Huber 1964, "Robust estimation of a
    location parameter".

    Attributes
    ----------
    huber_alpha : float
        LightGBM's ``alpha``, a name that means ``reg_alpha`` in XGBoost.
    """

    name = "huber"
    metric = "mae"
    huber_alpha: float = 0.9

    def derivatives(self, margin: Number, label: Number) -> tuple[Term, Term]:
        return clamped(margin - label, -self.huber_alpha, self.huber_alpha), 1


@dataclass(frozen=True)
class Fair(MeanStart):
    """Gradient ``c x / (|x| + c)``, Hessian ``c^2 / (|x| + c)^2``; x is ``margin - label``.

    Starts at the mean. LightGBM 4, ``src/objective/regression_objective.hpp``.

    Attributes
    ----------
    fair_c : float
        The largest gradient.
    """

    name = "fair"
    metric = "mae"
    fair_c: float = 1.0

    def derivatives(self, margin: Number, label: Number) -> tuple[Term, Term]:
        x = clamped(margin - label, -_FAR, _FAR)
        q = self.fair_c * reciprocal(size_of(x) + self.fair_c)
        return x * q, q * q


def _share(label: Number) -> Number:
    return reciprocal(at_most(at_least(size_of(label), 1), _FAR))


@dataclass(frozen=True)
class Mape(Objective):
    """Gradient ``sign(margin - label) / max(1, |label|)``, Hessian 1.

    Base score and leaf values are medians weighted by ``1 / max(1, |label|)``. LightGBM 4,
    ``src/objective/regression_objective.hpp``.
    """

    renews = True
    name = "mape"
    metric = "mape"

    def derivatives(self, margin: Number, label: Number) -> tuple[Term, Term]:
        w = _share(label)
        return where(margin > label, w, where(margin < label, -w, 0)), 1

    def leaf_shares(self, label: F32, weight: F32 | None) -> F64 | None:
        share: F64 = evaluate(_share, label).astype(np.float64)
        return share if weight is None else share * weight

    def starting_score(self, label: F32, weight: F32 | None) -> float:
        """Return the smallest label whose cumulative weight exceeds half of the total."""
        order = np.argsort(label, kind="stable")
        share = evaluate(_share, label).astype(np.float64)
        if weight is not None:
            share *= weight
        total = np.cumsum(share[order])  # in a fixed order: the same bits everywhere
        at = int(np.searchsorted(total, 0.5 * total[-1], side="right"))
        return float(label[order[min(at, label.size - 1)]])
