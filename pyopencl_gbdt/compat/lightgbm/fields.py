"""Labels, weights, groups and starting scores, as LightGBM's ``Dataset`` takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.compat.lightgbm.errors import log_warning
from pyopencl_gbdt.errors import DataError

Array = npt.NDArray[Any]
_DTYPES = {
    "label": np.float32,
    "weight": np.float32,
    "init_score": np.float64,
    "group": np.int32,
}


def plain(values: Any) -> Any:
    """Return what pandas, polars or Arrow hold as a NumPy array; anything else unchanged."""
    if hasattr(values, "to_numpy"):
        return values.to_numpy()
    if hasattr(values, "itercolumns"):  # a table of Arrow
        return np.column_stack([plain(column) for column in values.itercolumns()])
    return values


def as_field(name: str, values: Any) -> Array | None:
    """Return checked numbers of a field; None if there are none.

    Parameters
    ----------
    name : {"label", "weight", "init_score", "group"}
    values : array-like or None
        ``init_score`` may have a column for each class; then its columns follow each other in the
        result.

    Raises
    ------
    TypeError, ValueError, DataError
        In LightGBM's words.
    """
    if values is None:
        return None
    if name == "label" and hasattr(values, "columns") and len(values.columns) > 1:
        raise ValueError("DataFrame for label cannot have multiple columns")
    given = np.asarray(plain(values))
    if given.dtype.kind not in "fiub":
        try:
            given = given.astype(np.float64)
        except (TypeError, ValueError):
            raise TypeError(
                f"Wrong type({type(values).__name__}) for {name}.\n"
                "It should be list, numpy 1-D array or pandas Series"
            ) from None
    if name == "init_score" and given.ndim == 2:
        return np.ascontiguousarray(given.T, np.float64).reshape(-1)
    if given.ndim == 2 and given.shape[1] == 1:
        if isinstance(values, np.ndarray):
            log_warning("Converting column-vector to 1d array")
        given = given[:, 0]
    if given.ndim != 1:
        raise TypeError(
            f"Wrong type({type(values).__name__}) for {name}.\n"
            "It should be list, numpy 1-D array or pandas Series"
        )
    found = given.astype(_DTYPES[name])
    if name == "label" and not np.isfinite(found).all():
        raise DataError("NaN or Inf in label: expected finite numbers; drop these rows")
    if name == "weight" and found.size and (not np.isfinite(found).all() or found.min() < 0):
        raise DataError("Weights should be non-negative: expected finite numbers >= 0")
    return found


def group_sizes(values: Any, n_rows: int) -> npt.NDArray[np.int32]:
    """Return the number of rows of each query.

    Parameters
    ----------
    values : array-like
        Sizes of queries, or the query of each row.
    n_rows : int

    Raises
    ------
    DataError
        If the sizes do not add up to the rows.
    """
    given = np.asarray(plain(values)).astype(np.int32)
    if given.sum() == n_rows:
        return given
    if given.size == n_rows:
        first = np.flatnonzero(np.append(True, given[1:] != given[:-1]))
        return np.diff(np.append(first, n_rows)).astype(np.int32)
    raise DataError(
        f"Sum of query counts ({given.sum()}) differs from the length of #data ({n_rows})"
    )
