"""``reg:absoluteerror`` and ``reg:quantileerror``: leaf values are quantiles of residuals."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from pyopencl_gbdt.model.ensemble import Score
from pyopencl_gbdt.numerics.expressions import Number, Term, of_output, where
from pyopencl_gbdt.numerics.portable_math import as_margin
from pyopencl_gbdt.numerics.quantiles import quantile
from pyopencl_gbdt.objectives.base import F32, Objective

_f = np.float32


@dataclass(frozen=True)
class QuantileLeaves(Objective):
    """A loss whose minimum is a quantile: base score and leaf values are quantiles."""

    renews = True

    def starting_score(self, label: F32, weight: F32 | None) -> float:
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
class QuantileError(QuantileLeaves):
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

    @property
    def alphas(self) -> F32:
        """The quantile of each output, float32."""
        given = self.quantile_alpha
        return np.atleast_1d(np.array(json.loads(given) if isinstance(given, str) else given, _f))

    @property
    def n_outputs(self) -> int:
        return int(self.alphas.size)

    @property
    def parameters(self) -> dict[str, float | str]:
        if self.n_outputs == 1:
            alpha = float(self.alphas[0])
            return {} if alpha == _f(0.5) else {"quantile_alpha": alpha}
        return {"quantile_alpha": "[" + ",".join(f"{alpha:.9g}" for alpha in self.alphas) + "]"}

    def derivatives(self, margin: Number, label: Number) -> tuple[Term, Term]:
        alpha = of_output(margin, self.alphas)
        return where(margin >= label, 1 - alpha, -alpha), 1

    def leaf_alpha(self, output: int) -> float:
        return float(self.alphas[output if self.n_outputs > 1 else 0])

    def starting_scores(self, label: F32, weight: F32 | None) -> Score:
        if self.n_outputs == 1:
            return super().starting_scores(label, weight)
        weights = self.leaf_weights(label, weight)
        return tuple(_start(quantile(label, weights, float(alpha))) for alpha in self.alphas)
