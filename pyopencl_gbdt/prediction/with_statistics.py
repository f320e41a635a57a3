"""Rows to predict get the statistics that their model's trees use."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.categories.statistics import Statistics
from pyopencl_gbdt.data.batched_rows import BatchedRows, not_whole
from pyopencl_gbdt.data.coded import level_codes
from pyopencl_gbdt.data.features import Features
from pyopencl_gbdt.data.sparse import SparseMatrix
from pyopencl_gbdt.device.foreign import DeviceMatrix
from pyopencl_gbdt.errors import DataError

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]


def with_statistics(statistics: Statistics, features: Features) -> F32:
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
    if isinstance(values, BatchedRows):
        raise not_whole(values)
    if isinstance(values, SparseMatrix):
        raise DataError(
            "X is sparse: expected dense rows for a model with statistics of categories; give "
            "X.toarray()"
        )
    rows = values.host() if isinstance(values, DeviceMatrix) else values
    more = statistics.of_rows(_Rows(rows, replace(features, values=rows)))
    return np.concatenate([rows, more], axis=1)


@dataclass(frozen=True)
class _Rows:
    """Rows whose statistics are asked for."""

    values: F32
    features: Features

    def level_codes(self, feature: int) -> I32:
        return level_codes(self.features, feature)
