"""Twin of ``BorderDraws`` of ``growth.feature_mask``: the borders that random bits draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.portable_math import (
    F,
    df_div,
    df_from_i64,
    portable_log,
    portable_rsqrt,
    portable_sigmoid,
)
from pyopencl_gbdt.numerics.random_numbers import random_bits, stream
from pyopencl_gbdt.parameters.parameters import Parameters

U32 = npt.NDArray[np.uint32]
#: The sum of four random bytes has a standard deviation of 147.8.
_UNIT = 1 / 147.8


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


def noise_of_tree(params: Parameters, n_rows: int, number: int, squares: int, sum_h: int) -> F:
    """Return the noise of a tree for each step of four random bytes, float32 (1,).

    It is the standard deviation of gradients, times ``random_strength`` and n / (n + e^s), where s
    is the sum of the learning rates so far, as in CatBoost.

    Parameters
    ----------
    params : Parameters
    n_rows : int
        All rows.
    number : int
        The round.
    squares : int
        As ``sum_of_squares`` returns it.
    sum_h : int
        Hessians of the tree's rows, in quanta.
    """
    pair = np.array([squares], np.int64), np.array([max(1, sum_h)], np.int64)
    ratio = df_div(df_from_i64(pair[0]), df_from_i64(pair[1]))[0]
    variance = ratio * np.float32(2.0**-6)
    far = np.float32(number) * np.float32(params.learning_rate)
    share = portable_sigmoid(portable_log(np.array([n_rows], np.float32)) - far)
    deviation = root_of(variance)
    noise: F = np.float32(params.random_strength * _UNIT) * share * deviation
    return noise


def root_of(score: F) -> F:
    """Return the root of scores in 0 .. 2^50, float32."""
    inside = np.clip(score, np.float32(1e-30), np.float32(1e30))
    root = np.where(score > np.float32(1e30), np.float32(1e15), inside * portable_rsqrt(inside))
    return np.asarray(np.where(score < np.float32(1e-30), np.float32(0), root), np.float32)


@dataclass(frozen=True)
class Noise:
    """Noise of a node's borders: bits for every feature, and what a step of four bytes is."""

    bits: U32
    unit: F

    def ranks(self, scores: F, feature: Any, bins: Any, direction: Any) -> F:
        """Return what ranks splits: the root of a score, and noise, float32."""
        drawn = random_bits(self.bits[feature], 2 * bins + direction).astype(np.int64)
        total = np.sum([drawn >> shift & 255 for shift in (0, 8, 16, 24)], axis=0) - 510
        noisy: F = root_of(scores) + total.astype(np.float32) * self.unit
        return noisy
