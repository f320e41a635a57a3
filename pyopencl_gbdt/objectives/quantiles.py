"""``reg:absoluteerror`` and ``reg:quantileerror``: leaves are quantiles of residuals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyopencl_gbdt.objectives.base import F32, Objective, literal
from pyopencl_gbdt.reference.renew_leaves import quantile

_f = np.float32


@dataclass(frozen=True)
class QuantileLeaves(Objective):
    """A loss that is least at a quantile, where it starts and which its leaves take."""

    renews = True

    def starting_score(self, label: F32, weight: F32 | None) -> float:
        found = quantile(label, self.leaf_weights(label, weight), self.leaf_alpha(0))
        return 0.0 if found is None else float(found)


@dataclass(frozen=True)
class AbsoluteError(QuantileLeaves):
    """Gradient ``sign(margin - label)``, Hessian 1; starts at the median.

    XGBoost 3.2, ``src/objective/regression_obj.cu``.
    """

    name = "reg:absoluteerror"
    metric = "mae"
    kernel = "g = margin > label ? 1.0f : (margin < label ? -1.0f : 0.0f); h = 1.0f;"

    def gradient(self, margin: F32, label: F32) -> tuple[F32, F32]:
        below = np.where(margin < label, _f(-1.0), _f(0.0))
        return np.where(margin > label, _f(1.0), below), np.ones_like(margin)


@dataclass(frozen=True)
class QuantileError(QuantileLeaves):
    """Gradient ``-alpha`` below the label, else ``1 - alpha``, Hessian 1; starts at the quantile.

    XGBoost 3.2, ``src/objective/quantile_obj.cu``; Koenker and Bassett 1978, "Regression
    quantiles".

    Attributes
    ----------
    quantile_alpha : float
        The quantile, 0 to 1.
    """

    name = "reg:quantileerror"
    metric = "quantile"
    quantile_alpha: float = 0.5

    @property
    def kernel(self) -> str:
        alpha = _f(self.quantile_alpha)
        above, below = literal(_f(1.0) - alpha), literal(-alpha)
        return f"g = margin >= label ? {above} : {below}; h = 1.0f;"

    def gradient(self, margin: F32, label: F32) -> tuple[F32, F32]:
        alpha = _f(self.quantile_alpha)
        return np.where(margin >= label, _f(1.0) - alpha, -alpha), np.ones_like(margin)

    def leaf_alpha(self, output: int) -> float:
        return float(np.atleast_1d(self.quantile_alpha)[output])
