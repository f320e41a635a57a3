"""Losses of numbers: squared and robust error, and counts and amounts.

The prediction of a loss of counts or amounts is e^margin.
"""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.numerics.expressions import (
    Number,
    Term,
    at_least,
    at_most,
    clamped,
    evaluate,
    exp,
    log1p,
    reciprocal,
    rsqrt,
    size_of,
    where,
)
from pyopencl_gbdt.objectives.base import F32, F64, LogLink, MeanStart, Objective

#: Residuals are clamped to so many slopes; the gradient equals the slope long before.
_FAR_SLOPES = 1e9


@dataclass(frozen=True)
class PseudoHuber(Objective):
    """Gradient ``z r``, Hessian ``r^3``, where ``r = 1 / sqrt(1 + (z / slope)^2)``.

    z is ``margin - label``. XGBoost 3.2, ``src/objective/regression_obj.cu``; Charbonnier et al.
    1997, "Deterministic edge-preserving regularization in computed imaging".

    Attributes
    ----------
    huber_slope : float
        The residual where the loss turns from squared to absolute; also the largest gradient.
    """

    name = "reg:pseudohubererror"
    metric = "mphe"
    huber_slope: float = 1.0

    def derivatives(self, margin: Number, label: Number) -> tuple[Term, Term]:
        slope = float(np.float32(self.huber_slope))
        z = clamped(margin - label, -_FAR_SLOPES * slope, _FAR_SLOPES * slope)
        u = z * (1.0 / slope)
        r = rsqrt(1 + u * u)
        return z * r, (r * r) * r


_LOW, _HIGH, _LEAST = -1.0 + 1e-6, 1e30, 1e-6


@dataclass(frozen=True)
class SquaredLogError(Objective):
    """Gradient ``d / (1 + m)``, Hessian ``max((1 - d) / (1 + m)^2, 1e-6)``.

    m is the margin, at least -1 + 1e-6, and d is ``ln(1 + m) - ln(1 + label)``. XGBoost 3.2,
    ``src/objective/regression_loss.h``.
    """

    name = "reg:squaredlogerror"
    metric = "rmsle"

    def derivatives(self, margin: Number, label: Number) -> tuple[Term, Term]:
        m = at_most(at_least(margin, _LOW), _HIGH)
        r = reciprocal(m + 1)
        d = log1p(m) - log1p(label)
        return d * r, at_least(((1 - d) * r) * r, _LEAST)


@dataclass(frozen=True)
class SquaredError(MeanStart):
    """Gradient ``margin - label``, Hessian 1; the base score is the mean label."""

    name = "reg:squarederror"
    metric = "rmse"

    def derivatives(self, margin: Number, label: Number) -> tuple[Term, Term]:
        return margin - label, 1


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

    def leaf_shares(self, label: F32, weight: F32 | None) -> F64:
        share: F64 = evaluate(_share, label).astype(np.float64)
        return share if weight is None else share * weight

    def starting_score(self, label: F32, weight: F32 | None) -> float:
        """Return the smallest label whose cumulative weight exceeds half of the total."""
        order = np.argsort(label, kind="stable")
        share = self.leaf_shares(label, weight)
        total = np.cumsum(share[order])  # in a fixed order: the same bits everywhere
        at = int(np.searchsorted(total, 0.5 * total[-1], side="right"))
        return float(label[order[min(at, label.size - 1)]])


_TINY = 2.0**-126
#: Upper limit of products of labels and exponentials, so that their sums stay finite.
_MOST = 1e30


def _normal(label: Number) -> Number:
    return where(label < _TINY, 0, label)


@dataclass(frozen=True)
class Poisson(LogLink):
    """Gradient ``e^margin - label``, Hessian ``e^(margin + max_delta_step)``.

    XGBoost 3.2, ``src/objective/regression_obj.cu``.

    Attributes
    ----------
    max_delta_step : float
        Raises the Hessian; leaf values are limited by it too.
    """

    name = "count:poisson"
    metric = "poisson-nloglik"
    max_delta_step: float = 0.7

    def derivatives(self, margin: Number, label: Number) -> tuple[Term, Term]:
        return exp(margin) - label, exp(margin + self.max_delta_step)


@dataclass(frozen=True)
class Gamma(LogLink):
    """Gradient ``1 - label / e^margin``, Hessian ``label / e^margin``.

    XGBoost 3.2, ``src/objective/regression_obj.cu``.
    """

    name = "reg:gamma"
    metric = "gamma-deviance"

    def derivatives(self, margin: Number, label: Number) -> tuple[Term, Term]:
        r = at_most(_normal(label) * exp(-margin), _MOST)
        return 1 - r, r


@dataclass(frozen=True)
class Tweedie(LogLink):
    """Gradient ``b - a``, Hessian ``(rho - 1) a + (2 - rho) b``.

    a is ``label e^((1 - rho) margin)``, b is ``e^((2 - rho) margin)``. XGBoost 3.2,
    ``src/objective/regression_obj.cu``.

    Attributes
    ----------
    tweedie_variance_power : float
        rho in 1..2: 1 gives Poisson's loss, close to 2 the loss is close to gamma's.
    """

    name = "reg:tweedie"
    tweedie_variance_power: float = 1.5

    @property
    def metric(self) -> str:
        return f"tweedie-nloglik@{self.tweedie_variance_power:g}"

    def derivatives(self, margin: Number, label: Number) -> tuple[Term, Term]:
        rho = np.float32(self.tweedie_variance_power)
        one, two = np.float32(1) - rho, np.float32(2) - rho
        a = at_most(_normal(label) * exp(one * margin), _MOST)
        b = exp(two * margin)
        return b - a, -one * a + two * b
