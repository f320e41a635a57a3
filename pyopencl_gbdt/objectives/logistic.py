"""Four cross-entropy losses of labels 0..1; they differ in labels, link and metric."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyopencl_gbdt.numerics.portable_math import portable_sigmoid
from pyopencl_gbdt.objectives.base import F32, LogitLink, Objective, literal
from pyopencl_gbdt.objectives.base import clamp_probability as clamp

_f = np.float32
_LEAST = _f(1e-16)


@dataclass(frozen=True)
class _CrossEntropy(Objective):
    """Gradient ``p - label``, Hessian ``p (1 - p)``, where p is the sigmoid of the margin.

    XGBoost 3.2, ``src/objective/regression_loss.h``.

    Attributes
    ----------
    scale_pos_weight : float
        Factor of the gradients and Hessians of rows with label 1.
    """

    scale_pos_weight: float = 1.0

    @property
    def kernel(self) -> str:
        text = (
            "const f32 p = portable_sigmoid(margin); const f32 q = 1.0f - p; "
            "g = p - label; h = p * q; if (h < 1e-16f) h = 1e-16f;"
        )
        if self.scale_pos_weight == 1:
            return text
        factor = literal(self.scale_pos_weight)
        return f"{text} if (label == 1.0f) {{ g = g * {factor}; h = h * {factor}; }}"

    def gradient(self, margin: F32, label: F32) -> tuple[F32, F32]:
        p = portable_sigmoid(margin)
        g, h = p - label, np.maximum(p * (_f(1.0) - p), _LEAST)
        if self.scale_pos_weight == 1:
            return g, h
        factor = np.where(label == 1, _f(self.scale_pos_weight), _f(1.0))
        return g * factor, h * factor


@dataclass(frozen=True)
class _Probability(LogitLink, _CrossEntropy):
    """Base score: the mean label; with a scale_pos_weight, XGBoost's fitted stump."""

    @property
    def starts_at_mean(self) -> bool:
        return self.scale_pos_weight == 1

    def starting_score(self, label: F32, weight: F32 | None) -> float:
        return clamp(super().starting_score(label, weight))


@dataclass(frozen=True)
class Logistic(_Probability):
    """``binary:logistic``: labels are 0 and 1, predictions are probabilities."""

    name = "binary:logistic"
    metric = "logloss"


@dataclass(frozen=True)
class LogisticRegression(_Probability):
    """``reg:logistic``: labels are in 0..1, predictions are probabilities."""

    name = "reg:logistic"
    metric = "rmse"


@dataclass(frozen=True)
class CrossEntropy(LogitLink, _CrossEntropy):
    """LightGBM's ``cross_entropy`` (``src/objective/xentropy_objective.hpp``): labels 0..1."""

    name = "cross_entropy"
    metric = "logloss"


@dataclass(frozen=True)
class LogitRaw(_CrossEntropy):
    """``binary:logitraw``: labels are 0 and 1, predictions are margins.

    The first margin is the mean label itself, without the logit, as in XGBoost.
    """

    name = "binary:logitraw"
    metric = "logloss"
    link = "p = portable_sigmoid(margin);"

    def to_probability(self, margin: F32) -> F32:
        return portable_sigmoid(margin)

    @property
    def starts_at_mean(self) -> bool:
        return self.scale_pos_weight == 1
