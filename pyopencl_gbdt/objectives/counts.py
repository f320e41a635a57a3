"""``count:poisson``, ``reg:gamma`` and ``reg:tweedie``: the prediction is e^margin.

Subnormal labels count as 0, since some devices read them so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyopencl_gbdt.numerics.expressions import Number, Term, at_most, exp, where
from pyopencl_gbdt.objectives.base import LogLink

_TINY = 2.0**-126
#: Upper limit of products of labels and exponentials, so that their sums stay finite.
_MOST = 1e30


def _normal(label: Number) -> Number:
    return where(label < _TINY, 0, label)


@dataclass(frozen=True)
class Poisson(LogLink):
    """Gradient ``e^margin - label``, Hessian ``e^(margin + max_delta_step)``.

    XGBoost 3.2, ``src/objective/regression_obj.cu``.

    Attributes
    ----------
    max_delta_step : float
        Raises the Hessian; leaf values are limited by it too.
    """

    name = "count:poisson"
    metric = "poisson-nloglik"
    max_delta_step: float = 0.7

    def derivatives(self, margin: Number, label: Number) -> tuple[Term, Term]:
        return exp(margin) - label, exp(margin + self.max_delta_step)


@dataclass(frozen=True)
class Gamma(LogLink):
    """Gradient ``1 - label / e^margin``, Hessian ``label / e^margin``.

    XGBoost 3.2, ``src/objective/regression_obj.cu``.
    """

    name = "reg:gamma"
    metric = "gamma-deviance"

    def derivatives(self, margin: Number, label: Number) -> tuple[Term, Term]:
        r = at_most(_normal(label) * exp(-margin), _MOST)
        return 1 - r, r


@dataclass(frozen=True)
class Tweedie(LogLink):
    """Gradient ``b - a``, Hessian ``(rho - 1) a + (2 - rho) b``.

    a is ``label e^((1 - rho) margin)``, b is ``e^((2 - rho) margin)``. XGBoost 3.2,
    ``src/objective/regression_obj.cu``.

    Attributes
    ----------
    tweedie_variance_power : float
        rho in 1..2: 1 gives Poisson's loss, close to 2 the loss is close to gamma's.
    """

    name = "reg:tweedie"
    tweedie_variance_power: float = 1.5

    @property
    def metric(self) -> str:
        return f"tweedie-nloglik@{self.tweedie_variance_power:g}"

    def derivatives(self, margin: Number, label: Number) -> tuple[Term, Term]:
        rho = np.float32(self.tweedie_variance_power)
        one, two = np.float32(1) - rho, np.float32(2) - rho
        a = at_most(_normal(label) * exp(one * margin), _MOST)
        b = exp(two * margin)
        return b - a, -one * a + two * b
