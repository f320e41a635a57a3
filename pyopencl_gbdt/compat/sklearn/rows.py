"""Rows, labels, weights and columns as scikit-learn's estimators take them."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.arrays.containers import is_frame, is_sparse
from pyopencl_gbdt.errors import DataError, DataTypeError, ParameterError

F64 = npt.NDArray[np.float64]
#: Thresholds have to lie above the largest value of a column, and be finite.
_LARGEST = np.finfo(np.float32).max / 4


def checked_rows(X: Any) -> Any:
    """Return rows whose infinite values are +-8.5e37, which sorts alike in nearly all data.

    Raises
    ------
    DataTypeError
        If X is sparse, or only some names of its columns are texts, as in scikit-learn.
    """
    if is_sparse(X):
        raise DataTypeError(
            "Sparse data was passed, but dense data is required. Use '.toarray()' to convert to a "
            "dense numpy array."
        )
    if is_frame(X):
        _check_names(X)
        kinds = [getattr(dtype, "kind", "") for dtype in X.dtypes]
        places = [place for place, kind in enumerate(kinds) if kind == "f"]
        endless = [
            p for p in places if np.isinf(X.iloc[:, p].to_numpy(np.float64, na_value=0)).any()
        ]
        if endless:
            X = X.copy()
            for place in endless:
                X.isetitem(place, X.iloc[:, place].clip(-_LARGEST, _LARGEST))
        return X
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    if isinstance(X, np.ndarray) and X.dtype.kind == "f" and np.isinf(X).any():
        return np.clip(X, -_LARGEST, _LARGEST)
    return X


def _check_names(frame: Any) -> None:
    kinds = sorted({type(name).__name__ for name in frame.columns})
    if len(kinds) > 1 and "str" in kinds:
        raise DataTypeError(
            "Feature names are only supported if all input features have string names, but your "
            f"input has {kinds} as feature name / column name types. If you want feature names to "
            "be stored and validated, you must convert them all to strings, by using X.columns = "
            "X.columns.astype(str) for example."
        )


def checked_weight(given: Any, n_rows: int) -> F64 | None:
    """Return a weight for each row, or None.

    Raises
    ------
    DataError
        In scikit-learn's words, if ``given`` has another shape.
    """
    if given is None:
        return None
    found = np.asarray(given, np.float64)
    if found.ndim == 0:
        return np.full(n_rows, float(found))
    if found.ndim != 1:
        raise DataError("Sample weights must be 1D array or scalar")
    if found.shape != (n_rows,):
        raise DataError(f"sample_weight.shape == {found.shape}, expected {(n_rows,)}!")
    return found


def check_lengths(*parts: Any) -> None:
    """Raise ``DataError`` unless all parts have as many rows, in scikit-learn's words."""
    sizes = [len(part) for part in parts if part is not None]
    if len(set(sizes)) > 1:
        raise DataError(f"Found input variables with inconsistent numbers of samples: {sizes}")


def without_fractions(X: Any, columns: npt.NDArray[np.intp]) -> Any:
    """Return rows to predict whose categorical columns have NaN instead of fractions.

    No training row has a fraction there, so they are unknown levels, which are missing.
    """
    if is_frame(X):
        parts = {
            int(p): X.iloc[:, p] for p in columns if getattr(X.dtypes.iloc[p], "kind", "") == "f"
        }
        wrong = {p: column % 1 != 0 for p, column in parts.items()}
        if any(one.any() for one in wrong.values()):
            X = X.copy()
            for place, one in wrong.items():
                X.isetitem(place, parts[place].mask(one))
    elif isinstance(X, np.ndarray) and X.dtype.kind == "f":
        part = X[:, columns]
        if (part % 1 != 0).any():
            X = X.copy()
            X[:, columns] = np.where(part % 1 != 0, np.nan, part)
    return X


def warn_of_names(has_names: bool, had_names: bool, estimator: str) -> None:
    """Warn, in scikit-learn's words, where either training or predicted rows have names alone.

    ``has_names``, ``had_names``: whether all columns of the rows, and of the training, have texts
    as names.
    """
    if has_names and not had_names:
        warnings.warn(
            f"X has feature names, but {estimator} was fitted without feature names", stacklevel=4
        )
    elif had_names and not has_names:
        warnings.warn(
            f"X does not have valid feature names, but {estimator} was fitted with feature names",
            stacklevel=4,
        )


_FROM_DTYPE = "from_dtype"
_NAMES_SHOWN = 5


def chosen_columns(given: Any, n_features: int, names: Sequence[str] | None) -> Any:
    """Return the categorical columns, as ``Dataset`` takes them.

    Parameters
    ----------
    given : array-like of bool, int or str, "from_dtype" or None
        The parameter ``categorical_features``.
    names : sequence of str or None
        Names of the columns, if they are texts.

    Returns
    -------
    list of int, "from_dtype" or None

    Raises
    ------
    ParameterError
        If ``given`` has another type, or does not fit the columns.
    """
    if given is None or (isinstance(given, str) and given == _FROM_DTYPE):
        return given
    asked = np.asarray(given)
    if asked.size == 0:
        return None
    kinds = sorted({type(one).__name__ for one in given}) if asked.dtype.kind == "O" else ()
    allowed = {"bool", "int", "str"}
    if asked.dtype.kind not in "biuUO" or not allowed.issuperset(kinds):
        found = ", ".join(kinds) or asked.dtype.name
        raise ParameterError(
            f"categorical_features must be an array-like of bool, int or str, got: {found}."
        )
    if asked.dtype.kind == "b":
        if asked.shape != (n_features,):
            raise ParameterError(
                f"categorical_features set as a boolean mask must have shape (n_features,), got: "
                f"{asked.shape}"
            )
        return np.flatnonzero(asked).tolist() or None
    if asked.dtype.kind in "UO" and any(isinstance(one, str) for one in asked.tolist()):
        return [_place_of(one, names) for one in asked.tolist()]
    if asked.min() < 0 or asked.max() >= n_features:
        raise ParameterError(
            "categorical_features set as integer indices must be in [0, n_features - 1]"
        )
    return np.unique(asked.astype(np.intp)).tolist()


def _place_of(name: object, names: Sequence[str] | None) -> int:
    if names is None:
        raise ParameterError(
            "categorical_features should be passed as an array of integers or as a boolean mask "
            "when the model is fitted on data without feature names."
        )
    if name not in names:
        raise ParameterError(
            f"categorical_features has an item value {name!r} which is not a valid feature name "
            f"of the training data. Observed feature names: {list(names)}"
        )
    return list(names).index(str(name))


def check_levels(sizes: dict[int, int], names: Sequence[str] | None, max_bins: int) -> None:
    """Raise ``DataError`` for a column of more levels than ``max_bins``, as scikit-learn does."""
    for column, size in sizes.items():
        if size > max_bins:
            name = f"at index {column}" if names is None else repr(names[column])
            raise DataError(
                f"Categorical feature {name} is expected to have a cardinality <= {max_bins} but "
                f"actually has a cardinality of {size}."
            )


def monotone_constraints(
    given: Any, n_features: int, names: Sequence[str] | None, estimator: str
) -> npt.NDArray[np.int8] | None:
    """Return -1, 0 or 1 for each column; None without constraints.

    Parameters
    ----------
    given : array-like of int, dict of str to int, or None
        The parameter ``monotonic_cst``.

    Raises
    ------
    ParameterError
    """
    if given is None:
        return None
    if isinstance(given, dict):
        return _of_names(given, n_features, names, estimator)
    unexpected = np.setdiff1d(np.asarray(given), [-1, 0, 1])
    if unexpected.size:
        raise ParameterError(
            "monotonic_cst must be an array-like of -1, 0 or 1. Observed values: "
            f"{unexpected.tolist()}."
        )
    found = np.asarray(given, np.int8)
    if found.shape != (n_features,):
        raise ParameterError(
            f"monotonic_cst has shape {found.shape} but the input data X has {n_features} features."
        )
    return found


def _of_names(
    given: dict[Any, Any], n_features: int, names: Sequence[str] | None, estimator: str
) -> npt.NDArray[np.int8]:
    if names is None:
        raise ParameterError(
            f"{estimator} was not fitted on data with feature names. Pass monotonic_cst as an "
            "integer array instead."
        )
    unknown = sorted(set(given) - set(names))
    if unknown:
        shown = unknown if len(unknown) <= _NAMES_SHOWN else [*unknown[:_NAMES_SHOWN], "..."]
        raise ParameterError(
            f"monotonic_cst contains {len(unknown)} unexpected feature names: {shown}."
        )
    found = np.zeros(n_features, np.int8)
    for place, name in enumerate(names):
        value = given.get(name, 0)
        if value not in (-1, 0, 1):
            raise ParameterError(
                f"monotonic_cst[{name!r}] must be either -1, 0 or 1. Got {value!r}."
            )
        found[place] = value
    return found


def interaction_constraints(given: Any, n_features: int) -> list[list[int]] | None:
    """Return groups of columns that may split along one path; None without constraints.

    Columns that no group has are one more group.

    Raises
    ------
    ParameterError
    """
    if given is None:
        return None
    if isinstance(given, str):
        size = 2 if given == "pairwise" else 1
        return [list(group) for group in itertools.combinations(range(n_features), size)]
    try:
        groups = [set(group) for group in given]
    except TypeError:
        raise ParameterError(
            f"Interaction constraints must be a sequence of tuples or lists, got: {given!r}."
        ) from None
    for group in groups:
        if not all(isinstance(one, Integral) and 0 <= int(one) < n_features for one in group):
            raise ParameterError(
                "Interaction constraints must consist of integer indices in [0, n_features - 1] "
                f"= [0, {n_features - 1}], specifying the position of features, got invalid "
                f"indices: {group!r}"
            )
    rest = set(range(n_features)).difference(*groups)
    return [sorted(map(int, group)) for group in (*groups, *([rest] if rest else []))]
