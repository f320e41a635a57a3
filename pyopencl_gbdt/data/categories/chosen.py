"""Which columns are categorical: named by the user, or found by their dtypes."""

from __future__ import annotations

import difflib
import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np

from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.messages import show

#: Take the columns of a table whose dtype is that of strings or categories.
FROM_DTYPE = "from_dtype"
#: The same, but no column of text files, where a field that is not a number may be a slip.
AUTO = "auto"
_FEATURE_TYPES = {"c": True, **dict.fromkeys(("q", "float", "int", "i"), False)}


def categorical_argument(
    categorical_features: Any = FROM_DTYPE,
    feature_types: Any = None,
    enable_categorical: Any = None,
) -> Any:
    """Return ``categorical_features`` for it and its two names in XGBoost.

    Parameters
    ----------
    categorical_features : object
    feature_types : sequence of str or None
        ``"c"`` for each categorical column, and ``"q"``, ``"float"``, ``"int"`` or ``"i"`` for
        others.
    enable_categorical : bool or None
        False: no column is categorical because of its dtype.

    Raises
    ------
    ParameterError
        If two of them are given, or a type is unknown.
    """
    default = isinstance(categorical_features, str) and categorical_features in (FROM_DTYPE, AUTO)
    asked = not default
    if feature_types is not None:
        if asked and categorical_features is not None:
            raise ParameterError(
                "feature_types and categorical_features both name categorical columns; give one"
            )
        is_array = isinstance(feature_types, np.ndarray) and feature_types.ndim == 1
        listed = feature_types if is_array or isinstance(feature_types, (list, tuple)) else None
        if listed is None or not all(isinstance(t, str) and t in _FEATURE_TYPES for t in listed):
            raise ParameterError(
                f"feature_types={show(feature_types)}: expected a list of 'c' (categorical), 'q', "
                "'float', 'int' or 'i'; give one a column"
            )
        return np.array([_FEATURE_TYPES[one] for one in listed], np.bool_)
    if enable_categorical is None or asked:
        return categorical_features
    if not isinstance(enable_categorical, (bool, np.bool_, int)):
        raise ParameterError(
            f"enable_categorical={show(enable_categorical)}: expected True or False; give one"
        )
    return categorical_features if enable_categorical else None


def check_categorical(
    given: Any,
    n_features: int,
    names: Sequence[str] | None = None,
    by_dtype: Sequence[int] = (),
) -> list[int]:
    """Return the numbers of the categorical columns, ascending.

    Parameters
    ----------
    given : sequence of int or str, bool array of shape (n_features,), str or None
        Column numbers or names, a mask, ``"from_dtype"`` or ``"auto"``. Text may also list several
        with commas, as for LightGBM: ``"0,3"``, ``"name:city,shop"``.
    by_dtype : sequence of int
        The columns that ``"from_dtype"`` and ``"auto"`` stand for.

    Raises
    ------
    DataError
    """
    if given is None or (isinstance(given, np.ndarray) and not given.size):
        return []
    if isinstance(given, np.ndarray) and given.dtype == np.bool_ and given.shape != (n_features,):
        raise DataError(
            f"categorical_features, or feature_types, has the shape {given.shape}: expected "
            f"({n_features},), an entry for each column of X; correct it"
        )
    if isinstance(given, str):
        if given in (FROM_DTYPE, AUTO):
            return sorted(by_dtype)
        listed = [part.strip() for part in given.removeprefix("name:").split(",")]
        numbered = not given.startswith("name:")
        given = [int(part) if numbered and part.isdecimal() else part for part in listed]
    try:
        entries = np.asarray(given, object).tolist()
    except ValueError:
        entries = None
    if not isinstance(entries, list):
        entries = [given]
    if entries and all(isinstance(one, (bool, np.bool_)) for one in entries):
        if len(entries) == n_features:
            return [number for number, one in enumerate(entries) if one]
    elif all(_is_column(one, n_features, names) for one in entries):
        where = {} if names is None else {name: number for number, name in enumerate(names)}
        return sorted({where[one] if isinstance(one, str) else int(one) for one in entries})
    unknown = next((o for o in entries if not _is_column(o, n_features, names)), None)
    raise DataError(
        f"categorical_features={show(given)}: expected column numbers 0..{n_features - 1}, "
        f"{'names of columns, ' if names is not None else ''}or a mask of {n_features} bools; "
        f"{_advice(unknown, names)}"
    )


def _is_column(one: object, n_features: int, names: Sequence[str] | None) -> bool:
    if isinstance(one, str):
        return names is not None and one in names
    whole = isinstance(one, numbers.Integral) and not isinstance(one, (bool, np.bool_))
    return whole and 0 <= one < n_features  # type: ignore[operator]


def _advice(unknown: object, names: Sequence[str] | None) -> str:
    if not isinstance(unknown, str):
        return "correct it"
    if names is None:
        return f"X has no column names, so give the number of {unknown!r}"
    near = difflib.get_close_matches(unknown, names, n=1)
    listed = f"did you mean {near[0]!r}?" if near else f"the columns are {show(list(names))}"
    return f"there is no column {unknown!r}; {listed}"
