"""Categorical columns: which they are, their levels, and the codes of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.messages import show

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]
#: The code of a missing value, and of a level that training has not seen.
NO_LEVEL = -1


@dataclass(frozen=True, eq=False)
class Levels:
    """The levels of a categorical column.

    Attributes
    ----------
    values : int64 array, shape (n_levels,)
        Distinct and ascending; the code of a level is its index.
    """

    values: npt.NDArray[Any]

    @property
    def n_levels(self) -> int:
        return int(self.values.size)

    def encode(self, column: npt.NDArray[Any]) -> I32:
        """Return the code of each element, shape (n_rows,); NO_LEVEL where it is no level."""
        if not self.n_levels:
            return np.full(column.shape, NO_LEVEL, np.int32)
        place = np.minimum(np.searchsorted(self.values, column), self.n_levels - 1)
        return np.where(self.values[place] == column, place, NO_LEVEL).astype(np.int32)


#: The levels of each categorical column, by the column's number.
Categories = Mapping[int, Levels]


def check_categorical(given: Any, n_features: int) -> list[int]:
    """Return the numbers of the categorical columns, ascending.

    Parameters
    ----------
    given : sequence of int, or bool array of shape (n_features,), or None
        Column numbers, or a mask.
    n_features : int

    Raises
    ------
    DataError
    """
    if given is None:
        return []
    array = np.asarray(given)
    if array.dtype == np.bool_ and array.shape == (n_features,):
        return [int(number) for number in np.flatnonzero(array)]
    numbers = array.size == 0 or (array.ndim == 1 and array.dtype.kind in "iu")
    if not numbers or np.any((array < 0) | (array >= n_features)):
        raise DataError(
            f"categorical_features={show(given)}: expected column numbers 0..{n_features - 1}, or "
            f"a mask of {n_features} bools; correct it"
        )
    return sorted({int(number) for number in array})


def encode_numbers(values: F32, columns: list[int]) -> tuple[F32, dict[int, Levels]]:
    """Replace integers in categorical columns by codes; NaN stays NaN.

    Parameters
    ----------
    values : float32 array, shape (n_rows, n_features)
        It is not changed.
    columns : list of int
        The categorical columns.

    Returns
    -------
    encoded : float32 array, shape (n_rows, n_features)
    categories : dict of int to Levels

    Raises
    ------
    DataError
        If a value of these columns is not a whole number.
    """
    encoded = values.copy()
    categories = {}
    for column in columns:
        own = values[:, column]
        present = ~np.isnan(own)
        whole = own[present].astype(np.int64)
        if not np.array_equal(whole, own[present]):
            row = int(np.flatnonzero(present)[np.argmax(whole != own[present])])
            raise DataError(
                f"X holds {own[row]} at row {row}, column {column}: expected a whole number in a "
                "categorical column; leave the column out of categorical_features"
            )
        levels = Levels(np.unique(whole))
        encoded[present, column] = levels.encode(whole)
        categories[column] = levels
    return encoded, categories
