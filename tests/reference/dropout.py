"""Twin of margins of trees with weights, and of the choice of trees that a round drops.

A row's sum is an integer, so trees are taken out and put back without rounding; ``docs/dart.md``.
"""

from __future__ import annotations

import numpy as np


def term(weight: float, leaf: np.float32) -> int:
    """Return what a leaf adds to a sum: round(float32(weight * leaf) * 2^32), ties to even."""
    with np.errstate(under="ignore"):
        return round(float(np.float32(weight) * np.float32(leaf)) * 2.0**32)


def margin(start: np.float32, total: int) -> np.float32:
    """Return the margin of a sum: three parts of 21 bits, added in float32, the last ones first."""
    size = abs(total)
    top = np.float32(size >> 42) * np.float32(2.0**10)
    middle = np.float32((size >> 21) & 0x1FFFFF) * np.float32(2.0**-11)
    bottom = np.float32(size & 0x1FFFFF) * np.float32(2.0**-32)
    summed = np.float32(top + np.float32(middle + bottom))
    found: np.float32 = np.float32(start) + (-summed if total < 0 else summed)
    return found
