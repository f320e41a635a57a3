"""Twin of ``growth.feature_mask``: which features a node may split on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.portable_math import portable_log, reciprocal
from pyopencl_gbdt.numerics.random_numbers import random_bits, stream
from pyopencl_gbdt.parameters.parameters import Parameters

F32 = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]


def unit_numbers(bits: npt.NDArray[np.uint32]) -> F32:
    """Convert random bits to float32 numbers x with 0 <= x < 1."""
    numbers: F32 = (bits >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)
    return numbers


def chosen(
    params: Parameters, n_features: int, weights: F32 | None, tree: tuple[int, int],
    depth: int, path: int,
) -> Mask:  # fmt: skip
    """Return a mask of the features that a node may split on, bool (n_features,).

    Parameters
    ----------
    params : Parameters
    n_features : int
    weights : float32 array, shape (n_features,), or None
        Feature weights.
    tree : (int, int)
        The round, and the tree within it.
    depth, path : int
        Of the node: the root has path 1, a left child 2 p, a right child 2 p + 1.
    """
    key = int(stream(params.random_state, *tree)[0])
    salts = (stream(key, 1, 0), stream(key, 2, depth), stream(key, 3, path))
    inside = np.ones(n_features, np.bool_)
    for count, salt in zip(params.column_counts(n_features), salts, strict=True):
        keys = _keys(random_bits(salt, np.arange(n_features)), weights)
        order = np.argsort(keys, kind="stable")
        order = order[inside[order]]
        inside = np.zeros(n_features, np.bool_)
        inside[order[:count]] = True
    return inside


def _keys(bits: npt.NDArray[np.uint32], weights: F32 | None) -> npt.NDArray[np.uint32]:
    if weights is None:
        return np.asarray(np.minimum(bits, np.uint32(0xFFFFFFFE)), np.uint32)
    u = unit_numbers(bits) + np.float32(2.0**-25)
    wait = -portable_log(u) * reciprocal(
        np.clip(weights, np.float32(2.0**-60), np.float32(2.0**60))
    )
    return np.asarray(np.where(wait > 0, wait, 0), np.float32).view(np.uint32)


def may_follow(n_features: int, groups: Sequence[Sequence[int]], above: frozenset[int]) -> Mask:
    """Return a mask of the features that interaction constraints allow below ``above``."""
    if not groups or not above:
        return np.ones(n_features, np.bool_)
    allowed = above.union(*(g for g in groups if above <= set(g)))
    return np.isin(np.arange(n_features), list(allowed))
