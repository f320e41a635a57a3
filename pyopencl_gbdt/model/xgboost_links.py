"""Objectives that the model file knows, and the link between score and margin of each.

XGBoost keeps one starting score, in the space of the prediction, as a float32. Ours is a margin;
it travels beside XGBoost's, exactly, in an attribute.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

_ONE = np.float32(1.0)
_CLAMP = np.float32(1e-6)


@dataclass(frozen=True)
class Link:
    """How a starting score in the file becomes a margin, and back.

    Attributes
    ----------
    xgboost_name : str
        XGBoost's objective with the same link.
    margin : callable
        float32 score to margin, with XGBoost's own rounding.
    score : callable
        Margin to score, in float64.
    lowest, highest : float
        Scores that XGBoost accepts.
    tolerance : float
        Largest difference between a ``base_score`` and the score of the margin beside it: far
        above float32's rounding and XGBoost's clamp, far below an edit by hand.
    """

    xgboost_name: str
    margin: Callable[[np.float32], np.float32]
    score: Callable[[float], float]
    lowest: float
    highest: float
    tolerance: float


def _logit(score: np.float32) -> np.float32:
    """XGBoost's logit: a clamped score, odds in float32, so 0 and 1 have finite margins."""
    clamped = min(max(score, _CLAMP), _ONE - _CLAMP)
    odds_against = np.float32(_ONE / clamped) - _ONE
    # decimal's logarithm is correctly rounded, whatever the platform's libm does
    margin: np.float32 = np.float32(float(-Decimal(float(odds_against)).ln()))
    return margin


def _sigmoid(margin: float) -> float:
    small = math.exp(-abs(margin))
    return 1.0 / (1.0 + small) if margin >= 0.0 else small / (1.0 + small)


LINKS: dict[str, Link] = {
    "reg:squarederror": Link(
        xgboost_name="reg:squarederror",
        margin=lambda score: score,
        score=lambda margin: margin,
        lowest=-math.inf,
        highest=math.inf,
        tolerance=0.0,
    ),
    "binary:logistic": Link(
        xgboost_name="binary:logistic",
        margin=_logit,
        score=_sigmoid,
        lowest=0.0,
        highest=1.0,
        tolerance=1e-5,
    ),
}

SUPPORTED_OBJECTIVES = ", ".join(sorted(LINKS))


def scores_agree(objective: str, base_margin: float, base_score: float) -> bool:
    """Tell whether a margin and a score are the same starting point, up to rounding."""
    link = LINKS[objective]
    return abs(link.score(base_margin) - base_score) <= link.tolerance


def margin_from_base_score(objective: str, base_score: float) -> float:
    """Return the margin that XGBoost computes for a starting score.

    Parameters
    ----------
    objective : str
        One of ``LINKS``.
    base_score : float
        Starting score in the space of the prediction; used in float32.

    Returns
    -------
    float
        A margin that float32 holds exactly. XGBoost 3.2 clamps a probability to
        1e-6 .. 1 - 1e-6 and forms ``1 / p - 1`` in float32; near 1 that is up to 0.06 from the
        exact logit, and we follow it, for equal predictions.
    """
    return float(LINKS[objective].margin(np.float32(base_score)))
