"""Twin of ``proximities``: pair by pair."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

I32 = npt.NDArray[np.int32]


def proximities(left: I32, right: I32) -> npt.NDArray[np.uint32]:
    """Return in how many trees two rows have the same leaf.

    Parameters
    ----------
    left, right : int32 array, shape (n_rows, n_trees)
        The leaf of each row in each tree.

    Returns
    -------
    uint32 array, shape (n_left, n_right)
    """
    found = np.zeros((len(left), len(right)), np.uint32)
    for i, one in enumerate(left):
        for j, other in enumerate(right):
            found[i, j] = sum(a == b for a, b in zip(one.tolist(), other.tolist(), strict=True))
    return found
