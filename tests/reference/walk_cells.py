"""Twin of ``walk_cells``: the rows are predicted once for every cell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.model import Ensemble
from tests.reference.predict import predict

F32 = npt.NDArray[np.float32]


def walk_cells(ensemble: Ensemble, values: F32, features: Sequence[int], cells: F32) -> F32:
    """Return the margins of rows in which some features have the values of each cell.

    Parameters
    ----------
    ensemble : Ensemble
    values : float32 array, shape (n_rows, n_features)
    features : sequence of int
    cells : float32 array, shape (n_cells, len(features))

    Returns
    -------
    float32 array, shape (n_outputs, n_cells, n_rows)
    """
    found = np.empty((ensemble.n_outputs, len(cells), len(values)), np.float32)
    for place, cell in enumerate(cells):
        changed = values.copy()
        changed[:, list(features)] = cell
        found[:, place] = predict(ensemble, changed)
    return found
