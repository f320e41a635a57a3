"""LightGBM's robust losses, for targets with outliers: ``huber``, ``fair`` and ``mape``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyopencl_gbdt.numerics.portable_math import reciprocal
from pyopencl_gbdt.objectives.base import F32, F64, MeanStart, Objective, literal

_f = np.float32
_FAR = _f(2.0**110)


@dataclass(frozen=True)
class Huber(MeanStart):
    """Gradient ``margin - label``, clamped to ``huber_alpha``; Hessian 1; starts at the mean.

    LightGBM 4, ``src/objective/regression_objective.hpp``; Huber 1964, "Robust estimation of a
    location parameter".

    Attributes
    ----------
    huber_alpha : float
        LightGBM's ``alpha``, a name that means ``reg_alpha`` in XGBoost.
    """

    name = "huber"
    metric = "mae"
    huber_alpha: float = 0.9

    @property
    def kernel(self) -> str:
        alpha = literal(self.huber_alpha)
        return (
            f"g = margin - label; if (g > {alpha}) g = {alpha}; if (g < -{alpha}) g = -{alpha}; "
            "h = 1.0f;"
        )

    def gradient(self, margin: F32, label: F32) -> tuple[F32, F32]:
        alpha = _f(self.huber_alpha)
        return np.minimum(np.maximum(margin - label, -alpha), alpha), np.ones_like(margin)


@dataclass(frozen=True)
class Fair(MeanStart):
    """Gradient ``c x / (|x| + c)``, Hessian ``c^2 / (|x| + c)^2``; x is ``margin - label``.

    Starts at the mean. LightGBM 4, ``src/objective/regression_objective.hpp``.

    Attributes
    ----------
    fair_c : float
        The largest gradient.
    """

    name = "fair"
    metric = "mae"
    fair_c: float = 1.0

    @property
    def kernel(self) -> str:
        far, c = literal(_FAR), literal(self.fair_c)
        return (
            f"f32 x = margin - label; if (x > {far}) x = {far}; if (x < -{far}) x = -{far}; "
            "const f32 size = x < 0.0f ? -x : x; "
            f"const f32 q = {c} * reciprocal(size + {c}); g = x * q; h = q * q;"
        )

    def gradient(self, margin: F32, label: F32) -> tuple[F32, F32]:
        c = _f(self.fair_c)
        x = np.minimum(np.maximum(margin - label, -_FAR), _FAR)
        q = c * reciprocal(np.abs(x) + c)
        return x * q, q * q


@dataclass(frozen=True)
class Mape(Objective):
    """Gradient ``sign(margin - label) / max(1, |label|)``, Hessian 1.

    Base score and leaf values are medians weighted by ``1 / max(1, |label|)``. LightGBM 4,
    ``src/objective/regression_objective.hpp``.
    """

    renews = True
    name = "mape"
    metric = "mape"
    kernel = (
        "f32 size = label < 0.0f ? -label : label; if (size < 1.0f) size = 1.0f; "
        f"if (size > {literal(_FAR)}) size = {literal(_FAR)}; "
        "const f32 w = reciprocal(size); "
        "g = margin > label ? w : (margin < label ? -w : 0.0f); h = 1.0f;"
    )

    def gradient(self, margin: F32, label: F32) -> tuple[F32, F32]:
        w = self._share(label)
        below = np.where(margin < label, -w, _f(0.0))
        return np.where(margin > label, w, below), np.ones_like(margin)

    @staticmethod
    def _share(label: F32) -> F32:
        return reciprocal(np.minimum(np.maximum(np.abs(label), _f(1.0)), _FAR))

    def leaf_shares(self, label: F32, weight: F32 | None) -> F64 | None:
        share = self._share(label).astype(np.float64)
        return share if weight is None else share * weight

    def starting_score(self, label: F32, weight: F32 | None) -> float:
        """Return the smallest label whose cumulative weight exceeds half of the total."""
        order = np.argsort(label, kind="stable")
        share = self._share(label).astype(np.float64)
        if weight is not None:
            share *= weight
        total = np.cumsum(share[order])  # in a fixed order: the same bits everywhere
        at = int(np.searchsorted(total, 0.5 * total[-1], side="right"))
        return float(label[order[min(at, label.size - 1)]])
