"""Twin of ``growth.renew_leaves``: leaves take the quantile of their rows' residuals.

XGBoost 3.2, ``src/objective/adaptive.cc``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.portable_math import as_margin, finite, not_tiny
from pyopencl_gbdt.numerics.quantiles import quantile

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]


def residuals(label: F32, margins: F32) -> F32:
    """Return label - margin as finite numbers."""
    with np.errstate(over="ignore", under="ignore"):
        return finite(label - margins)


def renew_leaves(
    leaves: Iterable[Any],
    residual: F32,
    weights: I64 | None,
    alpha: float,
    learning_rate: float,
) -> None:
    """Set leaf values to the quantiles of residuals; leaves without weighted rows keep theirs.

    Parameters
    ----------
    leaves : iterable of objects with ``rows`` and ``value``
        Each leaf's row ids, and its value, which is set.
    residual : float32 array, shape (n_rows,)
    weights : int64 array, shape (n_rows,), or None
    alpha, learning_rate : float
    """
    for leaf in leaves:
        own = None if weights is None else weights[leaf.rows]
        found = quantile(residual[leaf.rows], own, alpha)
        if found is not None:
            leaf.value = as_margin(not_tiny(np.array([learning_rate], np.float32)) * found)[0]
