"""Losses whose outputs are the parameters of a distribution of the label.

Each loss is the negative logarithm of the likelihood. Its gradients are natural ones: they are
taken relative to Fisher's information, which stands in the place of the Hessian (Duan et al. 2020,
"NGBoost: natural gradient boosting for probabilistic prediction"). The parameters of each
distribution here are orthogonal: their information is a diagonal matrix, so each output has a
gradient and a Hessian of its own. Where the step of one row alone could be large, the Hessian is
the mean of the expected and the observed information, which bounds it.
"""

from __future__ import annotations

from abc import abstractmethod
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

import numpy as np

from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model.ensemble import Score
from pyopencl_gbdt.numerics.expressions import (
    Number,
    Term,
    at_least,
    at_most,
    clamped,
    digamma_rest,
    evaluate,
    exp,
    gamma_rest,
    log,
    mills_right,
    minus_log1p,
    reciprocal,
    size_of,
    trigamma_rest,
    where,
)
from pyopencl_gbdt.numerics.portable_math import as_margin, exact_mean
from pyopencl_gbdt.objectives.base import F32, F64, RowOutputs

#: Squares and ratios stay below, so that their sums are finite.
_MOST = 1e30
_HALF_LOG_2_PI = 0.9189385332046727
#: Start: the least variance of labels, and the least excess of a count's variance over its mean.
_LEAST_VARIANCE, _LEAST_EXCESS = 1e-12, 1e-4


@dataclass(frozen=True)
class Distribution(RowOutputs):
    """A distribution of the label with two parameters; ``predict`` returns its mean.

    Attributes
    ----------
    parameter_names : tuple of str
        What ``to_probability`` returns, in this order.
    """

    metric = "nll"
    parameter_names: ClassVar[tuple[str, str]]

    @property
    def n_outputs(self) -> int:
        return len(self.parameter_names)

    @property
    def objective(self) -> str:
        """The name, by which metrics find the distribution in ``Parameters`` too."""
        return self.name

    @abstractmethod
    def parameters_of(self, first: Number, second: Number) -> tuple[Term, Term]:
        """Return the parameters for two margins."""

    def mean_of(self, first: Number, second: Number) -> Term:
        """Return the mean for two parameters."""
        return first

    @abstractmethod
    def loss_of(self, first: Number, second: Number, label: Number) -> Term:
        """Return minus the logarithm of the likelihood for two parameters."""

    @abstractmethod
    def quantile_of(self, first: F64, second: F64, level: float) -> F64:
        """Return the quantiles of labels for two parameters, on the host."""

    @abstractmethod
    def start_of(self, mean: float, variance: float) -> tuple[float, float]:
        """Return the margins of the distribution with a mean and a variance."""

    def to_probability(self, margin: F32) -> F32:
        """Return the parameters, shape (2, n_rows), of margins of the same shape."""
        return np.stack(evaluate(self.parameters_of, *margin))

    def to_prediction(self, margin: F32) -> F32:
        """Return the means, shape (n_rows,), of margins of shape (2, n_rows)."""
        mean: F32 = evaluate(self.mean_of, *self.to_probability(margin))
        return mean

    def starting_scores(self, label: F32, weight: F32 | None) -> Score:
        """Return the margins of the distribution that has the labels' mean and variance."""
        values = evaluate(self.value_of, label)
        mean = exact_mean(values, weight)
        near = np.float32(float(mean))
        away = np.abs(values - near).astype(np.float32)
        power = np.float32(2.0 ** -int(np.frexp(max(float(away.max()), 1e-30))[1]))
        square = (away * power) * (away * power)
        variance = float(exact_mean(square, weight) / Fraction(float(power)) ** 2)
        margins = self.start_of(float(mean), max(variance, _LEAST_VARIANCE))
        return tuple(float(as_margin(np.array([one], np.float32))[0]) for one in margins)

    def value_of(self, label: Number) -> Number:
        """Return the label, or what of it has the mean and variance of ``start_of``."""
        return label


def _ln(value: float) -> float:
    return float(Decimal(value).ln())  # the logarithm of the platform's libm may differ


@dataclass(frozen=True)
class NormalDistribution(Distribution):
    """Margins: the mean, and the logarithm of the standard deviation.

    Gradients ``mean - label`` and ``(1 - z^2) / 2``, Hessians 1 and ``(1 + z^2) / 2``; z is
    ``(label - mean) / std``.
    """

    name = "dist:normal"
    parameter_names = ("mean", "std")

    def of_row(self, *margins_and_label: Number) -> tuple[Term, ...]:
        first, second, label = margins_and_label
        away = clamped(first - self.value_of(label), -_MOST, _MOST)
        z = clamped(away * exp(-clamped(second, -40, 40)), -1e9, 1e9)
        square = z * z
        return away, 1, 0.5 - 0.5 * square, 0.5 + 0.5 * square

    def parameters_of(self, first: Number, second: Number) -> tuple[Term, Term]:
        return first, exp(clamped(second, -40, 40))

    def loss_of(self, first: Number, second: Number, label: Number) -> Number:
        z = clamped((first - label) * reciprocal(second), -1e9, 1e9)
        return (0.5 * z) * z + log(second) + _HALF_LOG_2_PI

    def quantile_of(self, first: F64, second: F64, level: float) -> F64:
        from pyopencl_gbdt.numerics.quantile_functions import normal_quantile

        return first + normal_quantile(level) * second

    def crps_of(self, first: Number, second: Number, label: Number) -> Term:
        """Return the continuous ranked probability score: Gneiting and Raftery 2007, section 4.2.

        ``std (z (2 Phi(z) - 1) + 2 phi(z) - 1 / sqrt(pi))``.
        """
        z = at_most(size_of((label - first) * reciprocal(second)), 1e9)
        density = 0.3989422804014327 * exp((-0.5 * z) * z)
        inside = 1 - (2 * density) * mills_right(z)
        return second * ((z * inside + 2 * density) - 0.5641895835477563)

    def start_of(self, mean: float, variance: float) -> tuple[float, float]:
        return mean, _ln(variance) / 2


@dataclass(frozen=True)
class LogNormalDistribution(NormalDistribution):
    """The logarithm of the label has a normal distribution; gradients are those of its normal."""

    name = "dist:lognormal"
    parameter_names = ("mu", "sigma")

    def value_of(self, label: Number) -> Number:
        return log(label)

    def mean_of(self, first: Number, second: Number) -> Term:
        return exp(first + (0.5 * second) * second)

    def loss_of(self, first: Number, second: Number, label: Number) -> Number:
        value = log(label)
        return super().loss_of(first, second, value) + value

    def quantile_of(self, first: F64, second: F64, level: float) -> F64:
        from pyopencl_gbdt.numerics.quantile_functions import normal_quantile

        most = np.finfo(np.float32).max  # quantiles become float32
        exponent = np.minimum(first + normal_quantile(level) * second, np.log(float(most)))
        return np.minimum(np.exp(exponent), float(most))


class _MeanAndShape(Distribution):
    """Margins are the logarithms of the mean and of a shape."""

    def parameters_of(self, first: Number, second: Number) -> tuple[Number, Number]:
        return exp(clamped(first, -60, 60)), exp(clamped(second, -10, 15))


def _gamma_divergence(label: Number, mean: Number) -> tuple[Number, Number]:
    """Return r = label / mean and ``r - 1 - ln r``."""
    r = at_most(label * reciprocal(mean), _MOST)
    return r, where(r < 0.5, (r - 1) - log(r), minus_log1p(r - 1))


@dataclass(frozen=True)
class GammaDistribution(_MeanAndShape):
    """Margins: the logarithms of mean and shape a; the variance is ``mean^2 / a``.

    With ``r = label / mean``, ``d = r - 1 - ln r``, ``A = a (ln a - digamma(a))`` and ``I = a (a
    trigamma(a) - 1)``: gradients ``1 - r`` and ``a d - A``, Hessians ``(1 + r) / 2`` and ``(a d -
    A) / 2 + I``.
    """

    name = "dist:gamma"
    parameter_names = ("mean", "shape")

    def of_row(self, *margins_and_label: Number) -> tuple[Term, ...]:
        first, second, label = margins_and_label
        mean, shape = self.parameters_of(first, second)
        r, d = _gamma_divergence(label, mean)
        g = at_most(shape * d, _MOST) - digamma_rest(shape)
        return 1 - r, 0.5 + 0.5 * r, g, 0.5 * g + trigamma_rest(shape)

    def loss_of(self, first: Number, second: Number, label: Number) -> Term:
        _, d = _gamma_divergence(label, first)
        return ((gamma_rest(second) - 0.5 * log(second)) + second * d) + log(label)

    def quantile_of(self, first: F64, second: F64, level: float) -> F64:
        from pyopencl_gbdt.numerics.quantile_functions import gamma_quantile

        return gamma_quantile(second, level) * (first / second)

    def start_of(self, mean: float, variance: float) -> tuple[float, float]:
        return _ln(mean), 2 * _ln(mean) - _ln(variance)


@dataclass(frozen=True)
class NegativeBinomialDistribution(_MeanAndShape):
    """Margins: the logarithms of mean m and size k; the variance is ``m + m^2 / k``.

    With ``u = (label - m) / (k + m)``: gradients ``k (m - label) / (k + m)`` and ``k (u - ln(1 +
    u)) + k (ln(k + label) - digamma(k + label)) - k (ln k - digamma(k))``. The Hessian of the first
    is ``k (m + label) / (k + m) / 2``. That of the second is half of its square, whose expectation
    is the information, and half of ``I (m / (k + m))^2`` with I of ``GammaDistribution``, which is
    near the information: that has no closed form.
    """

    name = "dist:negative_binomial"
    parameter_names = ("mean", "size")

    def of_row(self, *margins_and_label: Number) -> tuple[Term, ...]:
        first, second, label = margins_and_label
        mean, size = self.parameters_of(first, second)
        count = at_most(label, _MOST)
        part = reciprocal(size + mean)
        share, both = size * part, size + count
        u = (count - mean) * part
        rest = where(u < -0.5, u - log(both * part), minus_log1p(u))
        g = size * rest + (size * reciprocal(both)) * digamma_rest(both)
        g = clamped(g - digamma_rest(size), -1e9, 1e9)
        of_mean = mean * part
        information = trigamma_rest(size) * (of_mean * of_mean)
        h = at_least((0.5 * share) * (mean + count), 1e-16)
        return share * (mean - count), h, g, at_least(0.5 * information + (0.5 * g) * g, 1e-16)

    def loss_of(self, first: Number, second: Number, label: Number) -> Term:
        count = at_most(label, _MOST)
        both = second + count
        away = first - count
        rest = both * minus_log1p(away * reciprocal(both))
        positive = at_least(count, 1e-30)
        # ln of a factor that counts have and their densities have not, see gamma_rest
        more = 0.5 * log(both * reciprocal(second)) + gamma_rest(second) - gamma_rest(both)
        own = (0.5 * log(positive) + gamma_rest(positive)) + more
        some = (positive * minus_log1p(away * reciprocal(positive)) - rest) + own
        return where(count > 0, some, first - rest)

    def quantile_of(self, first: F64, second: F64, level: float) -> F64:
        from pyopencl_gbdt.numerics.quantile_functions import negative_binomial_quantile

        return negative_binomial_quantile(first, second, level)

    def start_of(self, mean: float, variance: float) -> tuple[float, float]:
        mean = max(mean, 1e-6)
        excess = max(variance - mean, _LEAST_EXCESS * mean)
        return _ln(mean), 2 * _ln(mean) - _ln(excess)


DISTRIBUTIONS: tuple[Distribution, ...] = (
    NormalDistribution(), LogNormalDistribution(), GammaDistribution(),
    NegativeBinomialDistribution(),
)  # fmt: skip
