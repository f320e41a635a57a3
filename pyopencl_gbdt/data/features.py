"""Convert users' input to a checked float32 matrix; on a device or sparse, it stays so."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data import check_matrix
from pyopencl_gbdt.data.check import check_shape
from pyopencl_gbdt.data.check_sparse import check_sparse
from pyopencl_gbdt.data.containers import is_sparse
from pyopencl_gbdt.data.foreign import is_on_device
from pyopencl_gbdt.data.narrow import check_missing
from pyopencl_gbdt.data.sparse import SparseMatrix
from pyopencl_gbdt.device.foreign import DeviceMatrix, as_cupy, device_matrix

F32 = npt.NDArray[np.float32]
#: Checked values: float32, shape (n_rows, n_features), C order, NaN for missing; or sparse.
Values = F32 | DeviceMatrix | SparseMatrix


def check_features(
    X: Any, *, name: str = "X", n_features: int | None = None, missing: float | None = None
) -> tuple[Values, list[str] | None]:
    """Check a feature matrix; one on a device stays there if kernels can read it.

    What a sparse matrix has no entry for is missing; it is not made dense.

    Parameters
    ----------
    X : (n_rows, n_features) array-like, DataFrame, sparse matrix, or a result of this function
    name : str
        The name of X in error messages.
    n_features : int or None
        The required number of columns; None accepts any.
    missing : float or None
        A number that means "missing", besides NaN and None.

    Returns
    -------
    values : float32 array, shape (n_rows, n_features), C order, or DeviceMatrix, or SparseMatrix
    feature_names : list of str, or None
        The column names of a table.

    Raises
    ------
    DataError, ParameterError
        As `check_matrix` and `check_sparse`.
    """
    if isinstance(X, SparseMatrix) or is_sparse(X):
        return check_sparse(X, name=name, n_features=n_features, missing=missing), None
    found = X if isinstance(X, DeviceMatrix) else None
    if found is None and is_on_device(X):
        X = as_cupy(X)
        found = device_matrix(X, check_missing(missing))
    if found is None:
        return check_matrix(X, name=name, n_features=n_features, missing=missing)
    check_shape(found.shape, name, n_features)
    return found, None
