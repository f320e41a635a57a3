"""What a parser of delimited text returns for a block of lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Parsed:
    """The numbers of a block of lines.

    Attributes
    ----------
    table : (n_rows, n_columns) float32 array, C order
    wide : callable
        Returns a column of numbers before they were rounded to float32: float64, (n_rows,).
    """

    table: NDArray[np.float32]
    wide: Callable[[int], NDArray[np.float64]]


def of_matrix(numbers: NDArray[np.float64]) -> Parsed:
    """Return the numbers of a block, (n_rows, n_columns); what is too large becomes infinite."""
    with np.errstate(over="ignore", under="ignore"):
        return Parsed(numbers.astype(np.float32, order="C"), lambda column: numbers[:, column])
