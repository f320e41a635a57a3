"""``survival:aft``: accelerated failure times, with a lower and an upper bound of each time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pyopencl_gbdt.numerics.portable_log import portable_log
from pyopencl_gbdt.numerics.portable_math import portable_exp, portable_sigmoid, reciprocal
from pyopencl_gbdt.numerics.portable_survival import (
    bernoulli,
    bernoulli_rest,
    mills_ratio,
    mills_rest,
)
from pyopencl_gbdt.objectives.base import F32, LogLink, Objective, literal

if TYPE_CHECKING:
    from pyopencl_gbdt.data.dataset import Dataset

_f = np.float32
#: The logarithm that stands for a missing bound.
_FAR = _f(1e35)
_LIMITS = {"normal": (-30000.0, 30000.0), "logistic": (-50.0, 50.0), "extreme": (-60.0, 23.0)}
_NODES = (0.0469100773, 0.230765343, 0.5, 0.769234657, 0.953089952)
_WEIGHTS = (0.118463442, 0.239314333, 0.284444451, 0.239314333, 0.118463442)


@dataclass(frozen=True)
class Aft(LogLink):
    """Negative log likelihood of ``ln time = margin + scale z``; z has a given distribution.

    Equal bounds mean that the time is known. An upper bound of infinity means a time of at least
    the lower bound; a lower bound of 0 means a time of at most the upper bound. XGBoost 3.2,
    ``src/objective/aft_obj.cu`` and ``src/common/survival_util.h``; Barnwal, Cho and Hocking 2020,
    "Survival regression with accelerated failure time model in XGBoost".

    Attributes
    ----------
    aft_loss_distribution : {"normal", "logistic", "extreme"}
    aft_loss_distribution_scale : float

    Notes
    -----
    Gradients are limited to -15..15 and Hessians to 1e-16..15, as in XGBoost. XGBoost subtracts
    distribution functions; more than about 8 scales from the margin the difference is 0, and it
    uses limits instead. The formulas here are valid everywhere. At a distance of z scales from the
    margin, gradients have errors below 1e-6 (1 + |z|) and Hessians below 1e-6 (4 + z^2), before
    they are divided by the scale.
    """

    name = "survival:aft"
    metric = "aft-nloglik"
    given = True
    kernel = "g = margin; h = label;"
    link = Objective.link
    aft_loss_distribution: str = "normal"
    aft_loss_distribution_scale: float = 1.0

    @property
    def _inverse(self) -> np.float32:
        inverse: np.float32 = _f(1.0 / float(_f(self.aft_loss_distribution_scale)))
        return inverse

    @property
    def template_parameters(self) -> dict[str, str]:
        """The parameters for rendering ``templates/aft.cl.mako``."""
        return {
            "distribution": self.aft_loss_distribution,
            "inverse": literal(self._inverse),
            "inverse_square": literal(self._inverse * self._inverse),
        }

    def check_data(self, data: Dataset) -> None:
        if data.label_lower_bound is None:  # bounds have been checked already
            super().check_data(data)

    def gradient(self, margin: F32, label: F32) -> tuple[F32, F32]:
        """Return the gradients of rows whose times are known."""
        return self.between(margin, *log_bounds(label, label))

    def gradients(self, margins: F32, data: Dataset) -> tuple[F32, F32]:
        """Return the gradients of a round, shape (1, n_rows)."""
        g, h = self.between(margins[0], *log_bounds(*data.bounds))
        return g[None], h[None]

    def between(self, margin: F32, lower: F32, upper: F32) -> tuple[F32, F32]:
        """Twin of ``templates/aft.cl.mako``; the bounds are results of ``log_bounds``."""
        limits = tuple(map(_f, _LIMITS[self.aft_loss_distribution]))
        near, far = (
            np.clip(np.clip(bound - margin, -_FAR, _FAR) * self._inverse, *limits).astype(_f)
            for bound in (lower, upper)
        )
        by_distance = {"normal": _normal, "logistic": _logistic, "extreme": _extreme}
        g, h = by_distance[self.aft_loss_distribution](near, far)
        square = self._inverse * self._inverse
        return (
            np.clip(g * self._inverse, _f(-15.0), _f(15.0)),
            np.clip(h * square, _f(1e-16), _f(15.0)),
        )

    def to_probability(self, margin: F32) -> F32:
        """Return the margin itself: metrics take ln time, as in XGBoost."""
        return margin

    @property
    def starts_at_mean(self) -> bool:
        return False

    def starting_score(self, label: F32, weight: F32 | None) -> float:
        """Return 0.5 for all data, as XGBoost does."""
        return 0.5


def log_bounds(lower: F32, upper: F32) -> tuple[F32, F32]:
    """Return the logarithms of bounds; -1e35 for 0 and 1e35 for infinity."""
    return (
        np.where(lower <= 0, -_FAR, portable_log(lower)),
        np.where(np.isposinf(upper), _FAR, portable_log(upper)),
    )


def _logistic(lower: F32, upper: F32) -> tuple[F32, F32]:
    p_l, q_l = portable_sigmoid(lower), portable_sigmoid(-lower)
    p_u, q_u = portable_sigmoid(upper), portable_sigmoid(-upper)
    return q_l - p_u, p_l * q_l + p_u * q_u


def _extreme(lower: F32, upper: F32) -> tuple[F32, F32]:
    w_l = portable_exp(lower)
    d = portable_exp(upper) - w_l
    q = bernoulli(d)
    return q - w_l, q * bernoulli_rest(d, q) + w_l


def _normal(lower: F32, upper: F32) -> tuple[F32, F32]:
    total = lower + upper
    turned = total < 0
    a, b = np.where(turned, -upper, lower), np.where(turned, -lower, upper)
    width, middle = b - a, _f(0.5) * np.abs(total)
    y = middle * width
    t = portable_exp(-y)
    near = (width < 1) & (y < 1)
    one = _f(1.0)
    inverse_mean = reciprocal(np.where(near, _mean(a, np.where(near, width, _f(0.0))), one))
    slowed = (t * reciprocal(np.where(near, bernoulli(y), one))) * inverse_mean
    near_excess = middle * (one - slowed) - _f(0.5) * width
    mills_a, mills_b = mills_ratio(a), mills_ratio(b)
    inverse_far = reciprocal(np.where(near, one, mills_a - t * mills_b))
    rest_b = t * (mills_rest(b, mills_b) + width * mills_b)
    far_excess = (rest_b - mills_rest(a, mills_a)) * inverse_far
    g = np.where(near, -(middle * slowed), -((one - t) * inverse_far))
    rest = np.where(near, t * inverse_mean, (width * t) * inverse_far)
    return np.where(turned, -g, g), g * np.where(near, near_excess, far_excess) + rest


def _mean(a: F32, step: F32) -> F32:
    """Return the mean of phi(x) / phi(a) between a and a + step."""
    mean = np.zeros_like(a)
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        slope = a + (_f(0.5) * step) * _f(node)
        mean = mean + _f(weight) * portable_exp(-((step * _f(node)) * slope))
    return mean
