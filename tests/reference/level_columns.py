"""Twin of ``growth.level_columns``: the features that a tree gathers for its levels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.parameters.parameters import Parameters
from tests.reference.feature_mask import F32, chosen


def gathered(
    params: Parameters, n_features: int, weights: F32 | None, tree: tuple[int, int], n_drawn: int
) -> npt.NDArray[np.int64]:
    """Return ``n_drawn`` features: those that levels of the tree draw, and the first of the others.

    Features that the last level draws come first, then those of the level before it, and so on;
    others are last. The other parameters are those of ``feature_mask.chosen``; nodes draw nothing.
    """
    of_levels = [
        chosen(params, n_features, weights, tree, depth, 1 << depth)
        for depth in range(params.max_depth)
    ]
    numbers = np.arange(1, params.max_depth + 1)[:, None]
    last: npt.NDArray[np.int64] = np.max(of_levels * numbers, axis=0)
    return np.argsort(-last, kind="stable")[:n_drawn]
