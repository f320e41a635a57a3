"""Margins of trees that have weights: sums in fixed point, from which a tree can be taken again.

A tree adds ``round(float32(weight * leaf) * 2^32)`` to a row's sum, an integer. So taking a tree
out of a sum, and putting it back with another weight, is exact. ``docs/dart.md`` has the rule.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.portable_math import to_quanta

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
#: A sum's unit is 2^-32.
FRACTION_BITS = 32
#: The terms of all trees of an output add up to less than this in absolute value.
MOST_MARGIN = 2.0**30
#: The stream of random numbers that draw dropped trees; samples of rows have the trees' numbers.
DRAWS = 0xDA27DA27
_THIRD = (1 << 21) - 1


def weighted(values: F32, weight: np.float32 | float) -> F32:
    """Return float32 products of leaf values and a tree's weight."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        found: F32 = values * np.float32(weight)
    return found


def most_margin(
    largest: npt.ArrayLike, weights: npt.ArrayLike, n_outputs: int, n_parallel: int
) -> float:
    """Return what the trees of an output add up to at most, in absolute value.

    Parameters
    ----------
    largest : array-like, shape (n_trees,)
        The largest absolute value of each tree's leaves, in the order of ``Ensemble.trees``.
    weights : array-like, shape (n_trees,)
    n_outputs, n_parallel : int
        Outputs, and trees of an output and a round.
    """
    products = np.asarray(largest, np.float64) * np.asarray(weights, np.float64)
    rounds = products.reshape(-1, n_outputs, n_parallel)
    return float(rounds.sum(axis=(0, 2)).max(initial=0))


def in_units(values: F32, weight: np.float32 | float) -> I64:
    """Return what leaves of a tree with a weight add to a row's sum, in units of 2^-32."""
    return to_quanta(weighted(values, weight), FRACTION_BITS)


def margins_of(start: F32, sums: I64) -> F32:
    """Return the float32 margins of rows; the twin of ``margin_of`` in the template dropout.

    A sum's absolute value is taken apart into 21, 21 and 21 bits, whose float32 are added from the
    last to the first.

    Parameters
    ----------
    start : float32 array
        What each row starts from.
    sums : int64 array of the same shape
        Sums of the trees, in units of 2^-32.
    """
    size = np.abs(sums)
    top, middle, bottom = (
        (size >> shift & _THIRD).astype(np.float32) * np.float32(2.0 ** (shift - FRACTION_BITS))
        for shift in (42, 21, 0)
    )
    summed = top + (middle + bottom)
    found: F32 = start + np.where(sums < 0, -summed, summed)
    return found


def digit_bits(n_added: int) -> int:
    """Return how many bits a digit has, of which float32 adds up ``n_added`` without rounding."""
    return min(16, 25 - max(0, n_added - 1).bit_length())


def digits(units: I64, bits: int) -> list[I64]:
    """Return the digits of numbers, the lowest first; each is at most ``2^(bits - 1)`` in size."""
    found, half = [], np.int64(1) << (bits - 1)
    while units.any():
        low = (units + half & (np.int64(1) << bits) - 1) - half
        found.append(low)
        units = (units - low) >> bits
    return found
