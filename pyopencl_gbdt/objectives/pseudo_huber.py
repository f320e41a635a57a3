"""``reg:pseudohubererror``: squared for small residuals, absolute for large ones, smooth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyopencl_gbdt.numerics.expressions import Number, Term, clamped, rsqrt
from pyopencl_gbdt.objectives.base import Objective

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
