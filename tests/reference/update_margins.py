"""Twin of the leaf step: each row's margin is increased by its leaf's value."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]


def add_leaves(
    margins: F32, leaves: Iterable[tuple[npt.NDArray[np.uint32], np.float32 | F32]]
) -> F32:
    """Return the margins after one tree.

    Parameters
    ----------
    margins : float32 array, shape (n_rows,)
    leaves : iterable of (uint32 array, float32)
        Each leaf's rows and value; no row occurs twice.
    """
    after: F32 = margins.copy()
    for rows, value in leaves:
        after[rows] = margins[rows] + value
    return after
