"""``reg:squarederror``: half the squared difference."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.objectives.base import F32, Objective, exact_mean


class SquaredError(Objective):
    """Gradient ``margin - label``, Hessian 1; starts at the mean."""

    name = "reg:squarederror"
    metric = "rmse"
    kernel = "g = margin - label; h = 1.0f;"

    def gradient(self, margin: F32, label: F32) -> tuple[F32, F32]:
        return margin - label, np.ones_like(margin)

    def to_prediction(self, margin: F32) -> F32:
        return margin

    def to_margin(self, score: float) -> float:
        return float(np.float32(score))

    def starting_score(self, label: F32, weight: F32 | None) -> float:
        return float(np.float32(float(exact_mean(label, weight))))
