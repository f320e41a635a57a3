"""Losses of quantiles, absolute error among them, and of expectiles: one, or several."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import numpy as np

from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model import LEAST_STEP
from pyopencl_gbdt.model.ensemble import Score
from pyopencl_gbdt.numerics.expressions import (
    Number,
    Term,
    clamped,
    evaluate,
    exp,
    log1p,
    of_output,
    sigmoid,
    size_of,
    where,
)
from pyopencl_gbdt.numerics.portable_math import as_margin, exact_mean
from pyopencl_gbdt.objectives.base import F32, Objective, RowOutputs

#: Residuals are clamped to this, so that gradients and their sums over outputs stay finite.
_FAR = 2.0**110


def _numbers_of(given: float | tuple[float, ...] | str) -> F32:
    """Return a parameter of one or several numbers as float32, shape (n,); a string holds JSON."""
    return np.atleast_1d(np.array(json.loads(given) if isinstance(given, str) else given, "f4"))


@dataclass(frozen=True)
class _Alphas(Objective):
    """A loss whose only field is one number, or several, each of which is an output."""

    @property
    def alphas(self) -> F32:
        """The number of each output, float32."""
        return _numbers_of(getattr(self, fields(self)[0].name))

    @property
    def n_outputs(self) -> int:
        return int(self.alphas.size)

    @property
    def parameters(self) -> dict[str, float | str]:
        """What is kept in models: several numbers as JSON."""
        first, *others = self.alphas.tolist()
        if not others and first == type(self)().alphas[0]:
            return {}
        several = "[" + ",".join(f"{one:.9g}" for one in self.alphas) + "]"
        return {fields(self)[0].name: several if others else first}


@dataclass(frozen=True)
class QuantileLeaves(Objective):
    """A loss whose minimum is a quantile: base score and leaf values are quantiles."""

    renews = True

    def starting_score(self, label: F32, weight: F32 | None) -> float:
        from pyopencl_gbdt.numerics.quantiles import quantile

        return _start(quantile(label, self.leaf_weights(label, weight), self.leaf_alpha(0)))


def _start(found: np.float32 | None) -> float:
    return 0.0 if found is None else float(as_margin(np.array([found]))[0])


@dataclass(frozen=True)
class AbsoluteError(QuantileLeaves):
    """Gradient ``sign(margin - label)``, Hessian 1; the base score is the median.

    XGBoost 3.2, ``src/objective/regression_obj.cu``.
    """

    name = "reg:absoluteerror"
    metric = "mae"

    def derivatives(self, margin: Number, label: Number) -> tuple[Term, Term]:
        return where(margin > label, 1, where(margin < label, -1, 0)), 1


@dataclass(frozen=True)
class QuantileError(_Alphas, QuantileLeaves):
    """Gradient ``-alpha`` below the label, else ``1 - alpha``, Hessian 1; starts at the quantile.

    XGBoost 3.2, ``src/objective/quantile_obj.cu``; Koenker and Bassett 1978, "Regression
    quantiles".

    Attributes
    ----------
    quantile_alpha : float, tuple of float, or str
        The quantile, 0 to 1; with several quantiles each is an output. A string holds JSON.
    """

    name = "reg:quantileerror"
    metric = "quantile"
    quantile_alpha: float | tuple[float, ...] | str = 0.5

    def derivatives(self, margin: Number, label: Number) -> tuple[Term, Term]:
        alpha = of_output(margin, self.alphas)
        return where(margin >= label, 1 - alpha, -alpha), 1

    def to_prediction(self, margin: F32) -> F32:
        """Sort the quantiles of each row, so that they never cross; margins stay as trained.

        Chernozhukov, Fernandez-Val and Galichon 2010, "Quantile and probability curves without
        crossing": sorted quantiles are not farther from the true ones.
        """
        found = super().to_prediction(margin)
        if self.n_outputs > 1 and margin.ndim > 1:
            in_order = np.empty_like(found)
            in_order[np.argsort(self.alphas, kind="stable")] = np.sort(found, axis=0)
            found = in_order
        return found

    def leaf_alpha(self, output: int) -> float:
        return float(self.alphas[output if self.n_outputs > 1 else 0])

    def starting_scores(self, label: F32, weight: F32 | None) -> Score:
        from pyopencl_gbdt.numerics.quantiles import quantile

        if self.n_outputs == 1:
            return super().starting_scores(label, weight)
        weights = self.leaf_weights(label, weight)
        return tuple(_start(quantile(label, weights, float(alpha))) for alpha in self.alphas)


@dataclass(frozen=True)
class ExpectileError(_Alphas):
    """Gradient ``w d``, Hessian ``w``; d is ``margin - label``, w is alpha below the label.

    At and above the label, w is ``1 - alpha``. The base score is a Newton step from the mean label.
    XGBoost 3.4, ``src/objective/expectile_obj.cc``; Newey and Powell 1987, "Asymmetric least
    squares estimation and testing".

    Attributes
    ----------
    expectile_alpha : float, tuple of float, or str
        The expectile, 0 to 1; 0.5 is the mean. Several, ascending, are outputs of
        ``SeveralExpectilesError``. A string holds JSON.
    """

    name = "reg:expectileerror"
    metric = "expectile"
    expectile_alpha: float | tuple[float, ...] | str = 0.5

    def having(self, **parameters: Any) -> Objective:
        several = _numbers_of(parameters.get("expectile_alpha", 0.5)).size > 1
        return (SeveralExpectilesError if several else ExpectileError)(**parameters)

    def derivatives(self, margin: Number, label: Number) -> tuple[Term, Term]:
        return _derivatives(margin, label, self.alphas[0])

    def starting_score(self, label: F32, weight: F32 | None) -> float:
        mean = np.float32(float(exact_mean(label, weight)))
        step = self._stump(label, weight, mean)
        return float(as_margin(mean + step)[0])


def _derivatives(prediction: Number, label: Number, alpha: np.float32) -> tuple[Number, Number]:
    d = clamped(prediction - label, -_FAR, _FAR)
    w = where(d >= 0, np.float32(1) - alpha, alpha)
    return w * d, w


def _step(margin: Number) -> Number:
    """Return ``ln(1 + e^margin)``, above the least step, in a form that does not overflow."""
    return where(margin > 0, margin, 0) + log1p(exp(-size_of(margin))) + LEAST_STEP


@dataclass(frozen=True)
class SeveralExpectilesError(ExpectileError, RowOutputs):
    """Ascending expectiles: each after the first is a step above the one before.

    Expectile k is expectile k - 1 plus ``ln(1 + e^margin) + 1e-6``, so they never cross. Of output
    j the gradient is the sum of ``w d`` of the expectiles k >= j, times the derivative of the
    step; the Hessian is the sum of w, times its square (the diagonal of Gauss and Newton). XGBoost
    3.4, ``src/objective/expectile_obj.cc``.
    """

    def of_row(self, *margins_and_label: Number) -> tuple[Term, ...]:
        *margins, label = margins_and_label
        pairs = [
            _derivatives(prediction, label, alpha)
            for prediction, alpha in zip(self._in_order(*margins), self.alphas, strict=True)
        ]
        found: list[Term] = []
        g, h = pairs[-1]
        for output in range(len(margins) - 1, -1, -1):
            if output < len(margins) - 1:
                g, h = g + pairs[output][0], h + pairs[output][1]
            slope = sigmoid(margins[output]) if output else None
            found[:0] = (g, h) if slope is None else (slope * g, (slope * slope) * h)
        return tuple(found)

    def _in_order(self, *margins: Number) -> tuple[Number, ...]:
        found = [margins[0]]
        for margin in margins[1:]:
            found.append(found[-1] + _step(margin))
        return tuple(found)

    def to_prediction(self, margin: F32) -> F32:
        """Convert margins, shape (n_outputs, n_rows), to ascending expectiles."""
        return np.stack(evaluate(self._in_order, *margin))

    def to_probability(self, margin: F32) -> F32:
        return self.to_prediction(margin)

    def starting_scores(self, label: F32, weight: F32 | None) -> Score:
        """Return the starting scores of the expectiles, each at least the one before."""
        one = [ExpectileError(float(alpha)).starting_score(label, weight) for alpha in self.alphas]
        return tuple(np.maximum.accumulate(one).tolist())
