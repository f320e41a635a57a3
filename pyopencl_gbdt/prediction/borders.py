"""The distinct thresholds of every column, by which rows are encoded once for all trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

U32 = npt.NDArray[np.uint32]
#: Above the key of every value.
_ABOVE_ALL = np.uint32(0xFFFFFFFF)


@dataclass(frozen=True)
class Borders:
    """Borders of the columns, in arrays for the kernel ``encode``.

    Attributes
    ----------
    begin, steps : uint32 array, shape (n_columns,)
        First border of each column, and the logarithm of one more than its borders.
    borders : uint32 array
        Keys of the columns' distinct thresholds, ascending, then numbers above all keys.
    """

    begin: U32
    steps: U32
    borders: U32

    @property
    def most_codes(self) -> int:
        """Number of codes of the column that has most."""
        return 1 << int(self.steps.max())


def borders_of(
    column: npt.NDArray[np.int64], keys: U32, n_columns: int
) -> tuple[Borders, npt.NDArray[np.int64]]:
    """Return the borders of all columns, and the rank of every split's border in its column.

    Parameters
    ----------
    column : int64 array, shape (n_splits,)
        The column that each split asks for.
    keys : uint32 array, shape (n_splits,)
        ``ordered`` thresholds.
    n_columns : int
    """
    asked, of_split = np.unique(column << 32 | keys.astype(np.int64), return_inverse=True)
    counts = np.bincount(asked >> 32, minlength=n_columns)
    steps = np.array([int(count).bit_length() for count in counts], np.int64)
    sizes: npt.NDArray[Any] = np.left_shift(1, steps) - 1
    begin = np.cumsum(sizes) - sizes
    before = np.cumsum(counts) - counts
    of_border = np.arange(asked.size) - before[asked >> 32]
    borders = np.full(max(1, int(sizes.sum())), _ABOVE_ALL)
    borders[begin[asked >> 32] + of_border] = asked & 0xFFFFFFFF
    made = Borders(begin.astype(np.uint32), steps.astype(np.uint32), borders.astype(np.uint32))
    return made, of_border[of_split]
