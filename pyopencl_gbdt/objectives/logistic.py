"""Four cross-entropy losses of labels 0..1; they differ in labels, link and metric."""

from __future__ import annotations

from dataclasses import dataclass

from pyopencl_gbdt.numerics.expressions import Number, Term, at_least, sigmoid, where
from pyopencl_gbdt.objectives.base import F32, LogitLink, Objective
from pyopencl_gbdt.objectives.base import clamp_probability as clamp


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

    def derivatives(self, margin: Number, label: Number) -> tuple[Term, Term]:
        p = sigmoid(margin)
        g, h = p - label, at_least(p * (1 - p), 1e-16)
        if self.scale_pos_weight == 1:
            return g, h
        positive, factor = label.equals(1), self.scale_pos_weight
        return where(positive, lambda: g * factor, g), where(positive, lambda: h * factor, h)


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

    def probability_of(self, margin: Number) -> Term:
        return sigmoid(margin)

    @property
    def starts_at_mean(self) -> bool:
        return self.scale_pos_weight == 1
