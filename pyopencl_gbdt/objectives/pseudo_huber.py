"""``reg:pseudohubererror``: squared for small residuals, absolute for large ones, smooth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyopencl_gbdt.numerics.portable_log import portable_rsqrt
from pyopencl_gbdt.objectives.base import F32, Objective, literal

_f = np.float32
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

    @property
    def _numbers(self) -> tuple[np.float32, np.float32]:
        slope = _f(self.huber_slope)
        return _f(_FAR * float(slope)), _f(1.0 / float(slope))

    @property
    def kernel(self) -> str:
        far, inverse = map(literal, self._numbers)
        return (
            "f32 z = margin - label; "
            f"if (z > {far}) z = {far}; if (z < -{far}) z = -{far}; "
            f"const f32 u = z * {inverse}; const f32 square = u * u; "
            "const f32 r = portable_rsqrt(1.0f + square); "
            "g = z * r; const f32 r2 = r * r; h = r2 * r;"
        )

    def gradient(self, margin: F32, label: F32) -> tuple[F32, F32]:
        far, inverse = self._numbers
        z = np.minimum(np.maximum(margin - label, -far), far)
        u = z * inverse
        r = portable_rsqrt(_f(1.0) + u * u)
        return z * r, (r * r) * r
