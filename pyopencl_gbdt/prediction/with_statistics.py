"""Rows to predict get the statistics that their model's trees use."""

from __future__ import annotations

from functools import partial

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.categories.statistics import Statistics
from pyopencl_gbdt.data.coded import level_codes
from pyopencl_gbdt.data.features import Features
from pyopencl_gbdt.data.sparse import SparseMatrix
from pyopencl_gbdt.device.foreign import DeviceMatrix
from pyopencl_gbdt.errors import DataError


def with_statistics(statistics: Statistics, features: Features) -> npt.NDArray[np.float32]:
    """Return rows with their statistics as further columns.

    Parameters
    ----------
    statistics : Statistics
    features : Features
        Categorical columns hold the codes of training.

    Raises
    ------
    DataError
        If the rows are sparse.
    """
    values = features.values
    if isinstance(values, SparseMatrix):
        raise DataError(
            "X is sparse: expected dense rows for a model with statistics of categories; give "
            "X.toarray()"
        )
    rows = values.host() if isinstance(values, DeviceMatrix) else values
    codes_of = partial(level_codes, features)
    return np.concatenate([rows, statistics.of_rows(codes_of, rows.shape[0])], axis=1)
