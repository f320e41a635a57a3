"""``reg:squaredlogerror``: half the squared difference of ln(1 + label) and ln(1 + prediction)."""

from __future__ import annotations

from dataclasses import dataclass

from pyopencl_gbdt.numerics.expressions import Number, Term, at_least, at_most, log1p, reciprocal
from pyopencl_gbdt.objectives.base import Objective

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
