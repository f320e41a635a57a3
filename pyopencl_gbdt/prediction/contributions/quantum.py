"""The quantum of contributions, and how sums of quanta become float64 that add up exactly."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.lazy_dataclasses import dataclass

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
#: Sums of contributions stay below so many bits of quanta, and roundings below one more.
_BITS = 52


def quantum_bits(base: Iterable[float], largest: F64, depth: I64) -> int:
    """Return k: contributions of a model are multiples of 2^-k.

    A tree's contributions to a row add up to at most ``2 d v`` in absolute value, where ``v`` is
    its largest leaf value and ``d`` its depth, and its mean is at most ``v``.

    Parameters
    ----------
    base : iterable of float
        The base margin of each output.
    largest : float64 array, shape (n_trees,)
        Largest absolute leaf value of each tree; those of the first output come first.
    depth : int64 array, shape (n_trees,)
    """
    scores = list(base)
    most = largest * (2 * depth + 1)
    sums = [
        math.fsum([abs(score), *own])
        for score, own in zip(scores, most.reshape(len(scores), -1), strict=True)
    ]
    return _BITS - bit_length(max(sums))


def bit_length(x: float) -> int:
    """Return the least e with ``|x| < 2^e``; 0 for 0."""
    return math.frexp(x)[1]


@dataclass(frozen=True)
class Starts:
    """What rows start from, in quanta that they have in common or each for itself.

    Attributes
    ----------
    bits : int
        k: the quantum is 2^-k, unless it is larger.
    base : int64 array, shape (n_rows, n_outputs), or (1, n_outputs) if all rows start alike
        Quanta of the base.
    shift : int64 array, shape of ``base``
        By how many bits a row's quantum is larger.
    """

    bits: int
    base: I64
    shift: I64

    @classmethod
    def of(cls, bits: int, of_trees: I64, base: F32) -> Starts:
        """Return the starts of rows; parameters are those of ``to_floats``.

        ``of_trees`` are the means of the trees of each output, in quanta.
        """
        start = base.T.astype(np.float64)
        shift = _shift(start, bits)
        trees = _rounded(np.broadcast_to(of_trees, shift.shape), shift)
        return cls(bits, trees + np.rint(np.ldexp(start, bits - shift)).astype(np.int64), shift)

    def add_rest(self, found: F64, totals: I64, margins: F32) -> None:
        """Add what the sums of rows differ from their margins to the largest contributions.

        Parameters
        ----------
        found : float64 array, written
            Shape (n_rows, n_outputs, n_features + 1), or with a dimension more for interactions.
        totals : int64 array, shape (n_rows, n_outputs, 3)
            Sum of each row and its largest contribution in quanta, and the column of the latter.
        margins : float32 array, shape (n_outputs, n_rows)
        """
        total, largest, column = totals.reshape(-1, 3).T
        quantum: F64 = np.ldexp(1.0, self.shift - self.bits)
        quantum = np.broadcast_to(quantum, totals.shape[:2]).reshape(-1)
        rest = margins.T.reshape(-1) - total * quantum
        width = found.shape[-1]
        step = width + 1 if found.ndim > 3 else 1
        place = np.arange(column.size) * math.prod(found.shape[2:]) + column * step
        flat = found.reshape(-1)
        told = largest * quantum
        flat[place] = (told + rest) - (told - flat[place])  # the latter: the rest of the line


def to_floats(quanta: I64, bits: int, margins: F32, base: F32) -> F64:
    """Return contributions whose sum is the margin.

    What the sum differs from the margin is added to the largest contribution; the lowest index wins
    a tie. If all are 0, it is added to the base.

    Parameters
    ----------
    quanta : int64 array, shape (n_rows, n_outputs, n_features + 1), overwritten
        The last column is the mean of the trees, without what rows start from.
    bits : int
        k: a quantum is 2^-k.
    margins : float32 array, shape (n_outputs, n_rows)
    base : float32 array, shape (n_outputs, n_rows)
        What rows start from. A row whose base is larger than the model allows for has a larger
        quantum.

    Returns
    -------
    float64 array, shape of ``quanta``
    """
    start = base.T.astype(np.float64)
    shift = _shift(start, bits)
    quanta, own = _rounded(quanta, shift[..., None]), bits - shift
    quanta[..., -1] += np.rint(np.ldexp(start, own)).astype(np.int64)
    quantum: F64 = np.ldexp(1.0, -own)
    found: F64 = quanta * quantum[..., None]
    rest = margins.T - quanta.sum(axis=2) * quantum
    features = np.abs(quanta[..., :-1])
    place = np.argmax(features, axis=2)[..., None]
    none = np.take_along_axis(features, place, 2) == 0
    place = np.where(none, quanta.shape[2] - 1, place)
    np.put_along_axis(found, place, np.take_along_axis(found, place, 2) + rest[..., None], 2)
    return found


def to_matrices(pairs: I64, bits: int, contributions: F64, base: F32) -> F64:
    """Return interactions: matrices whose lines add up to contributions.

    Parameters
    ----------
    pairs : int64 array, shape (n_rows, n_outputs, n_features + 1, n_features + 1)
        In quanta; symmetric, 0 on the diagonal.
    contributions : float64 array, shape (n_rows, n_outputs, n_features + 1)
        What ``to_floats`` returned.
    base : float32 array, shape (n_outputs, n_rows)

    Returns
    -------
    float64 array, shape of ``pairs``
    """
    shift = _shift(base.T.astype(np.float64), bits)[..., None, None]
    quantum: F64 = np.ldexp(1.0, shift - bits)
    found: F64 = _rounded(pairs, shift) * quantum
    index = np.arange(pairs.shape[3])
    found[..., index, index] = contributions - found.sum(axis=3)
    return found


def divided(quanta: I64, n: int) -> I64:
    """Return ``quanta / n``, rounded to the nearest, ties to even."""
    down = quanta // n
    rest = 2 * (quanta - n * down)
    found: I64 = down + ((rest > n) | ((rest == n) & (down & 1 > 0)))
    return found


def _shift(start: F64, bits: int) -> I64:
    """Return by how many bits the quantum of a row that starts from ``start`` is larger."""
    size = np.where(start == 0, _BITS - bits, np.frexp(start)[1])
    found: I64 = np.maximum(size - (_BITS - bits), 0).astype(np.int64)
    return found


def _rounded(quanta: I64, shift: I64) -> I64:
    """Return ``quanta / 2^shift``, rounded to the nearest, ties to even."""
    if not shift.any():
        return quanta
    few = np.minimum(shift, 62)
    down = quanta >> few
    rest, half = quanta - (down << few), (np.int64(1) << few) >> 1
    found: I64 = down + ((rest > half) | ((rest == half) & (few > 0) & (down & 1 > 0)))
    return found
