"""``reg:squaredlogerror``: half the squared difference of ln(1 + label) and ln(1 + prediction)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyopencl_gbdt.numerics.portable_log import portable_log1p
from pyopencl_gbdt.numerics.portable_math import reciprocal
from pyopencl_gbdt.objectives.base import F32, Objective, literal

_f = np.float32
_LOW, _HIGH, _LEAST = _f(-1.0 + 1e-6), _f(1e30), _f(1e-6)


@dataclass(frozen=True)
class SquaredLogError(Objective):
    """Gradient ``d / (1 + m)``, Hessian ``max((1 - d) / (1 + m)^2, 1e-6)``.

    m is the margin, at least -1 + 1e-6, and d is ``ln(1 + m) - ln(1 + label)``. XGBoost 3.2,
    ``src/objective/regression_loss.h``.
    """

    name = "reg:squaredlogerror"
    metric = "rmsle"
    kernel = (
        f"f32 m = margin < {literal(_LOW)} ? {literal(_LOW)} : margin; "
        f"if (m > {literal(_HIGH)}) m = {literal(_HIGH)}; "
        "const f32 r = reciprocal(m + 1.0f); "
        "const f32 d = portable_log1p(m) - portable_log1p(label); "
        "g = d * r; const f32 e = 1.0f - d; const f32 once = e * r; h = once * r; "
        f"if (h < {literal(_LEAST)}) h = {literal(_LEAST)};"
    )

    def gradient(self, margin: F32, label: F32) -> tuple[F32, F32]:
        m = np.minimum(np.maximum(margin, _LOW), _HIGH)
        r = reciprocal(m + _f(1.0))
        d = portable_log1p(m) - portable_log1p(label)
        return d * r, np.maximum(((_f(1.0) - d) * r) * r, _LEAST)
