"""Class labels of any type, and their codes 0, 1, 2, ..."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyopencl_gbdt.data.arrays.containers import fill_masked, is_series, missing_types
from pyopencl_gbdt.data.targets import check_target, column_of
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.messages import Source, plural, show


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


N_SHOWN = 5
"""How many classes an error message lists."""


def encode_labels(y: Any) -> tuple[NDArray[Any], NDArray[np.float32]]:
    """Encode the classes of a classifier's target as 0, 1, 2, ...

    Parameters
    ----------
    y : (n_rows,) or (n_rows, 1) array-like, Series or one-column DataFrame
        Distinct labels: strings, bools or numbers. More than two numeric labels must be integers.

    Returns
    -------
    classes : (n_classes,) array
        The labels, sorted, in their own dtype.
    codes : (n_rows,) float32 array
        The index of every label in ``classes``.

    Raises
    ------
    DataError
        There are no labels, a label is missing or infinite, or numbers are not class labels.
    """
    classes, codes = _distinct(y, "y")
    fractions = classes.dtype.kind == "f" and bool((classes != np.rint(classes)).any())
    if len(classes) == 0:
        raise DataError("y has 0 classes: expected 1 or more; add rows")
    if len(classes) > 2 and fractions:
        raise DataError(
            f"y has {len(classes)} classes ({_some(classes)}): expected whole numbers. Unknown "
            f"label type: continuous; use GBDTRegressor"
        )
    return classes, codes.astype(np.float32)


def encode_known_labels(y: Any, classes: NDArray[Any], name: str) -> NDArray[np.float32]:
    """Return the codes of other rows' labels, by the ``classes`` of ``encode_labels``.

    Raises
    ------
    DataError
        A label is missing, infinite, or not in ``classes``.
    """
    labels, codes = _distinct(y, name)
    place_of = {label: place for place, label in enumerate(classes.tolist())}
    places = np.array([place_of.get(label, -1) for label in labels.tolist()], np.float32)[codes]
    if (places < 0).any():
        row = int(np.argmin(places))
        raise DataError(
            f"{name} holds {show(labels[codes[row]])} at row {row}, counted from 0: expected the "
            f"classes of the training labels, {_some(classes)}; drop such rows"
        )
    return places


def _distinct(y: Any, name: str) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted distinct labels, and every row's index into them."""
    labels = _labels(y, name)
    missing = _absent(labels)
    if missing.any():
        row = int(np.argmax(missing))
        raise DataError(
            f"{name} holds {plural(int(missing.sum()), 'missing or infinite label')}, the first "
            f"({show(labels[row])}) at {Source(name, is_vector=True).place(row, 0)}: expected a "
            f"label in every row; drop these rows"
        )
    try:
        found, places = np.unique(labels, return_inverse=True)
    except TypeError as error:
        kinds = sorted({type(label).__name__ for label in labels})
        raise DataError(
            f"{name} mixes labels of types {', '.join(kinds)}: expected one type; convert them"
        ) from error
    return found, places.reshape(-1)


def _some(classes: NDArray[Any]) -> str:
    few = ", ".join(show(label) for label in classes[:N_SHOWN])
    return few + (", ..." if len(classes) > N_SHOWN else "")


def _labels(y: Any, name: str) -> NDArray[Any]:
    """Return labels as a one-dimensional array; all-bool or all-number objects become numeric."""
    column = column_of(y, Source(name, is_vector=True))
    if isinstance(column, np.ma.MaskedArray):
        column = fill_masked(column, object)
    labels = np.asarray(column)
    if labels.dtype.kind == "O":
        kinds = set(map(type, labels))
        if kinds <= {bool, int, float, np.bool_} or all(issubclass(k, np.number) for k in kinds):
            labels = np.array(labels.tolist())
        elif kinds <= {str, np.str_} and not is_series(column):
            labels = labels.astype(str)
    return labels


def _absent(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Return a mask of missing labels: None, NaN, NaT, pd.NA and infinity."""
    kind = labels.dtype.kind
    if kind == "f":
        return np.asarray(~np.isfinite(labels))
    if kind in "Mm":
        return np.asarray(np.isnat(labels))
    if kind != "O":
        return np.zeros(len(labels), np.bool_)
    types = missing_types()
    return np.fromiter(
        (isinstance(v, types) or (isinstance(v, float) and not math.isfinite(v)) for v in labels),
        np.bool_,
        len(labels),
    )
