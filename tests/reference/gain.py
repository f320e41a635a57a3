"""Twin of ``cl_kernels/gain.h``: a node's score and weight from its sums, in two floats.

All functions work elementwise on int64 arrays of quanta. Inside, the unit is 2^24 quanta; the
header has the formulas.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.portable_math import (
    DF,
    F,
    I,
    df_add,
    df_div,
    df_from_i64,
    df_less,
    df_mul,
    df_neg,
    finite,
    not_tiny,
    scale_by,
    to_quanta,
)
from pyopencl_gbdt.parameters.constraints import FALLING, RISING
from tests.reference.gradients import Scale
from tests.reference.row_counts import number_of_rows

_f = np.float32
_UNIT = _f(2.0**-24)
_UNBOUNDED = np.finfo(np.float32).max
#: Least ``max_delta_step`` that is not 0, in real units and in units: products with it are not
#: subnormal.
_LEAST_LIMIT, _LEAST_STEP = _f(2.0**-125), _f(2.0**-60)


@dataclass(frozen=True)
class Rule:
    """Regularisation parameters in units of 2^24 quanta.

    Attributes
    ----------
    reg_lambda, alpha, max_delta : float32 array, shape (1,)
    weight_power, gain_power : int
        The powers of 2 that convert a weight or a gain from units to real values.
    limit : float32 array, shape (1,)
        ``max_delta_step`` in real units.
    count_bits, least_rows : int
        As those of ``Scale``.
    smoothing : float32 array, shape (1,), or None
        ``path_smooth``; None if weights are not moved towards ``above``.
    above : float32 array, shape (1,), or None
        The weight in units of the parent of what is scored; None above a root.
    """

    reg_lambda: F
    alpha: F
    max_delta: F
    weight_power: int
    gain_power: int
    limit: F
    count_bits: int = 0
    least_rows: int = 0
    lower: np.float32 = -_UNBOUNDED
    upper: np.float32 = _UNBOUNDED
    smoothing: F | None = None
    above: F | None = None

    @property
    def bounded(self) -> bool:
        """Whether monotone constraints bound the weight; bounds are in units."""
        return bool(self.lower > -_UNBOUNDED or self.upper < _UNBOUNDED)


@cache
def make_rule(scale: Scale, reg_lambda: float, reg_alpha: float, max_delta_step: float) -> Rule:
    """Convert regularisation parameters to the units of a scale; its arrays are shared."""
    scale_g, scale_h = scale.sum_g, scale.sum_h
    weight_power = scale_h - scale_g

    def in_unit(parameter: float, scale: int) -> F:
        return not_tiny(scale_by(not_tiny(np.array([parameter], _f)), scale - 24))

    limit = np.array([max_delta_step], _f)
    if limit[0]:
        limit = np.maximum(limit, _LEAST_LIMIT)
    max_delta = scale_by(limit, -weight_power)
    return Rule(
        reg_lambda=np.minimum(in_unit(reg_lambda, scale_h), _f(2.0**100)),
        alpha=in_unit(reg_alpha, scale_g),
        max_delta=np.maximum(max_delta, _LEAST_STEP) if limit[0] else max_delta,
        weight_power=weight_power,
        gain_power=24 - 2 * scale_g + scale_h,
        limit=limit,
        count_bits=scale.count_bits,
        least_rows=scale.least_rows,
    )


def in_units(quanta: I) -> DF:
    """Convert sums of quanta to units of 2^24 quanta."""
    hi, lo = df_from_i64(quanta)
    return hi * _UNIT, lo * _UNIT


def _where(condition: np.ndarray[tuple[int, ...], np.dtype[np.bool_]], a: DF, b: DF) -> DF:
    return np.where(condition, a[0], b[0]), np.where(condition, a[1], b[1])


def _constant(value: F, like: F) -> DF:
    return np.full_like(like, value), np.zeros_like(like)


def shrink(g: DF, alpha: F) -> DF:
    """Return g moved towards 0 by alpha, but not beyond 0."""
    if alpha[0] == 0:
        return g
    a = _constant(alpha, g[0])
    nothing = _constant(np.zeros(1, _f), g[0])
    from_below = _where(df_less(g, df_neg(a)), df_add(g, a), nothing)
    return _where(df_less(a, g), df_add(g, df_neg(a)), from_below)


def unit_weight(t: DF, denominator: DF, rule: Rule) -> DF:
    """Return -t / denominator, clipped to +-max_delta unless that is 0, and to the bounds."""
    max_delta = rule.max_delta
    w = df_neg(df_div(t, denominator))
    if max_delta[0] > 0:
        w = _where(w[0] > max_delta, _constant(max_delta, w[0]), w)
        w = _where(w[0] < -max_delta, _constant(-max_delta, w[0]), w)
    if rule.bounded:
        above, below = w[0] > rule.upper, w[0] < rule.lower
        w = _where(above, _constant(np.array([rule.upper]), w[0]), w)
        w = _where(below & ~above, _constant(np.array([rule.lower]), w[0]), w)
    return w


def _fraction(g: I, h: I, rule: Rule) -> tuple[DF, DF]:
    """Return the shrunk gradient and the denominator."""
    t = shrink(in_units(g), rule.alpha)
    units = in_units(h)
    return t, df_add(units, _constant(rule.reg_lambda, units[0]))


def score(g: I, h: I, rule: Rule) -> DF:
    """Return twice the loss reduction of a node with sums g and h.

    Parameters
    ----------
    g, h : int64 array, shape (n,)
        Sums in quanta, h > 0.
    rule : Rule

    Returns
    -------
    pair of float32 arrays, shape (n,)
    """
    t, d = _fraction(g, h, rule)
    if rule.max_delta[0] > 0 or rule.bounded or rule.above is not None:
        w = smoothed(unit_weight(t, d, rule), g, h, rule)
        twice = _f(2.0) * t[0], _f(2.0) * t[1]
        return df_neg(df_mul(w, df_add(twice, df_mul(d, w))))
    return df_div(df_mul(t, t), d)


def _not_small(w: DF) -> DF:
    small = np.abs(w[0]) < _LEAST_STEP
    return np.where(small, _f(0), w[0]), np.where(small, _f(0), w[1])


def smoothed(raw: DF, g: I, h: I, rule: Rule) -> DF:
    """Return (n raw + s above) / (n + s) of nodes of n rows, in units; see ``smoothing.h``."""
    if rule.above is None:
        return raw
    assert rule.smoothing is not None
    n = df_from_i64(np.asarray(number_of_rows(g, h, rule.count_bits)))
    s, above = _constant(rule.smoothing, n[0]), _constant(rule.above, n[0])
    moved = df_add(df_mul(n, _not_small(raw)), df_mul(s, above))
    return _not_small(df_div(moved, df_add(n, s)))


def weight_above(weight: F, rule: Rule) -> F:
    """Return a real weight in units, as what children's are moved towards."""
    units = scale_by(weight, -rule.weight_power)
    return _not_small((units, np.zeros_like(units)))[0]


def score_of_pairs(sums: I, rule: Rule) -> DF:
    """Return the score of a node with a pair of sums for each output: theirs, added up in order.

    ``sums`` has the shape (n_outputs, 2), the score (1,).
    """
    hi, lo = score(sums[:, 0], sums[:, 1], rule)
    total = hi[:1], lo[:1]
    for output in range(1, len(sums)):
        total = df_add(total, (hi[output : output + 1], lo[output : output + 1]))
    return total


def weight_in_units(g: I, h: I, rule: Rule) -> F:
    """Return the optimal weight in units, float32, shape (n,); 0 if no row has a weight."""
    weight = smoothed(unit_weight(*_fraction(g, np.maximum(h, 1), rule), rule), g, h, rule)[0]
    return np.where(h == 0, _f(0.0), weight)


def real_weight(units: F, rule: Rule) -> F:
    """Return weights in real units, within ``limit`` unless that is 0."""
    weight = finite(scale_by(units, rule.weight_power))
    return np.clip(weight, -rule.limit, rule.limit) if rule.limit[0] else weight


@cache
def least_hessian(min_child_weight: float, scale: Scale) -> int:
    """Return the Hessian that a child needs, in quanta; at least 1, as a child has rows."""
    return max(1, int(to_quanta(np.array([min_child_weight], _f), scale.sum_h)[0]))


def are_heavy(left_h: Any, right_h: Any, least: int) -> Any:
    """Return whether both sides of a border have rows, and enough of them by their Hessians."""
    return (left_h >= least) & (right_h >= least)


def may_split(left: tuple[Any, Any], right: tuple[Any, Any], least: int, rule: Rule) -> Any:
    """Return whether both children of a node have enough rows.

    Parameters
    ----------
    left, right : pair of int, or of int64 arrays
        Sums of the children.
    least : int
        Hessian of a child.
    rule : Rule
    """
    heavy = are_heavy(left[1], right[1], least)
    if not rule.count_bits:
        return heavy
    counts = (number_of_rows(*sums, rule.count_bits) for sums in (left, right))
    return np.logical_and.reduce([heavy, *(count >= rule.least_rows for count in counts)])


def breaks_order(constraint: npt.NDArray[np.uint32], left: F, right: F) -> npt.NDArray[np.bool_]:
    """Return a mask of splits whose weights break their features' monotone constraints."""
    falls = (constraint == RISING) & (left > right)
    rises = (constraint == FALLING) & (left < right)
    return np.asarray(falls | rises)


def real_hessian(h: I, scale: Scale) -> F:
    """Return sums of Hessians in real units, float32."""
    return finite(scale_by(in_units(h)[0], 24 - scale.sum_h))


def node_weight(g: I, h: I, rule: Rule) -> F:
    """Return the optimal weight as a real value, float32, shape (n,)."""
    return real_weight(weight_in_units(g, h, rule), rule)
