"""``binary:logistic``: cross-entropy of labels 0 and 1."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.model import margin_from_base_score
from pyopencl_gbdt.objectives.base import F32, Objective, exact_mean
from pyopencl_gbdt.reference.portable_math import portable_sigmoid

#: Starting scores stay this far from 0 and 1, where the margin would be infinite.
_EDGE = 1e-6


class Logistic(Objective):
    """Gradient ``p - label``, Hessian ``p (1 - p)``; starts at the mean label."""

    name = "binary:logistic"
    metric = "logloss"
    kernel = (
        "const f32 p = portable_sigmoid(margin); const f32 q = 1.0f - p; "
        "g = p - label; h = p * q; if (h < 1e-16f) h = 1e-16f;"
    )

    def gradient(self, margin: F32, label: F32) -> tuple[F32, F32]:
        p = portable_sigmoid(margin)
        return p - label, np.maximum(p * (np.float32(1.0) - p), np.float32(1e-16))

    def to_prediction(self, margin: F32) -> F32:
        return portable_sigmoid(margin)

    def to_margin(self, score: float) -> float:
        return margin_from_base_score(self.name, score)

    def starting_score(self, label: F32, weight: F32 | None) -> float:
        mean = float(exact_mean(label, weight))
        return float(np.float32(min(max(mean, _EDGE), 1.0 - _EDGE)))
