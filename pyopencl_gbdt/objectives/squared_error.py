"""``reg:squarederror``: half the squared residual."""

from __future__ import annotations

from dataclasses import dataclass

from pyopencl_gbdt.numerics.expressions import Number, Term
from pyopencl_gbdt.objectives.base import MeanStart


@dataclass(frozen=True)
class SquaredError(MeanStart):
    """Gradient ``margin - label``, Hessian 1; the base score is the mean label."""

    name = "reg:squarederror"
    metric = "rmse"

    def derivatives(self, margin: Number, label: Number) -> tuple[Term, Term]:
        return margin - label, 1
