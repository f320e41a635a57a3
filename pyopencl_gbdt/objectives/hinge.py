"""``binary:hinge``: predictions are the classes 0 and 1; the loss is the distance to margin 1."""

from __future__ import annotations

from dataclasses import dataclass

from pyopencl_gbdt.numerics.expressions import Number, Term, where
from pyopencl_gbdt.objectives.base import Objective


@dataclass(frozen=True)
class Hinge(Objective):
    """Gradient ``-y`` and Hessian 1 where ``margin y < 1``, else 0; y is -1 or 1.

    XGBoost 3.2, ``src/objective/hinge.cu``. There, as here, a Hessian of 0 becomes one quantum.
    The base score is the class of the fitted stump.
    """

    name = "binary:hinge"
    metric = "error"

    def derivatives(self, margin: Number, label: Number) -> tuple[Term, Term]:
        y = 2 * label - 1
        near = margin * y < 1
        return where(near, -y, 0), where(near, 1, 0)

    def prediction_of(self, margin: Number) -> Term:
        return where(margin > 0, 1, 0)
