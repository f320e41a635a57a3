"""Twin of ``steps.histogram``: integer sums, row after row."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.workspace import Layout

I64 = npt.NDArray[np.int64]


def histogram(codes: npt.NDArray[Any], quanta: I64, rows: npt.NDArray[Any], layout: Layout) -> I64:
    """Return the sums of gradients and Hessians per feature and code, of some rows.

    Parameters
    ----------
    codes : integer array, shape (n_rows, n_features)
    quanta : int64 array, shape (n_rows, 2)
    rows : integer array
        Rows that count.
    layout : Layout

    Returns
    -------
    int64 array, shape (n_codes, 2)
        Feature f's codes begin at ``layout.feature_offset[f]``.
    """
    sums = np.zeros((layout.n_codes, 2), np.int64)
    for feature in range(layout.n_features):
        place = layout.feature_offset[feature].astype(np.int64) + codes[rows, feature]
        np.add.at(sums, place, quanta[rows])
    return sums
