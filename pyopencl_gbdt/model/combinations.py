"""Combinations of columns whose levels together are one level."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
#: Keys of rows that have no level of a combination: a value is missing, or was not seen.
MISSING, UNSEEN = -1, -2
#: Keys of a combination stay below this number.
MOST_KEYS = 2**62


class Part(NamedTuple):
    """One column of a combination; a tuple, as many are hashed between two rounds.

    Attributes
    ----------
    threshold : float or None
        None: the column is categorical. Else it is a number, and the part is one bit: whether the
        value is at or above the threshold. A missing number is not.
    """

    column: int
    threshold: float | None = None

    @property
    def order(self) -> tuple[int, float]:
        """The key by which parts are sorted."""
        return self.column, -np.inf if self.threshold is None else self.threshold


Combination = tuple[Part, ...]


def combined(*combinations: Combination) -> Combination:
    """Return the combination of all parts, in their order, each once."""
    return tuple(sorted({part for one in combinations for part in one}, key=lambda p: p.order))


class CategoryRows(Protocol):
    """Rows whose combinations are asked for; a ``Dataset`` is one."""

    @property
    def values(self) -> F32: ...

    def level_codes(self, feature: int) -> I32: ...


def part_codes(rows: CategoryRows, part: Part) -> I32:
    """Return the code of every row in a part, int32 (n_rows,); -1 is missing."""
    if part.threshold is None:
        return rows.level_codes(part.column)
    bits: I32 = (rows.values[:, part.column] >= np.float32(part.threshold)).astype(np.int32)
    return bits


def sizes_of(parts: Combination, n_levels: Mapping[int, int]) -> tuple[int, ...]:
    """Return the number of codes of every part."""
    return tuple(2 if p.threshold is not None else n_levels[p.column] for p in parts)


def combined_keys(rows: CategoryRows, parts: Combination, sizes: Sequence[int]) -> I64:
    """Return a number for the levels of every row together, int64 (n_rows,).

    Rows have equal numbers if all their codes are equal; MISSING or UNSEEN if one code is such.
    """
    keys = np.zeros(rows.values.shape[0], np.int64)
    missing, unseen = np.zeros(keys.shape, np.bool_), np.zeros(keys.shape, np.bool_)
    for part, size in zip(parts, sizes, strict=True):
        codes = part_codes(rows, part)
        missing |= codes < 0
        unseen |= codes >= size
        keys = keys * size + codes
    return np.where(missing, MISSING, np.where(unseen, UNSEEN, keys))
