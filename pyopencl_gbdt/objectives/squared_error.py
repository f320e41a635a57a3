"""``reg:squarederror``: half the squared residual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyopencl_gbdt.objectives.base import F32, MeanStart


@dataclass(frozen=True)
class SquaredError(MeanStart):
    """Gradient ``margin - label``, Hessian 1; the base score is the mean label."""

    name = "reg:squarederror"
    metric = "rmse"
    kernel = "g = margin - label; h = 1.0f;"

    def gradient(self, margin: F32, label: F32) -> tuple[F32, F32]:
        return margin - label, np.ones_like(margin)
