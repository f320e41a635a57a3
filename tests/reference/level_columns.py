"""Twin of ``growth.level_columns``: the features that a tree gathers for its levels."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.parameters.parameters import Parameters
from tests.reference.feature_mask import F32, Mask, chosen


def gathered(
    params: Parameters, n_features: int, weights: F32 | None, tree: tuple[int, int], n_drawn: int
) -> Mask:
    """Return a mask of ``n_drawn`` features, bool (n_features,).

    They are those that the levels of the tree draw, and the first of the others. The other
    parameters are those of ``feature_mask.chosen``; nodes draw nothing.
    """
    of_levels = [
        chosen(params, n_features, weights, tree, depth, 1 << depth)
        for depth in range(params.max_depth)
    ]
    mask: Mask = np.any(of_levels, axis=0)
    mask[np.flatnonzero(~mask)[: n_drawn - mask.sum()]] = True
    return mask
