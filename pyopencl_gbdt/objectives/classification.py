"""Losses of classes: four cross-entropies of labels 0..1, the hinge loss, and the softmax."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import show
from pyopencl_gbdt.model.ensemble import Score
from pyopencl_gbdt.numerics.expressions import Number, Term, at_least, evaluate, exp, sigmoid, where
from pyopencl_gbdt.numerics.expressions import reciprocal as reciprocal_of
from pyopencl_gbdt.numerics.portable_math import exact_sum, portable_exp, reciprocal
from pyopencl_gbdt.objectives.base import F32, Objective

if TYPE_CHECKING:
    from pyopencl_gbdt.data.dataset import Dataset

#: Base scores that are probabilities stay this far from 0 and 1, where the margin is infinite.
_EDGE = 1e-6


@dataclass(frozen=True)
class LogitLink(Objective):
    """A loss whose prediction is the sigmoid of the margin; its base score is the mean label."""

    device_link = "sigmoid"
    mean_start = True

    def prediction_of(self, margin: Number) -> Term:
        return sigmoid(margin)

    def score_of_mean(self, mean: Fraction | float) -> float:
        return clamp_probability(float(mean))


def clamp_probability(score: float) -> float:
    """Clamp a probability so that its margin is finite; return a float32."""
    return float(np.float32(min(max(score, _EDGE), 1.0 - _EDGE)))


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
        return clamp_probability(super().starting_score(label, weight))


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


#: The share of a class without rows is set to this, so that its margin is finite.
_LEAST_SHARE = 1e-16


def softmax(margins: F32) -> F32:
    """Return probabilities, float32 (n_classes, n_rows), from margins of the same shape.

    Sums run over the classes in order, so bits are the same everywhere.
    """
    powers = portable_exp(margins - margins.max(axis=0))
    total = np.zeros(margins.shape[1], np.float32)
    for power in powers:
        total = total + power
    return powers * reciprocal(total)


def of_share(p: Number, label: Number, k: Number) -> tuple[Term, Term]:
    """Return gradient and Hessian of class k, whose probability is p."""
    return where(label.equals(k), p - 1, p), at_least((2 * p) * (1 - p), 1e-16)


@dataclass(frozen=True)
class SoftProb(Objective):
    """Gradient ``p - (label is the class)``, Hessian ``2 p (1 - p)``; p is the softmax of margins.

    The base scores are the logarithms of the classes' shares, minus their mean. XGBoost 3.2,
    ``src/objective/multiclass_obj.cu``.
    """

    device_link = "softmax"
    name = "multi:softprob"
    metric = "mlogloss"
    given: ClassVar[bool] = True
    num_class: int = 0

    @property
    def n_outputs(self) -> int:
        return int(self.num_class)

    @property
    def own_kernels(self) -> bool:
        return False  # a row's margins and label are all

    def gradient(self, margin: F32, label: F32) -> tuple[F32, F32]:
        """Return the gradients for margins of shape (n_classes, n_rows)."""
        classes = np.arange(margin.shape[0], dtype=np.float32)[:, None]
        g, h = evaluate(of_share, softmax(margin), label, classes)
        return g, h

    def moved(self, margin: Number, label: Number, added: Number) -> tuple[Term, Term]:
        """Return the gradients of a class whose margin grows while those of the others stay.

        Its share p before is the gradient, or for the rows of the class the gradient + 1.
        """
        own = margin < 0
        p, rest = where(own, margin + 1, margin), where(own, -margin, 1 - margin)
        power = p * exp(added)
        total = reciprocal_of(power + rest)
        share, others = power * total, rest * total
        return where(own, -others, share), at_least((2 * share) * others, 1e-16)

    def check_data(self, data: Dataset) -> None:
        label = data.label
        wrong = (label != np.floor(label)) | (label < 0) | (label >= self.num_class)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise DataError(
                f"y holds {show(label[row])} at row {row}: expected whole numbers "
                f"0..{int(self.num_class) - 1} for num_class={int(self.num_class)}; raise "
                f"num_class or number the classes from 0"
            )

    def starting_scores(self, label: F32, weight: F32 | None) -> Score:
        return self.scores_of(self.class_weights(label, weight))

    def class_weights(self, label: F32, weight: F32 | None) -> list[Fraction]:
        """Return the weight of each class's rows, exactly; those of parts of the rows add up."""
        own = ((label == k).astype(np.float32) for k in range(self.n_outputs))
        return [exact_sum(row, weight) for row in own]

    def scores_of(self, weights: Sequence[Fraction]) -> Score:
        """Return the base scores for the classes' weights."""
        total = sum(weights)
        shares = [max(float(one / total), _LEAST_SHARE) for one in weights]
        logs = [Decimal(share).ln() for share in shares]
        mean = sum(logs, Decimal(0)) / len(logs)
        return tuple(float(np.float32(float(log - mean))) for log in logs)

    def to_prediction(self, margin: F32) -> F32:
        """Convert margins, shape (n_classes, n_rows), to probabilities."""
        return softmax(margin)

    def to_probability(self, margin: F32) -> F32:
        return softmax(margin)


@dataclass(frozen=True)
class SoftMax(SoftProb):
    """Like ``multi:softprob``, but predicts the most probable class, the first if several are."""

    device_link = ""  # the host picks the class
    name = "multi:softmax"

    def to_prediction(self, margin: F32) -> F32:
        most: F32 = np.argmax(margin, axis=0).astype(np.float32)
        return most
