"""``survival:cox``, proportional hazards, and ``survival:aft``, accelerated failure times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.numerics.expressions import (
    Number,
    Term,
    bernoulli,
    bernoulli_rest,
    clamped,
    evaluate,
    exp,
    mills_ratio,
    mills_rest,
    reciprocal,
    sigmoid,
    size_of,
    statements,
    where,
)
from pyopencl_gbdt.numerics.portable_math import (
    df_from_i64,
    portable_exp,
    portable_log,
    power_of_two,
    to_quanta,
)
from pyopencl_gbdt.numerics.portable_math import reciprocal as inverse_of
from pyopencl_gbdt.objectives.base import F32, LogLink

if TYPE_CHECKING:
    from pyopencl_gbdt.data.dataset import Dataset


I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
_f = np.float32

#: Sums of 1 / S and 1 / S^2: (number of 31-bit planes, unit); the lowest plane counts 2^-unit.
PLANES = {"r": (2, 88), "s": (3, 122)}
EVENT = np.uint32(1 << 31)


@dataclass(frozen=True)
class Cox(LogLink):
    """Negative log partial likelihood of Cox's model of proportional hazards.

    A row with label t > 0 had its event at time t; a row with label -t was censored at time t.
    S is the sum of e^m over all rows that are not earlier than an event; r and s are the sums of
    1 / S and 1 / S^2 over the events up to the row's time. The gradient is ``e^m r - event``, the
    Hessian ``e^m r - e^2m s``. XGBoost 3.2, ``src/objective/regression_obj.cu``; Cox 1972,
    "Regression models and life-tables". Ties are as in XGBoost: events of a tie share one risk set
    (Breslow 1974) but count one after the other, in the order of the rows.

    Notes
    -----
    As in XGBoost, a weight multiplies its row's gradient and Hessian but not the risk sets: a row
    of weight k is not the same as k equal rows. Risks are integers, see ``top_bits``: a hazard
    below e^-28 of the largest one (among a million rows) counts as e^-28 of it.
    """

    name = "survival:cox"
    metric = "cox-nloglik"
    given = True
    takes_pages = False
    mean_start = False  # the base score is the hazard after one Newton step from hazard 1

    def gradient(self, margin: F32, label: F32) -> tuple[F32, F32]:
        """Twin of ``templates/cox.cl.mako``."""
        order, starts = in_time(label)
        start, event = (starts & ~EVENT).astype(np.int64), starts >= EVENT
        risk = portable_exp(margin[order])
        largest = int(risk.max().view(np.uint32) >> 23)
        quanta = np.maximum(to_quanta(risk, top_bits(label.size) + 126 - largest), 1)
        sums = np.concatenate([[0], np.cumsum(quanta)])
        inverse = inverse_of(df_from_i64(sums[-1] - sums[start])[0])
        r, s = (
            _running_sum(np.where(event, _f(term), _f(0.0)), *PLANES[name])
            for name, term in (("r", inverse), ("s", inverse * inverse))
        )
        risk = df_from_i64(quanta)[0]
        g, h = np.empty_like(risk), np.empty_like(risk)
        first = risk * r
        g[order] = first - event.astype(np.float32)
        h[order] = np.maximum(first - (risk * risk) * s, _f(0.0))
        return g, h

    def gradients(self, margins: F32, data: Dataset) -> tuple[F32, F32]:
        """Return the gradients of a round, shape (1, n_rows)."""
        g, h = self.gradient(margins[0], data.label)
        return g[None], h[None]


def in_time(label: F32) -> tuple[U32, U32]:
    """Return the row numbers by time, and per position the first position with the same time.

    Parameters
    ----------
    label : float32 array, shape (n_rows,)

    Returns
    -------
    order, starts : uint32 array, shape (n_rows,)
        Bit 31 of ``starts`` marks events.
    """
    times = np.abs(label)
    order = np.argsort(times, kind="stable").astype(np.uint32)
    times = times[order]
    head = np.concatenate([[True], times[1:] != times[:-1]])
    start = np.maximum.accumulate(np.where(head, np.arange(times.size), 0)).astype(np.uint32)
    return order, np.where(label[order] > 0, start | EVENT, start).astype(np.uint32)


def top_bits(n_rows: int) -> int:
    """Return the number of bits of the largest risk.

    All risks sum to less than 2^61. The unit of s, 2^-122, is at most 2^-20 of the product of the
    largest risk and that sum, so a Hessian is as precise, relative to ``e^m r``.
    """
    length = n_rows.bit_length()
    return min((102 - length) // 2, 61 - length)


def _running_sum(terms: F32, planes: int, unit: int) -> F32:
    """Return the running sums of float32 terms, rounded only once each, at the end."""
    total = np.zeros_like(terms)
    for j in range(planes):
        part = np.cumsum(plane_of(terms, unit, j, planes))
        total = total + df_from_i64(part)[0] * power_of_two(31 * j - unit)
    return total


def plane_of(x: F32, unit: int, j: int, planes: int) -> I64:
    """Return the bits of x >= 0 in plane j; the last plane holds all higher bits too."""
    bits = x.view(np.uint32)
    shift = (bits >> 23).astype(np.int64) - 150 + unit - 31 * j
    mantissa = ((bits & 0x7FFFFF) | 0x800000).astype(np.int64)
    low = mantissa >> np.clip(-shift, 0, 63)
    moved = np.where(shift < 0, low, mantissa << np.clip(shift, 0, 39))
    if j < planes - 1:
        moved = np.where(shift >= 31, 0, moved & 0x7FFFFFFF)
    return np.where(x == 0, 0, moved)


#: The logarithm that stands for a missing bound.
_FAR = np.float32(1e35)
_LIMITS = {"normal": (-30000.0, 30000.0), "logistic": (-50.0, 50.0), "extreme": (-60.0, 23.0)}
#: Gauss and Legendre's rule of five points on 0..1; its weights sum to 1 exactly, in this order.
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
    mean_start = False
    aft_loss_distribution: str = "normal"
    aft_loss_distribution_scale: float = 1.0

    def derivatives_between(
        self, margin: Number, lower: Number, upper: Number
    ) -> tuple[Term, Term]:
        """Return gradient and Hessian of a row; the bounds are results of ``log_bounds``.

        ``z`` is the distance of a bound from the margin. A missing bound is 1e35 away: its z is
        clamped, so the formulas need no special cases. The difference is clamped before the
        multiplication too: otherwise Intel's CPU compiler fuses both into one operation, although
        contraction is off.
        """
        inverse = np.float32(1.0 / float(np.float32(self.aft_loss_distribution_scale)))
        limits = _LIMITS[self.aft_loss_distribution]
        by_distance = _BY_DISTANCE[self.aft_loss_distribution]
        z_l = clamped(clamped(lower - margin, -_FAR, _FAR) * inverse, *limits)
        z_u = clamped(clamped(upper - margin, -_FAR, _FAR) * inverse, *limits)
        g, h = by_distance(z_l, z_u)
        return clamped(g * inverse, -15, 15), clamped(h * (inverse * inverse), 1e-16, 15)

    @property
    def kernel_between(self) -> str:
        """Kernel statements that set ``g`` and ``h`` from ``margin``, ``lower`` and ``upper``."""
        return statements(self.derivatives_between, ("margin", "lower", "upper"), ("g", "h"))

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
        """Return what the kernels compute; the bounds are results of ``log_bounds``."""
        g, h = evaluate(self.derivatives_between, margin, lower, upper)
        return g, h

    def probability_of(self, margin: Number) -> Term:
        """Return the margin itself: metrics take ln time, as in XGBoost."""
        return margin

    def starting_score(self, label: F32, weight: F32 | None) -> float:
        """Return 0.5 for all data, as XGBoost does."""
        return 0.5


def log_bounds(lower: F32, upper: F32) -> tuple[F32, F32]:
    """Return the logarithms of bounds; -1e35 for 0 and 1e35 for infinity."""
    return (
        np.where(lower <= 0, -_FAR, portable_log(lower)),
        np.where(np.isposinf(upper), _FAR, portable_log(upper)),
    )


def _logistic(lower: Number, upper: Number) -> tuple[Number, Number]:
    """Return 1 - p_u - p_l and p_u q_u + p_l q_l; p is the probability below a bound, q = 1 - p."""
    p_l, q_l = sigmoid(lower), sigmoid(-lower)
    p_u, q_u = sigmoid(upper), sigmoid(-upper)
    return q_l - p_u, p_l * q_l + p_u * q_u


def _extreme(lower: Number, upper: Number) -> tuple[Number, Number]:
    """Return q - w_l and q (q + d - 1) + w_l; w = e^z, d = w_u - w_l and q = d / (e^d - 1)."""
    w_l = exp(lower)
    d = exp(upper) - w_l
    q = bernoulli(d)
    return q - w_l, q * bernoulli_rest(d, q) + w_l


def _normal(lower: Number, upper: Number) -> tuple[Number, Number]:
    """Compute from Mills' ratios; signs are chosen so that the nearer bound, a, comes first.

    Where the bounds are near, the mean of phi(x) / phi(a) between them comes from quadrature, as a
    difference would cancel.
    """
    total = lower + upper
    turned = total < 0
    a, b = where(turned, -upper, lower), where(turned, -lower, upper)
    width, middle = b - a, 0.5 * size_of(total)
    y = middle * width
    t = exp(-y)  # phi(b) / phi(a)
    near = (width < 1) & (y < 1)
    inverse_mean = reciprocal(where(near, mean_of_density(a, where(near, width, 0)), 1))
    slowed = (t * reciprocal(where(near, lambda: bernoulli(y), 1))) * inverse_mean
    near_g = -(middle * slowed)
    near_excess = middle * (1 - slowed) - 0.5 * width  # gradient + a
    near_rest = t * inverse_mean
    mills_a, mills_b = mills_ratio(a), mills_ratio(b)
    inverse_far = reciprocal(where(near, 1, mills_a - t * mills_b))
    far_g = -((1 - t) * inverse_far)
    rest_b = t * (mills_rest(b, mills_b) + width * mills_b)
    far_excess = (rest_b - mills_rest(a, mills_a)) * inverse_far
    far_rest = (width * t) * inverse_far
    g = where(near, near_g, far_g)
    h = g * where(near, near_excess, far_excess) + where(near, near_rest, far_rest)
    return where(turned, -g, g), h


def mean_of_density(a: Number, step: Number) -> Term:
    """Return the mean of phi(x) / phi(a) between a and a + step."""
    mean: Term = 0
    half = 0.5 * step
    for node, weight in zip(_NODES, _WEIGHTS, strict=True):
        slope = a + half * node
        mean = mean + weight * exp(-((step * node) * slope))
    return mean


_BY_DISTANCE = {"normal": _normal, "logistic": _logistic, "extreme": _extreme}
