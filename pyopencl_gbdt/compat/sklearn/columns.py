"""Which columns are categorical, and their constraints; errors have scikit-learn's words."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.errors import DataError, ParameterError

_FROM_DTYPE = "from_dtype"
_NAMES_SHOWN = 5


def chosen_columns(given: Any, n_features: int, names: Sequence[str] | None) -> Any:
    """Return the categorical columns, as ``Dataset`` takes them.

    Parameters
    ----------
    given : array-like of bool, int or str, "from_dtype" or None
        The parameter ``categorical_features``.
    n_features : int
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
    n_features : int
    names : sequence of str or None
    estimator : str
        For messages.

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
