"""Twin of ``BorderDraws`` of ``growth.feature_mask``: the borders that random bits draw."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.random_numbers import random_bits, stream

U32 = npt.NDArray[np.uint32]


def border_draws(seed: int, tree: tuple[int, int], path: int, n_features: int) -> U32:
    """Return random bits for every feature of a node, uint32 (n_features,).

    Parameters
    ----------
    seed : int
    tree : (int, int)
        The round, and the tree within it.
    path : int
        Of the node, as in ``feature_mask``; of the first node of a symmetric tree's level.
    n_features : int
    """
    key = stream(int(stream(seed, *tree)[0]), 4, path)
    return random_bits(key, np.arange(n_features))


def drawn_place(bits: Any, n: Any) -> Any:
    """Return one of n places, int64; all are alike likely but for a share of n / 2^32."""
    return np.asarray(bits).astype(np.int64) * n >> 32
