"""Points and weights of Gauss-Legendre quadrature on [0, 1], the same on every machine."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from functools import cache

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.lazy_dataclasses import dataclass

F64 = npt.NDArray[np.float64]
#: Most points that a walk takes at a time; more points take several walks.
MOST_POINTS = 8
_DIGITS = 40


@dataclass(frozen=True)
class Points:
    """Points of the quadrature: ``n`` of them integrate polynomials of a degree up to ``2 n - 1``.

    Attributes
    ----------
    t, s, weight : float64 array, shape (n_walks, n_each)
        The points, ``1 - t``, and their weights, which add up to 1. ``n_each`` points walk
        together.
    """

    t: F64
    s: F64
    weight: F64

    @property
    def n_walks(self) -> int:
        return len(self.t)

    @property
    def n_each(self) -> int:
        return int(self.t.shape[1])


@cache
def points_for(n_features: int) -> Points:
    """Return the points for paths that ask for at most so many distinct features.

    The integrand of a path has a degree below its number of features, so half as many points are
    exact. More than ``MOST_POINTS`` are rounded up to a multiple of it.
    """
    n = max(1, -(-n_features // 2))
    if n > MOST_POINTS:
        n = -(-n // MOST_POINTS) * MOST_POINTS
    found = np.array([_point(n, i) for i in range(n)]).T.reshape(3, -1, min(n, MOST_POINTS))
    found.setflags(write=False)
    return Points(*found)


def _point(n: int, i: int) -> tuple[float, float, float]:
    """Return the ``i``-th point, 1 minus it, and its weight.

    Newton's method in 40 decimal digits gives the same floats, whatever ``math.cos`` returns.
    """
    with localcontext() as context:
        context.prec = _DIGITS
        x = Decimal(math.cos(math.pi * (n - i - 0.25) / (n + 0.5)))
        for _ in range(8):
            value, slope = _legendre(n, x)
            x -= value / slope
        slope = _legendre(n, x)[1]
        return float((1 + x) / 2), float((1 - x) / 2), float(1 / ((1 - x * x) * slope * slope))


def _legendre(n: int, x: Decimal) -> tuple[Decimal, Decimal]:
    """Return the Legendre polynomial of degree ``n``, and its derivative."""
    before, value = Decimal(1), x
    for k in range(2, n + 1):
        before, value = value, ((2 * k - 1) * x * value - (k - 1) * before) / k
    return value, n * (before - x * value) / (1 - x * x)
