"""The interface of a loss, and base classes that share a link function."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.targets import LABELS, check_labels
from pyopencl_gbdt.data.threads import in_threads, transposed
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model import margin_from_base_score, margins_from_base_scores
from pyopencl_gbdt.model.ensemble import Score
from pyopencl_gbdt.numerics.expressions import (
    Number,
    Term,
    Trace,
    evaluate,
    exp,
    statements,
)
from pyopencl_gbdt.numerics.portable_math import as_margin, exact_mean, exact_sum, not_tiny
from pyopencl_gbdt.numerics.weights import whole
from pyopencl_gbdt.parameters.facts import LossFacts

if TYPE_CHECKING:
    from pyopencl_gbdt.data.dataset import Dataset

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]

#: Base scores with a logarithmic link are at least this, since the logarithm of 0 is infinite.
_LEAST_MEAN = 1e-30

#: Kernel statements of gradients that are given: they stand in place of margin and label.
GIVEN_GRADIENTS = "g = margin; h = label;"


@dataclass(frozen=True)
class Objective(ABC):
    """A loss that is a sum over rows; by default the prediction is the margin.

    The fields of a subclass are the loss's parameters, with the names of ``Parameters``. Their
    defaults are those of XGBoost, or of LightGBM for its losses.

    Attributes
    ----------
    name : str
        XGBoost's name, or LightGBM's if XGBoost lacks the loss.
    metric : str
        The default metric.
    given : bool
        Whether kernels of the loss itself compute the gradients, see ``gradients/sources.py``.
        Other losses have ``derivatives``.
    renews : bool
        Whether each leaf's value becomes a quantile of its rows' ``label - margin``, see
        ``leaf_alpha`` and ``leaf_shares``.
    applies_weights : bool
        Whether the loss's kernels multiply gradients by the row weights.
    takes_pages : bool
        Whether gradients can be computed page by page, where pages take turns on the device.
    mean_start : bool
        Whether the loss ``starts_at_mean``, unless it weighs classes.
    fills_device_arrays : bool
        Whether a user's function computes the gradients of all rows on the device.
    """

    given: ClassVar[bool] = False
    renews: ClassVar[bool] = False
    applies_weights: ClassVar[bool] = False
    takes_pages: ClassVar[bool] = True
    mean_start: ClassVar[bool] = False
    fills_device_arrays: ClassVar[bool] = False
    device_link: ClassVar[str] = ""
    """The kernel of ``links`` that does what ``to_prediction`` does; empty: there is none."""

    @property
    @abstractmethod
    def name(self) -> str: ...

    @property
    @abstractmethod
    def metric(self) -> str: ...

    def derivatives(self, margin: Number, label: Number) -> tuple[Term, Term]:
        """Return gradient and Hessian of a row with respect to its margin, without weights.

        Kernels and host both take their arithmetic from here, see ``numerics.expressions``. Of the
        functions there it may call those of ``portable_math.h`` and ``portable_log.h``. Results
        are finite for finite margins and labels.
        """
        raise NotImplementedError(f"{self.name}: write derivatives, or gradient if it is given")

    @cached_property
    def kernel(self) -> str:
        """Kernel statements that set ``g`` and ``h`` (float32) from ``margin`` and ``label``.

        Those of ``given`` gradients are the margin and the label.
        """
        if self.given:
            return GIVEN_GRADIENTS
        trace = Trace()
        found = self.derivatives(*trace.inputs("margin", "label"))
        return trace.statements(found, ("g", "h"))

    def moved(self, margin: Number, label: Number, added: Number) -> tuple[Term, Term]:
        """Return ``derivatives`` after a number is added to the margin of one output.

        Those of ``given`` gradients get gradient and Hessian before in place of margin and label.
        """
        return self.derivatives(margin + added, label)

    @property
    def moved_kernel(self) -> str:
        """Kernel statements that set ``g`` and ``h`` after ``added`` is added to the margin."""
        return statements(self.moved, ("margin", "label", "added"), ("g", "h"))

    @cached_property
    def has_unit_hessians(self) -> bool:
        """Whether the Hessian of every row is 1, without weights."""
        if self.given:
            return False
        _, hessian = self.derivatives(*Trace().inputs("margin", "label"))
        return hessian == 1

    def gradient(self, margin: F32, label: F32) -> tuple[F32, F32]:
        """Compute on the host what ``kernel`` does, with the same bits.

        Parameters
        ----------
        margin, label : float32 array, shape (n_rows,)

        Returns
        -------
        g, h : float32 array, shape (n_rows,)
            Gradient and Hessian with respect to the margin, without weights.
        """
        g, h = evaluate(self.derivatives, margin, label)
        return g, h

    @property
    def n_outputs(self) -> int:
        """Number of margins per row."""
        return 1

    @property
    def n_split(self) -> int:
        """Number of gradients of a row that the loss gives to search splits by.

        0: splits are searched by the outputs' gradients, or by random sums of these.
        """
        return 0

    @property
    def one_target(self) -> bool:
        """Whether a row can have only one label."""
        return self.given or self.n_outputs > 1

    @property
    def own_kernels(self) -> bool:
        """Whether a row's gradients depend on more than its label and margins, or are a user's."""
        return self.given

    def facts(self) -> LossFacts:
        """Return what a training looks at to refuse a combination, and to choose its classes."""
        return LossFacts(
            name=getattr(self, "custom_name", ""), kernel=self.kernel, n_outputs=self.n_outputs,
            one_target=self.one_target, given=self.given, own_kernels=self.own_kernels,
            renews=self.renews, takes_pages=self.takes_pages, n_split=self.n_split,
            fills_device_arrays=self.fills_device_arrays,
        )  # fmt: skip

    def gradients(self, margins: F32, data: Dataset) -> tuple[F32, F32]:
        """Return the gradients of a round; for ``given`` ones, the host twin of their kernels.

        If gradients depend on earlier rounds, only ``tests/reference`` has a twin.

        Parameters
        ----------
        margins : float32 array, shape (n_outputs, n_rows)
        data : Dataset
            Labels, weights and whatever else the loss reads.

        Returns
        -------
        g, h : float32 array, shape (n_outputs, n_rows)
            Gradient and Hessian with respect to the margins, without row weights.
        """
        label = data.label if data.n_targets == 1 else data.label.T
        return self.gradient(margins, not_tiny(label, 2.0**-126))

    def check_data(self, data: Dataset) -> None:
        """Raise an error if the data lack something that the loss needs, or hold invalid labels.

        Raises
        ------
        DataError
        """
        if self.name in LABELS:
            for target in data.targets():
                check_labels(target, self.name)

    def leaf_alpha(self, output: int) -> float:
        """Return which quantile, 0 to 1, the renewed leaves of an output take."""
        return 0.5

    def leaf_shares(self, label: F32, weight: F32 | None) -> F64 | None:
        """Return what the weights of rows in renewed leaves are in proportion to.

        Parameters
        ----------
        label : float32 array, shape (n_rows,)
        weight : float32 array, shape (n_rows,), or None

        Returns
        -------
        float64 array, shape (n_rows,), or None
            Numbers >= 0. None if all weights are equal, see ``numerics.quantiles.quantile``.
        """
        return None if weight is None else weight.astype(np.float64)

    def leaf_weights(self, label: F32, weight: F32 | None) -> I64 | None:
        """Return ``leaf_shares`` of all rows as integers with a sum below 2^62, or None."""
        return None if (share := self.leaf_shares(label, weight)) is None else whole(share)

    def of_training(self, parameters: Any) -> Objective:
        """Return the loss with what ``Parameters`` give for its fields."""
        own = {f.name: getattr(parameters, f.name) for f in fields(self)}
        same = all(value == getattr(self, name) for name, value in own.items())
        return self if same else self.having(**own)  # its kernel may be written already

    def having(self, **parameters: Any) -> Objective:
        """Return the loss with these parameters, which are fields of the class."""
        return type(self)(**parameters)

    @property
    def parameters(self) -> dict[str, float | str]:
        """The loss's parameters that differ from their defaults; numbers rounded to float32."""
        given = {f.name: _as_kept(getattr(self, f.name)) for f in fields(self)}
        usual = type(self)()
        return {k: v for k, v in given.items() if v != _as_kept(getattr(usual, k))}

    def prediction_of(self, margin: Number) -> Term:
        """Return what ``predict`` returns for a margin, an expression."""
        return margin

    def probability_of(self, margin: Number) -> Term:
        """Return the input of metrics: the prediction, or the probability of label 1."""
        return self.prediction_of(margin)

    @property
    def link(self) -> str:
        """Kernel statements that set ``p`` (float32), what metrics take, from ``margin``."""
        return link_statements(self.probability_of)

    def to_prediction(self, margin: F32) -> F32:
        """Convert margins of any shape to what ``predict`` returns, in the same shape."""
        prediction: F32 = evaluate(self.prediction_of, margin)
        return prediction

    def to_probability(self, margin: F32) -> F32:
        """Convert margins to what metrics take."""
        probability: F32 = evaluate(self.probability_of, margin)
        return probability

    def to_margin(self, score: Score) -> Score:
        """Convert a base score from the scale of predictions to margins, rounded to float32."""
        if isinstance(score, tuple):
            return margins_from_base_scores(self.name, score)
        return margin_from_base_score(self.name, score)

    def starting_scores(self, label: F32, weight: F32 | None) -> Score:
        """Return the score before the first tree; a tuple if there are several outputs.

        Parameters
        ----------
        label : float32 array, shape (n_rows,) or (n_rows, n_targets)
        weight : float32 array, shape (n_rows,), or None
        """
        if label.ndim == 1:
            return self.starting_score(label, weight)
        targets = list(transposed(label))
        if not self.starts_at_mean:  # gradients may be the user's function
            return tuple(self.starting_score(target, weight) for target in targets)
        return tuple(in_threads(lambda target: self.starting_score(target, weight), targets))

    def starting_score(self, label: F32, weight: F32 | None) -> float:
        """Return the score before the first tree, on the scale of predictions, as a float32.

        Parameters
        ----------
        label : float32 array, shape (n_rows,)
        weight : float32 array, shape (n_rows,), or None
            Weights >= 0, not all 0.

        Notes
        -----
        For losses that ``starts_at_mean`` it is ``score_of_mean`` of the mean label. For others it
        is XGBoost's "fitted stump" (``init_estimation.cc``): one Newton step from margin 0. Sums
        are exact, so the score has the same bits on every machine.
        """
        if self.starts_at_mean:
            return self.score_of_mean(exact_mean(label, weight))
        return float(self.to_prediction(as_margin(self._stump(label, weight)))[0])

    @property
    def starts_at_mean(self) -> bool:
        """Whether the score before the first tree depends only on the mean label."""
        return self.mean_start

    def score_of_mean(self, mean: Fraction | float) -> float:
        """Return the base score for a mean label; only if ``starts_at_mean``."""
        return float(as_margin(np.array([float(mean)], np.float32))[0])

    def _stump(self, label: F32, weight: F32 | None, margin: float | np.float32 = 0.0) -> F32:
        """Return the Newton step from a margin of all rows, shape (1,)."""
        g, h = self.gradient(np.full_like(label, margin), label)
        step = -exact_sum(g, weight) / max(exact_sum(h, weight), exact_sum(_HESSIAN_EDGE, None))
        return np.array([float(step)]).astype(np.float32)


def link_statements(link: Callable[[Number], Term]) -> str:
    """Return kernel statements that set ``p`` from ``margin``."""
    return statements(link, ("margin",), ("p",), prefix="m")


def _rounded(value: float) -> float:
    return float(np.float32(value))


def _as_kept(value: float | str) -> float | str:
    return value if isinstance(value, str) else _rounded(value)


_HESSIAN_EDGE = np.array([1e-6], np.float32)


@dataclass(frozen=True)
class RowOutputs(Objective):
    """A loss whose outputs need each other's margins; each row has one label."""

    given: ClassVar[bool] = True

    @abstractmethod
    def of_row(self, *margins_and_label: Number) -> tuple[Term, ...]:
        """Return gradient and Hessian of each output in turn, from all margins and the label."""

    @property
    def row_kernel(self) -> str:
        """Kernel statements that set g0, h0, g1, ... from margin0, margin1, ... and label."""
        outputs = range(self.n_outputs)
        names = (*(f"margin{k}" for k in outputs), "label")
        return statements(self.of_row, names, [f"{one}{k}" for k in outputs for one in "gh"])

    def gradient(self, margin: F32, label: F32) -> tuple[F32, F32]:
        """Return the gradients for margins of shape (n_outputs, n_rows)."""
        found = evaluate(self.of_row, *margin, not_tiny(label, 2.0**-126))
        return np.stack(found[::2]), np.stack(found[1::2])


@dataclass(frozen=True)
class MeanStart(Objective):
    """A loss whose base score is the mean label."""

    mean_start = True

    def to_margin(self, score: Score) -> Score:
        """Round a base score to float32: predictions are margins."""
        return tuple(map(_rounded, score)) if isinstance(score, tuple) else _rounded(score)


@dataclass(frozen=True)
class LogLink(Objective):
    """A loss whose prediction is e^margin; its base score is the mean label."""

    device_link = "exponential"
    mean_start = True

    def prediction_of(self, margin: Number) -> Term:
        return exp(margin)

    def score_of_mean(self, mean: Fraction | float) -> float:
        return float(np.float32(max(float(mean), _LEAST_MEAN)))
