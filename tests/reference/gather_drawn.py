"""Twin of ``gradients.gather_drawn``: the drawn rows of a page."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

I32 = npt.NDArray[np.int32]


def gather_drawn(
    codes: npt.NDArray[Any], quanta: I32, factors: npt.NDArray[np.float32]
) -> tuple[npt.NDArray[Any], I32]:
    """Return codes and quanta of the rows whose factor is not 0, in order.

    Parameters
    ----------
    codes : integer array, shape (n_rows, n_codes)
    quanta : int32 array, shape (n_rows, 2)
    factors : float32 array, shape (n_rows,)
    """
    drawn = factors != 0
    return codes[drawn], quanta[drawn]
