"""Rows to predict get the statistics that their model's trees use."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.categories.statistics import Statistics
from pyopencl_gbdt.data.categories import NO_LEVEL
from pyopencl_gbdt.data.features import Values
from pyopencl_gbdt.data.sparse import SparseMatrix
from pyopencl_gbdt.device.foreign import DeviceMatrix
from pyopencl_gbdt.errors import DataError

I32 = npt.NDArray[np.int32]


def with_statistics(statistics: Statistics, values: Values) -> npt.NDArray[np.float32]:
    """Return rows with their statistics as further columns.

    Parameters
    ----------
    statistics : Statistics
    values : float32 array or DeviceMatrix, shape (n_rows, n_columns)
        Categorical columns hold codes.

    Raises
    ------
    DataError
        If the rows are sparse.
    """
    if isinstance(values, SparseMatrix):
        raise DataError(
            "X is sparse: expected dense rows for a model with statistics of categories; give "
            "X.toarray()"
        )
    rows = values.host() if isinstance(values, DeviceMatrix) else values

    def codes_of(column: int) -> I32:
        own = rows[:, column]
        return np.where(np.isnan(own), np.float32(NO_LEVEL), own).astype(np.int32)

    return np.concatenate([rows, statistics.of_rows(codes_of, rows.shape[0])], axis=1)
