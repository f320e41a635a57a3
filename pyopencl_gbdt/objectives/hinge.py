"""``binary:hinge``: predictions are the classes 0 and 1; the loss is the distance to margin 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyopencl_gbdt.objectives.base import F32, Objective

_f = np.float32


@dataclass(frozen=True)
class Hinge(Objective):
    """Gradient ``-y`` and Hessian 1 where ``margin y < 1``, else 0; y is -1 or 1.

    XGBoost 3.2, ``src/objective/hinge.cu``. There, as here, a Hessian of 0 becomes one quantum.
    The base score is the class of the fitted stump.
    """

    name = "binary:hinge"
    metric = "error"
    link = "p = margin > 0.0f ? 1.0f : 0.0f;"
    kernel = (
        "const f32 twice = 2.0f * label; const f32 y = twice - 1.0f; const f32 m = margin * y; "
        "g = m < 1.0f ? -y : 0.0f; h = m < 1.0f ? 1.0f : 0.0f;"
    )

    def gradient(self, margin: F32, label: F32) -> tuple[F32, F32]:
        y = _f(2.0) * label - _f(1.0)
        near = margin * y < _f(1.0)
        return np.where(near, -y, _f(0.0)), near.astype(np.float32)

    def to_prediction(self, margin: F32) -> F32:
        return (margin > 0).astype(np.float32)
