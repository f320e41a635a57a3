"""Twin of ``growth.linear_leaves``: the linear functions of a tree's leaves.

A sum over rows is a sum of integers. Of a row, every feature of the leaf is a number z of quanta,
``|z| <= 2^15``, and z of the constant is 2^15::

    products[j, k] = sum of round(h z_j z_k / 2^s)    below 2^63: h sums up to less than 2^(32 + s)
    gradients[j]   = sum of round(g z_j / 2^14)       below 2^63: |g| sums up to less than 2^61

Both have 1/2 more a row at most, of fewer than 2^32 rows. The equations are then solved in pairs of
floats, in a written order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.model.linear_leaves import LinearTerms
from pyopencl_gbdt.numerics.portable_math import (
    DF,
    as_margin,
    df_add,
    df_div,
    df_from_i64,
    df_mul,
    df_neg,
    finite,
    not_tiny,
    scale_by,
)
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.parameters.table import MOST_TERMS
from tests.reference.gradients import Scale

if TYPE_CHECKING:
    from pyopencl_gbdt.pages.page import Layout
    from tests.reference.grow import Node

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
_f = np.float32
#: z of the constant, and the largest one of a feature.
_UNIT = 1 << 15
_G_SHIFT = 14
#: Values that lie within 2^-100 of each other, by the bits of that, are a constant.
_LARGEST_EXPONENT, _LEAST_REACH = 141, 27
#: Sums of gradients are multiplied by 2^40, so that results have more bits than are kept.
_ABOVE = 40
#: A smaller ridge in quanta is none; a larger one is cut.
_LARGEST_RIDGE = _f(2.0**100)


@dataclass(frozen=True)
class LeafTerms:
    """A leaf's function: its features, ascending, their coefficients, and the intercept."""

    features: tuple[int, ...] = ()
    coefficients: tuple[np.float32, ...] = ()
    intercept: np.float32 = field(default=_f(0))


@dataclass(frozen=True)
class Units:
    """The quanta of a feature in a leaf: ``z = round((x - center) * 2^exponent)``."""

    center: np.float32
    exponent: int

    @classmethod
    def of(cls, low: np.float32, high: np.float32) -> Units:
        """Return the quanta for values from ``low`` to ``high``; a constant has those of 1."""
        half, (low, high) = _f(0.5), not_tiny(np.array([low, high], _f))
        center = not_tiny(np.array([half * low + half * high]))[0]
        reach = not_tiny(np.array([max(high - center, center - low)]))[0]
        exponent = int(np.asarray(reach).view(np.uint32)) >> 23
        return cls(center, _LARGEST_EXPONENT - exponent if exponent > _LEAST_REACH else 0)

    def quanta(self, x: F32) -> I64:
        """Return z of values."""
        moved = scale_by(not_tiny(x) - self.center, self.exponent)
        return np.rint(moved).astype(np.int64)


def linear_terms(leaves: Sequence[LeafTerms]) -> LinearTerms | None:
    """Return the functions of a tree's leaves as the model has them; None if all are numbers."""
    if not any(one.features for one in leaves):
        return None
    return LinearTerms(
        np.array([len(one.features) for one in leaves], np.int32),
        np.array([one.intercept for one in leaves], np.float32),
        np.array([feature for one in leaves for feature in one.features], np.int32),
        np.array([number for one in leaves for number in one.coefficients], np.float32),
    )


def h_shift(total: int) -> int:
    """Return s for Hessians that sum up to ``total``."""
    return max(0, total.bit_length() - 32)


def products(z: I64, g: I64, h: I64, shift: int) -> tuple[I64, I64]:
    """Return the sums of a leaf's rows.

    Parameters
    ----------
    z : int64 array, shape (n_rows, 1 + n_features)
    g, h : int64 array, shape (n_rows,)
    shift : int
        s.

    Returns
    -------
    products : int64 array, shape (1 + n_features, 1 + n_features)
    gradients : int64 array, shape (1 + n_features,)
    """
    n = z.shape[1]
    both, ones = np.zeros((n, n), np.int64), np.zeros(n, np.int64)
    for j in range(n):
        ones[j] = _shifted(g, z[:, j], _G_SHIFT).sum()
        for k in range(j, n):
            both[j, k] = _shifted(h, z[:, j] * z[:, k], shift).sum()
    return both, ones


def _shifted(a: I64, b: I64, shift: int) -> I64:
    """Return round(a b / 2^shift), ties upward, in 64 bits where a b may have more."""
    above, below = a >> shift, a & ((1 << shift) - 1)
    half = (1 << shift) >> 1
    rounded: I64 = above * b + ((below * b + half) >> shift)
    return rounded


def _tidy(x: DF) -> DF:
    """Return x without what no result needs, so that no device meets a subnormal number."""
    hi = np.where(np.abs(x[0]) < _f(2.0**-20), _f(0), x[0])
    lo = np.where((hi == 0) | (np.abs(x[1]) < _f(2.0**-70)), _f(0), x[1])
    return hi, lo


def _ratio(a: DF, b: DF) -> DF:
    """Return a / b; 0 below 2^-40."""
    small = np.abs(a[0]) < np.abs(b[0]) * _f(2.0**-40)
    quotient = _tidy(df_div(a, b))
    return np.where(small, _f(0), quotient[0]), np.where(small, _f(0), quotient[1])


def solved(both: I64, ones: I64, ridge: Sequence[np.float32]) -> DF | None:
    """Return x of ``(both + ridge on features) x = 2^40 ones``, by elimination without pivoting.

    x of a feature is 0 where those before it explain it to within 4 quanta, in the quadratic mean
    of the rows: the equations would not tell it. None: no row counts.
    """
    n = ones.size
    hi, lo = np.zeros((n, n + 1), _f), np.zeros((n, n + 1), _f)
    for j in range(n):
        for k in range(j, n):
            one = df_from_i64(both[j : j + 1, k])
            if j == k and j:
                one = df_add(one, (np.array([ridge[j - 1]], _f), np.zeros(1, _f)))
            hi[j, k], lo[j, k] = (part[0] for part in _tidy(one))
        one = df_from_i64(ones[j : j + 1])
        above = _f(2.0**_ABOVE)
        hi[j, n], lo[j, n] = (part[0] for part in _tidy((one[0] * above, one[1] * above)))
    least, kept = hi[0, 0] * _f(2.0**-26), np.zeros(n, np.bool_)
    for i in range(n):
        kept[i] = hi[i, i] > (_f(0) if i == 0 else least)
        if not kept[i]:
            if i == 0:
                return None
            continue
        for j in range(i + 1, n):
            factor = _ratio(
                (hi[i, j : j + 1], lo[i, j : j + 1]), (hi[i, i : i + 1], lo[i, i : i + 1])
            )
            row = slice(j, n + 1)
            taken = df_mul(
                (np.broadcast_to(factor[0], n + 1 - j), np.broadcast_to(factor[1], n + 1 - j)),
                (hi[i, row], lo[i, row]),
            )
            hi[j, row], lo[j, row] = _tidy(df_add((hi[j, row], lo[j, row]), df_neg(taken)))
    found = np.zeros(n, _f), np.zeros(n, _f)
    for i in range(n - 1, -1, -1):
        if not kept[i]:
            continue
        rest = hi[i, n:], lo[i, n:]
        for k in range(i + 1, n):
            if found[0][k] == 0:
                continue
            taken = df_mul(_one(hi[i, k], lo[i, k]), _one(found[0][k], found[1][k]))
            rest = _tidy(df_add(rest, df_neg(taken)))
        found[0][i], found[1][i] = (part[0] for part in _ratio(rest, _one(hi[i, i], lo[i, i])))
    return found


def _one(hi: np.float32, lo: np.float32) -> DF:
    return np.array([hi], _f), np.array([lo], _f)


def fitted(
    features: Sequence[int], x: F32, g: I64, h: I64, total: int, scale: Scale, params: Parameters
) -> LeafTerms:
    """Return the function of a leaf.

    Parameters
    ----------
    features : sequence of int
        The numeric features of the leaf's path, ascending.
    x : float32 array, shape (n_rows, n_features)
        Their values in the leaf's rows.
    g, h : int64 array, shape (n_rows,)
        Gradients and Hessians in quanta; rows whose Hessian is 0 do not count.
    total : int
        Sum of the Hessians of all rows of the leaf.
    scale : Scale
    params : Parameters
    """
    counts = (h != 0) & ~np.isnan(x).any(axis=1)
    x, g, h = x[counts], g[counts], h[counts]
    if not features or len(x) < len(features) + 1:
        return LeafTerms()
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        units = [Units.of(one.min(), one.max()) for one in x.T]
        z = np.stack(
            [np.full(len(x), _UNIT), *(u.quanta(one) for u, one in zip(units, x.T, strict=True))], 1
        )
        shift = h_shift(total)
        scale_g, scale_h = scale.g - scale.weight_shift, scale.h - scale.weight_shift
        power = _G_SHIFT - scale_g + scale_h - shift - _ABOVE
        ridge = [_ridge(params, 2 * unit.exponent + scale_h - shift) for unit in units]
        found = solved(*products(z, g, h, shift), ridge)
        if found is None:
            return LeafTerms()
        return _terms(features, found, units, power, params)


def _ridge(params: Parameters, power: int) -> np.float32:
    scaled: np.float32 = scale_by(not_tiny(np.array([params.linear_lambda], _f)), power)[0]
    return _LARGEST_RIDGE if scaled > _LARGEST_RIDGE else scaled


def _scaled(x: np.float32, power: int) -> np.float32:
    scaled: np.float32 = not_tiny(scale_by(np.array([x], _f), power))[0]
    return scaled


def _terms(
    features: Sequence[int], found: DF, units: Sequence[Units], power: int, params: Parameters
) -> LeafTerms:
    """Return a function in the units of the features and the margins."""
    constant = _one(found[0][0] * _f(_UNIT), found[1][0] * _f(_UNIT))
    slopes = []
    for k, unit in enumerate(units, 1):
        slope = found[0][k]
        slopes.append(-_scaled(slope, unit.exponent + power))
        if slope != 0:
            center = _scaled(unit.center, unit.exponent)
            taken = df_mul(_one(slope, found[1][k]), _one(center, _f(0)))
            constant = _tidy(df_add(constant, df_neg(taken)))
    intercept = -_scaled(constant[0][0], power)
    largest = np.finfo(np.float32).max
    if not all(abs(one) <= largest for one in (intercept, *slopes)):
        return LeafTerms()
    rate = np.float32(params.learning_rate) / np.float32(params.num_parallel_tree)
    rate = _f(0) if rate < 2.0**-125 else rate
    own = finite(np.array(slopes, _f) * rate)
    kept = [k for k in range(len(own)) if own[k] != 0]
    if not kept:
        return LeafTerms()
    return LeafTerms(
        tuple(features[k] for k in kept),
        tuple(own[k] for k in kept),
        as_margin(np.array([intercept * rate]))[0],
    )


def path_features(nodes: Sequence[Node], leaf: int, layout: Layout) -> tuple[int, ...]:
    """Return the numeric features of a leaf's path, ascending; of many, those nearest to it."""
    found: set[int] = set()
    at = nodes[leaf].parent
    while at >= 0 and len(found) < MOST_TERMS:
        feature = nodes[at].feature
        if layout.categorical is None or not layout.categorical[feature]:
            found.add(feature)
        at = nodes[at].parent
    return tuple(sorted(found))


def fit_leaves(
    number: int, nodes: Sequence[Node], values: F32, quanta: I64, scale: Scale, layout: Layout,
    params: Parameters,
) -> None:  # fmt: skip
    """Give the leaves of a tree of a round their functions, if they have some."""
    if not params.linear_tree or number == 0:
        return
    for place, leaf in enumerate(nodes):
        if leaf.left < 0:
            features = path_features(nodes, place, layout)
            x = values[leaf.rows][:, list(features)]
            (g, h), total = quanta[leaf.rows].T, leaf.pair[1]
            leaf.terms = fitted(features, x, g, h, total, scale, params)


def added(terms: LeafTerms, value: np.float32, x: F32) -> F32:
    """Return what a leaf adds to the margins of rows.

    Parameters
    ----------
    terms : LeafTerms
    value : float32
        What rows get that miss a feature.
    x : float32 array, shape (n_rows, n_features)
        All features of the rows.
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        found = np.full(len(x), terms.intercept)
        missing = np.full(len(x), not terms.features)
        for feature, coefficient in zip(terms.features, terms.coefficients, strict=True):
            missing |= np.isnan(x[:, feature])
            found = not_tiny(found + not_tiny(coefficient * x[:, feature]))
        return np.where(missing, value, as_margin(found)).astype(np.float32)


def added_by(leaf: Node, values: F32) -> F32:
    """Return what a leaf adds to the margins of its rows, of which ``values`` has all."""
    return added(leaf.terms, leaf.value, values[leaf.rows])
