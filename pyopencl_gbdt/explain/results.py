"""What explanations of a model return: arrays, with names of columns; their values as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pandas as pd

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Explanation:
    """The contribution of each column to the margin of each row.

    Attributes
    ----------
    values : float64 array, shape (n_rows, n_features), or (n_rows, n_outputs, n_features)
        A row's values and its base add up to its margin, exactly, in any order of the sum.
    base : float64 array, shape (n_rows,), or (n_rows, n_outputs)
        The margin of a row of which no column is known.
    feature_names : list of str
        One for each column; ``f0``, ``f1``, ... if the model's columns have no names.
    data : array, shape (n_rows, n_features)
        The rows: float32, or objects if columns are categorical. Those have their levels by name,
        and None where no level of training is given.
    """

    values: F64
    base: F64
    feature_names: list[str]
    data: npt.NDArray[Any]

    def to_frame(self) -> pd.DataFrame:
        """Return the values, then the base, as a table with a line for each row.

        With several outputs, columns are pairs (output, feature name).

        Raises
        ------
        ImportError
            If pandas is missing.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame() needs pandas: pip install pandas") from error
        whole = np.concatenate([self.values, self.base[..., None]], axis=-1)
        names = [*self.feature_names, "base"]
        if whole.ndim == 2:
            return pd.DataFrame(whole, columns=names)
        pairs = pd.MultiIndex.from_product([range(whole.shape[1]), names])
        return pd.DataFrame(whole.reshape(len(whole), -1), columns=pairs)


@dataclass(frozen=True, eq=False)
class PartialDependence:
    """How predictions change with one feature, or with two.

    Attributes
    ----------
    grid : list of array
        The values that each feature takes: float32, or objects if it is categorical: names of
        levels.
    average : float64 array, shape (n_outputs, len(grid[0]), ...), or None
        The mean of the rows; the last dimension is that of a second feature. None if
        ``kind="individual"``.
    individual : float32 array, shape (n_outputs, n_rows, len(grid[0]), ...), or None
        The response of each row; None if ``kind="average"``.
    feature_names : list of str
        The names of the features of the grid.
    """

    grid: list[npt.NDArray[Any]]
    average: F64 | None
    individual: npt.NDArray[np.float32] | None
    feature_names: list[str]


def value_text(value: Any) -> str:
    """Return a column's value as text: a number in few digits, or a level."""
    is_number = isinstance(value, (float, np.floating))
    if value is None or (is_number and np.isnan(value)):
        return "missing"
    return f"{value:.5g}" if is_number else str(value)
