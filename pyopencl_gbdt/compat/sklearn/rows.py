"""Rows, labels and weights as scikit-learn's estimators take them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.arrays.containers import is_frame, is_sparse
from pyopencl_gbdt.errors import DataError, DataTypeError

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

    Parameters
    ----------
    has_names, had_names : bool
        Whether all columns of the rows, and of the training, have texts as names.
    estimator : str
        For the message.
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
