"""``reg:squarederror``: half the squared residual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyopencl_gbdt.numerics.expressions import (
    Number,
    Term,
    at_least,
    at_most,
    clamped,
    log1p,
    reciprocal,
    rsqrt,
)
from pyopencl_gbdt.objectives.base import MeanStart, Objective

#: Residuals are clamped to so many slopes; the gradient equals the slope long before.
_FAR = 1e9


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
        z = clamped(margin - label, -_FAR * slope, _FAR * slope)
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
