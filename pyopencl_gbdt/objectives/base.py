"""What a loss must say: one small file each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.labels import check_labels
from pyopencl_gbdt.model import margin_from_base_score
from pyopencl_gbdt.model.ensemble import Score
from pyopencl_gbdt.numerics.exact_sums import exact_mean, exact_sum
from pyopencl_gbdt.numerics.portable_math import portable_exp, portable_sigmoid
from pyopencl_gbdt.numerics.weights import whole

if TYPE_CHECKING:
    from pyopencl_gbdt.data.dataset import Dataset

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]

#: Starting probabilities stay this far from 0 and 1, where the margin would be infinite.
_EDGE = 1e-6
#: Starting means of a logarithmic link are at least this: the logarithm of 0 is infinite.
_LEAST_MEAN = 1e-30


@dataclass(frozen=True)
class Objective(ABC):
    """A loss of one row, whose prediction is the margin itself.

    The fields of a subclass are the loss's own parameters, called as in ``Parameters``; their
    defaults are those of the losses' authors.

    Attributes
    ----------
    name : str
        XGBoost's name, or LightGBM's where XGBoost has none.
    metric : str
        Metric reported when none is asked for.
    kernel : str
        Statements in the kernels' vocabulary that set ``g`` and ``h`` (float32) from ``margin``
        and ``label``; only +, -, * and what ``portable_math.h`` and ``portable_log.h`` offer. One
        operation a statement where an order matters. Numbers come in by ``literal``. Finite for
        finite margins and labels. Of no use where gradients are ``given``.
    given : bool
        Whether gradients come from kernels of the loss's own, see ``gradients/sources.py``.
    renews : bool
        Whether leaves take a quantile of their rows' ``label - margin``, see ``leaf_alpha`` and
        ``leaf_weights``.
    applies_weights : bool
        Whether given gradients have been multiplied by the rows' weights.
    """

    given: ClassVar[bool] = False
    renews: ClassVar[bool] = False
    applies_weights: ClassVar[bool] = False
    link: ClassVar[str] = "p = margin;"
    """Kernel statements for ``to_probability``: set ``p`` (float32) from ``margin``, same bits."""

    @property
    @abstractmethod
    def name(self) -> str: ...

    @property
    @abstractmethod
    def metric(self) -> str: ...

    @property
    @abstractmethod
    def kernel(self) -> str: ...

    @abstractmethod
    def gradient(self, margin: F32, label: F32) -> tuple[F32, F32]:
        """Host twin of ``kernel``: the same bits.

        Parameters
        ----------
        margin, label : float32 array, shape (n_rows,)

        Returns
        -------
        g, h : float32 array, shape (n_rows,)
            Gradient and Hessian by the margin, without weights.
        """

    @property
    def statements(self) -> str:
        """Return ``kernel``, or where gradients are given, what takes them as they are."""
        return "g = margin; h = label;" if self.given else self.kernel

    @property
    def n_outputs(self) -> int:
        """Margins of a row."""
        return 1

    def gradients(self, margins: F32, data: Dataset) -> tuple[F32, F32]:
        """Return the gradients of a round; for ``given`` ones the host twin of their kernels.

        A loss whose gradients depend on earlier rounds has its twin in ``reference`` alone.

        Parameters
        ----------
        margins : float32 array, shape (n_outputs, n_rows)
        data : Dataset
            Labels, weights and what else the loss looks at.

        Returns
        -------
        g, h : float32 array, shape (n_outputs, n_rows)
            Gradient and Hessian by the margins, without the rows' weights.
        """
        label = data.label if data.n_targets == 1 else data.label.T
        g, h = self.gradient(margins, label)
        return g, h

    def check_data(self, data: Dataset) -> None:
        """Refuse data that lack what the loss looks at, or hold what it does not take.

        Raises
        ------
        DataError
        """
        for target in data.targets():
            check_labels(target, self.name)

    def check_continued(self) -> None:
        """Refuse to add trees to a model, if its file lacks what the next round needs.

        Raises
        ------
        ParameterError
        """
        return

    def leaf_alpha(self, output: int) -> float:
        """Return the quantile, 0 to 1, that renewed leaves of an output take."""
        return 0.5

    def leaf_weights(self, label: F32, weight: F32 | None) -> I64 | None:
        """Return what rows weigh in renewed leaves.

        Parameters
        ----------
        label : float32 array, shape (n_rows,)
        weight : float32 array, shape (n_rows,), or None

        Returns
        -------
        int64 array, shape (n_rows,), or None
            Whole weights >= 0 with a sum below 2^62. None if all are equal, see
            ``numerics.quantiles.quantile``.
        """
        return None if weight is None else whole(weight.astype(np.float64))

    @property
    def parameters(self) -> dict[str, float | str]:
        """The loss's own parameters that are not their defaults; numbers as float32 holds them."""
        given = {f.name: _as_kept(getattr(self, f.name)) for f in fields(self)}
        usual = type(self)()
        return {k: v for k, v in given.items() if v != _as_kept(getattr(usual, k))}

    def to_prediction(self, margin: F32) -> F32:
        """Map margins, of any shape, to what ``predict`` returns, of the same shape."""
        return margin

    def to_probability(self, margin: F32) -> F32:
        """Map margins to what metrics take: the prediction, or the probability of label 1."""
        return self.to_prediction(margin)

    def to_margin(self, score: Score) -> Score:
        """Map a starting score from the space of predictions to margins, rounded to float32."""
        if isinstance(score, tuple):
            return tuple(margin_from_base_score(self.name, one) for one in score)
        return margin_from_base_score(self.name, score)

    def starting_scores(self, label: F32, weight: F32 | None) -> Score:
        """Return the score before the first tree: of every output, if there are several.

        Parameters
        ----------
        label : float32 array, shape (n_rows,) or (n_rows, n_targets)
        weight : float32 array, shape (n_rows,), or None
        """
        if label.ndim == 1:
            return self.starting_score(label, weight)
        targets = np.ascontiguousarray(label.T)
        return tuple(self.starting_score(target, weight) for target in targets)

    def starting_score(self, label: F32, weight: F32 | None) -> float:
        """Return the score before the first tree, in the space of predictions, as a float32.

        Parameters
        ----------
        label : float32 array, shape (n_rows,)
        weight : float32 array, shape (n_rows,), or None
            Weights >= 0, not all 0.

        Notes
        -----
        It is ``score_of_mean`` of the mean label where the loss ``starts_at_mean``, else XGBoost's
        "fitted stump" (``init_estimation.cc``): a Newton step from the margin 0. Sums are exact, so
        the score has the same bits on every machine.
        """
        if self.starts_at_mean:
            return self.score_of_mean(exact_mean(label, weight))
        return float(self.to_prediction(self._stump(label, weight))[0])

    @property
    def starts_at_mean(self) -> bool:
        """Whether the score before the first tree depends on the mean label alone."""
        return False

    def score_of_mean(self, mean: Fraction | float) -> float:
        """Return the starting score of a loss that ``starts_at_mean``; the mean as a float64."""
        return float(np.float32(float(mean)))

    def _stump(self, label: F32, weight: F32 | None) -> F32:
        with np.errstate(under="ignore"):
            g, h = self.gradient(np.zeros_like(label), label)
        step = -exact_sum(g, weight) / max(exact_sum(h, weight), exact_sum(_HESSIAN_EDGE, None))
        return np.array([float(step)]).astype(np.float32)


def _as_kept(value: float | str) -> float | str:
    return value if isinstance(value, str) else float(np.float32(value))


_HESSIAN_EDGE = np.array([1e-6], np.float32)


@dataclass(frozen=True)
class MeanStart(Objective):
    """A loss whose starting score is the mean label."""

    @property
    def starts_at_mean(self) -> bool:
        return True


@dataclass(frozen=True)
class LogLink(Objective):
    """A loss whose prediction is e^margin; starts at the mean label."""

    link = "p = portable_exp(margin);"

    def to_prediction(self, margin: F32) -> F32:
        return portable_exp(margin)

    @property
    def starts_at_mean(self) -> bool:
        return True

    def score_of_mean(self, mean: Fraction | float) -> float:
        return float(np.float32(max(float(mean), _LEAST_MEAN)))


@dataclass(frozen=True)
class LogitLink(Objective):
    """A loss whose prediction is the sigmoid of the margin; starts at the mean label."""

    link = "p = portable_sigmoid(margin);"

    def to_prediction(self, margin: F32) -> F32:
        return portable_sigmoid(margin)

    @property
    def starts_at_mean(self) -> bool:
        return True

    def score_of_mean(self, mean: Fraction | float) -> float:
        return clamp_probability(float(mean))


def clamp_probability(score: float) -> float:
    """Keep a starting probability where its margin is finite, as a float32."""
    return float(np.float32(min(max(score, _EDGE), 1.0 - _EDGE)))


def literal(number: float | np.float32) -> str:
    """Render a number as the float32 nearest to it, exactly, in the kernels' vocabulary."""
    return f"as_f32(0x{np.float32(number).view(np.uint32):08X}u)"
