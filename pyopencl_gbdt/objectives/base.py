"""What a loss must say: one small file each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]


class Objective(ABC):
    """A loss of one row.

    Attributes
    ----------
    name : str
        XGBoost's name.
    metric : str
        Metric reported when none is asked for.
    kernel : str
        Statements in the kernels' vocabulary that set ``g`` and ``h`` (float32) from ``margin``
        and ``label``; only +, -, * and what ``portable_math.h`` offers. One operation a statement
        where an order matters.
    """

    name: str
    metric: str
    kernel: str

    @abstractmethod
    def gradient(self, margin: F32, label: F32) -> tuple[F32, F32]:
        """Host twin of ``kernel``: the same bits."""

    @abstractmethod
    def to_prediction(self, margin: F32) -> F32:
        """Map margins to what ``predict`` returns."""

    @abstractmethod
    def to_margin(self, score: float) -> float:
        """Map a starting score from the space of predictions to margins, rounded to float32."""

    @abstractmethod
    def starting_score(self, label: F32, weight: F32 | None) -> float:
        """Return the score before the first tree, in the space of predictions, as a float32."""


def exact_mean(values: F32, weight: F32 | None) -> Fraction:
    """Return the (weighted) mean without any rounding, hence in any order and on any machine.

    Parameters
    ----------
    values, weight : float32 array, shape (n_rows,)
        Finite values and weights >= 0, not all 0.
    """
    total = _exact_sum(values, weight)
    count = Fraction(values.size) if weight is None else _exact_sum(weight, None)
    return total / count


def _exact_sum(values: F32, weight: F32 | None) -> Fraction:
    mantissa, exponent = _decompose(values)
    if weight is not None:
        other, shift = _decompose(weight)
        mantissa, exponent = mantissa * other, exponent + shift  # at most 48 bits
    low = int(exponent.min())
    place = (exponent - low).astype(np.int64)
    # halves of 24 bits: float64 sums of up to 2^29 of them are exact
    high_sum = np.bincount(place, weights=(mantissa >> 24).astype(np.float64))
    low_sum = np.bincount(place, weights=(mantissa & 0xFFFFFF).astype(np.float64))
    total = sum(
        ((int(h) << 24) + int(lo)) << i
        for i, (h, lo) in enumerate(zip(high_sum, low_sum, strict=True))
    )
    return Fraction(total) * Fraction(2) ** low


def _decompose(values: F32) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
    fraction, exponent = np.frexp(values)
    return (fraction * np.float32(2.0**24)).astype(np.int64), exponent - 24
