"""Curves from scores to probabilities: steps by isotonic regression, and a fitted sigmoid.

Sums are exact, comparisons are of integers, and the other arithmetic is in a written order, so a
curve has the same bits on every machine.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.numerics.portable_math import (
    exact_sum,
    portable_exp,
    portable_log,
    portable_log1p,
    portable_sigmoid,
)

F32 = npt.NDArray[np.float32]
#: Newton steps, and halvings of one.
_STEPS, _HALVINGS = 50, 12
#: Newton's method ends when slope and intercept change by less than this share.
_CLOSE = 2.0**-20


@dataclass(frozen=True)
class Steps:
    """A probability that never falls as the score rises: straight lines between points.

    Attributes
    ----------
    scores : float32 array, shape (n_points,)
        Ascending, none twice.
    shares : float32 array, shape (n_points,)
        Probabilities above 0 and below 1; none is smaller than the one before.
    """

    scores: F32
    shares: F32

    def of(self, score: F32) -> F32:
        """Return the probabilities of scores; a score beyond an end gets the end's."""
        points, values = self.scores.astype(np.float64), self.shares.astype(np.float64)
        x = np.clip(score.astype(np.float64), points[0], points[-1])
        right = np.searchsorted(points, x)
        left = np.maximum(right - 1, 0)
        width = np.where(right > 0, points[right] - points[left], 1.0)
        rise = (x - points[left]) / width * (values[right] - values[left])
        return (values[left] + rise).astype(np.float32)


@dataclass(frozen=True)
class Sigmoid:
    """The probability ``1 / (1 + e^-(slope score + intercept))``, in float32."""

    slope: float
    intercept: float

    def of(self, score: F32) -> F32:
        """Return the probabilities of scores."""
        return portable_sigmoid(_line(score, self.slope, self.intercept))


Curve = Steps | Sigmoid


def fit_steps(score: F32, positive: npt.NDArray[np.bool_]) -> Steps:
    """Return the steps with the smallest squared error: pool adjacent violators.

    Ayer et al. 1955, "An empirical distribution function for sampling with incomplete
    information"; Zadrozny and Elkan 2002, "Transforming classifier scores into accurate multiclass
    probability estimates". Shares are compared as fractions of row counts. Those of n rows are kept
    within 1 / (n + 2) of 0 and 1, so that no probability is 0.

    Parameters
    ----------
    score : float32 array, shape (n_rows,)
        Finite; at least one row.
    positive : bool array, shape (n_rows,)
    """
    points, place = np.unique(score, return_inverse=True)
    rows = np.bincount(place).tolist()
    hits = np.bincount(place, positive).astype(np.int64).tolist()
    pools: list[list[int]] = []  # hits, rows, first point, last point
    for at, (own_hits, own_rows) in enumerate(zip(hits, rows, strict=True)):
        pools.append([own_hits, own_rows, at, at])
        while len(pools) > 1 and pools[-2][0] * pools[-1][1] >= pools[-1][0] * pools[-2][1]:
            last = pools.pop()
            pools[-1] = [pools[-1][0] + last[0], pools[-1][1] + last[1], pools[-1][2], last[3]]
    least = Fraction(1, score.size + 2)
    scores, shares = [], []
    for own_hits, own_rows, first, final in pools:
        share = float(min(max(Fraction(own_hits, own_rows), least), 1 - least))
        for point in dict.fromkeys((first, final)):
            scores.append(points[point])
            shares.append(share)
    return Steps(np.array(scores, np.float32), np.array(shares, np.float32))


def fit_sigmoid(score: F32, positive: npt.NDArray[np.bool_]) -> Sigmoid:
    """Return the sigmoid of the largest likelihood, by Newton's method from slope 1, intercept 0.

    Platt 1999, "Probabilistic outputs for support vector machines", whose targets are not quite 0
    and 1; Lin, Lin and Weng 2007, "A note on Platt's probabilistic outputs".

    Parameters
    ----------
    score : float32 array, shape (n_rows,)
        Finite; at least one row.
    positive : bool array, shape (n_rows,)
    """
    n_hits = int(np.count_nonzero(positive))
    high = np.float32((n_hits + 1) / (n_hits + 2))
    low = np.float32(1 / (positive.size - n_hits + 2))
    target = np.where(positive, high, low)
    slope, intercept = np.float32(1), np.float32(0)
    loss = _loss(score, target, slope, intercept)
    for _ in range(_STEPS):
        p = portable_sigmoid(_line(score, slope, intercept))
        g, h = p - target, p * (np.float32(1) - p)
        of_slope, of_intercept = exact_sum(g * score, None), exact_sum(g, None)
        cross = h * score
        a, b, c = (exact_sum(one, None) for one in (cross * score, cross, h))
        area = a * c - b * b
        if area > 0:
            move = (c * of_slope - b * of_intercept) / area
            shift = (a * of_intercept - b * of_slope) / area
        else:  # all scores are equal
            move, shift = Fraction(0), of_intercept / c if c else Fraction(0)
        for halving in range(_HALVINGS):
            share = Fraction(1, 2**halving)
            new = _moved(slope, share * move), _moved(intercept, share * shift)
            new_loss = _loss(score, target, *new)
            if new_loss < loss:
                break
        else:
            break
        done = _near(slope, new[0]) and _near(intercept, new[1])
        (slope, intercept), loss = new, new_loss
        if done:
            break
    return Sigmoid(float(slope), float(intercept))


def log_odds(p: F32) -> F32:
    """Return ``ln(p / (1 - p))``, within -88 and 88."""
    odds: F32 = portable_log(p) - portable_log(np.float32(1) - p)
    return odds


def _line(score: F32, slope: Any, intercept: Any) -> F32:
    line: F32 = score * np.float32(slope) + np.float32(intercept)
    return line


def _moved(value: np.float32, step: Fraction) -> np.float32:
    moved: np.float32 = np.float32(float(Fraction(float(value)) - step))
    return moved


def _near(old: np.float32, new: np.float32) -> bool:
    return abs(float(new) - float(old)) <= _CLOSE * max(1.0, abs(float(old)))


def _loss(score: F32, target: F32, slope: Any, intercept: Any) -> Fraction:
    """Return the sum of ``ln(1 + e^z) - target z``."""
    z = _line(score, slope, intercept)
    soft = np.maximum(z, np.float32(0)) + portable_log1p(portable_exp(-np.abs(z)))
    return exact_sum(soft - target * z, None)
