"""``count:poisson``, ``reg:gamma`` and ``reg:tweedie``: the prediction is e^margin.

Subnormal labels count as 0, since some devices read them so.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyopencl_gbdt.numerics.portable_math import portable_exp
from pyopencl_gbdt.objectives.base import F32, LogLink, literal

_f = np.float32
_TINY = _f(2.0**-126)
#: Upper limit of products of labels and exponentials, so that their sums stay finite.
_MOST = _f(1e30)
_LABEL = f"const f32 y = label < {literal(_TINY)} ? 0.0f : label; "


def _normal(label: F32) -> F32:
    return np.where(label < _TINY, _f(0.0), label)


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

    @property
    def kernel(self) -> str:
        return (
            "g = portable_exp(margin) - label; "
            f"h = portable_exp(margin + {literal(self.max_delta_step)});"
        )

    def gradient(self, margin: F32, label: F32) -> tuple[F32, F32]:
        return portable_exp(margin) - label, portable_exp(margin + _f(self.max_delta_step))


@dataclass(frozen=True)
class Gamma(LogLink):
    """Gradient ``1 - label / e^margin``, Hessian ``label / e^margin``.

    XGBoost 3.2, ``src/objective/regression_obj.cu``.
    """

    name = "reg:gamma"
    metric = "gamma-deviance"
    kernel = (
        f"{_LABEL}f32 r = y * portable_exp(-margin); "
        f"if (r > {literal(_MOST)}) r = {literal(_MOST)}; g = 1.0f - r; h = r;"
    )

    def gradient(self, margin: F32, label: F32) -> tuple[F32, F32]:
        r = np.minimum(_normal(label) * portable_exp(-margin), _MOST)
        return _f(1.0) - r, r


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

    @property
    def _powers(self) -> tuple[np.float32, np.float32]:
        rho = _f(self.tweedie_variance_power)
        return _f(1.0) - rho, _f(2.0) - rho

    @property
    def kernel(self) -> str:
        one, two = self._powers
        return (
            f"{_LABEL}f32 a = y * portable_exp({literal(one)} * margin); "
            f"if (a > {literal(_MOST)}) a = {literal(_MOST)}; "
            f"const f32 b = portable_exp({literal(two)} * margin); "
            f"g = b - a; const f32 ha = {literal(-one)} * a; const f32 hb = {literal(two)} * b; "
            "h = ha + hb;"
        )

    def gradient(self, margin: F32, label: F32) -> tuple[F32, F32]:
        one, two = self._powers
        a = np.minimum(_normal(label) * portable_exp(one * margin), _MOST)
        b = portable_exp(two * margin)
        return b - a, -one * a + two * b
