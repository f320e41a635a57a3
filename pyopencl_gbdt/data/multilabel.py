"""Multilabel targets: each row has any number of labels."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyopencl_gbdt.data.targets import check_target
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.messages import show


def is_multilabel(y: Any) -> bool:
    """Tell whether a classifier's target has at least two columns."""
    shape: tuple[int, ...] = getattr(y, "shape", ())
    if isinstance(y, (list, tuple)) and len(y) > 0 and not isinstance(y[0], str):
        shape = (len(y), *np.shape(y[0]))  # a nested list: the width of its first row
    return len(shape) == 2 and shape[1] > 1


def check_indicators(y: Any, n_rows: int, name: str = "y") -> NDArray[np.float32]:
    """Return 1 where a row has a label, else 0.

    Parameters
    ----------
    y : (n_rows, n_labels) array-like or DataFrame
        1 or True where the row has the label, else 0 or False.
    n_rows : int
        The number of rows of the matrix.
    name : str
        The name of the target in error messages.

    Returns
    -------
    (n_rows, n_labels) float32 array

    Raises
    ------
    DataError
        The shape is wrong, or a value is neither 0 nor 1.
    """
    if not is_multilabel(y):
        raise DataError(
            f"{name} has one column: expected a column of 0 and 1 for every label of the training; "
            f"give (n_rows, n_labels) numbers"
        )
    found = check_target(y, n_rows)
    wrong = (found != 0) & (found != 1)
    if wrong.any():
        row, column = (int(place) for place in np.argwhere(wrong)[0])
        raise DataError(
            f"{name} has shape {found.shape} and holds {show(found[row, column])} at row {row}, "
            f"column {column}, counted from 0: expected 0 and 1 for several labels a row; give one "
            f"column, or train a classifier for each column"
        )
    return found
