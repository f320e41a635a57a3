"""Convert areas, given as integers, to the metrics ``auc`` and ``aucpr``."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.curve_units import PRECISION_BITS, signed_weights
from pyopencl_gbdt.numerics.product_sums import N_LIMBS

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]


class Areas:
    """Total weights by which the areas are divided.

    Attributes
    ----------
    positive, negative : int
        Integer weights of all rows with label 1, and with label 0.
    each : list of Areas
        One ``Areas`` per class; here only this one.
    """

    def __init__(self, label: F32, weight: F32 | None) -> None:
        signed = signed_weights(label, weight)
        self.positive = int(signed[signed > 0].sum())
        self.negative = -int(signed[signed < 0].sum())

    @property
    def each(self) -> list[Areas]:
        return [self]

    @property
    def undefined(self) -> bool:
        """Whether there are no rows of one class."""
        return not (self.positive and self.negative)

    def value(self, curve: str, words: I64) -> float:
        """Return the metric for one row of ``area_words``; NaN if a class has no rows."""
        return math.nan if self.undefined else float(self.share(curve, words[0]))

    def share(self, curve: str, words: I64) -> Fraction:
        """Return the exact metric; both classes must have rows."""
        area = sum(int(words[at]) << 32 * at for at in range(N_LIMBS))
        if curve == "auc":
            return Fraction(area, 2 * self.positive * self.negative)
        return Fraction(area, self.positive << PRECISION_BITS)


class ClassAreas:
    """Areas of each class against all others, and their mean.

    As in XGBoost 3.2, ``src/metric/auc.cc``, the mean of ``auc`` weights classes by rows; that
    of ``aucpr`` weights all classes equally.

    Attributes
    ----------
    each : list of Areas
    """

    def __init__(self, label: F32, weight: F32 | None, n_classes: int) -> None:
        own = [(label == k).astype(np.float32) for k in range(n_classes)]
        self.each = [Areas(positive, weight) for positive in own]

    @property
    def undefined(self) -> bool:
        """Whether a class has no rows."""
        return any(areas.undefined for areas in self.each)

    def value(self, curve: str, words: I64) -> float:
        """Return the metric for the ``area_words`` of all classes; NaN if a class has no rows."""
        if self.undefined:
            return math.nan
        counts = [areas.positive if curve == "auc" else 1 for areas in self.each]
        parts = zip(self.each, words, counts, strict=True)
        total = sum((areas.share(curve, own) * count for areas, own, count in parts), Fraction(0))
        return float(total / sum(counts))
