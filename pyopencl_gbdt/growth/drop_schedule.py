"""Which trees a round of DART drops, and what becomes of their weights; see ``docs/dart.md``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.random_numbers import random_bits, stream
from pyopencl_gbdt.numerics.tree_weights import DRAWS
from pyopencl_gbdt.parameters.values import ParameterValues

F32 = npt.NDArray[np.float32]
#: A round's stream has numbers for all trees, and two more, by 32 bits: -1 for whether trees are
#: dropped at all, and -2 for the one tree.
_BESIDE = 2
#: Rounds whose keys are computed together.
_KEYS = 64


@dataclass(frozen=True)
class Drop:
    """What a round does to weights.

    Attributes
    ----------
    trees : int64 array
        The dropped trees, ascending, by their place in the model; those of outputs that split
        alike are one.
    before, after : float32 array, of the same size
        Their weights before and after the round.
    of_new : float32
        The weight of each new tree.
    """

    trees: npt.NDArray[np.int64]
    before: F32
    after: F32
    of_new: np.float32


class DropSchedule:
    """The weights of all trees, round by round, and which trees a round drops.

    They follow from the parameters, the learning rates and random numbers of (seed, round, tree)
    alone, so every device and every member of a team draws the same trees.

    Parameters
    ----------
    params : ParameterValues
    round_trees : int
        Trees of a round; those of outputs that split alike are one.
    weights : float32 array
        Those of the trees of earlier rounds.
    """

    def __init__(self, params: ParameterValues, round_trees: int, weights: F32) -> None:
        self.params, self.round_trees = params, round_trees
        self.weights = weights.copy()
        self._keys: dict[int, npt.NDArray[np.uint32]] = {}  # by the first of some rounds

    def next(self, number: int, rate: float) -> Drop:
        """Choose the trees that a round drops, and give all trees their weights after it.

        Parameters
        ----------
        number : int
            Rounds before this one.
        rate : float
            The learning rate of the round.
        """
        trees = self._drawn(number)
        n_dropped, before = np.float32(trees.size), self.weights[trees]
        each = np.float32(rate) / np.float32(self.round_trees)
        one = np.float32(1)
        kept = of_new = one
        if trees.size and self.params.normalize_type == "forest":
            kept = of_new = one / (one + each)
        elif trees.size:
            kept, of_new = n_dropped / (n_dropped + each), one / (n_dropped + each)
        self.weights[trees] = after = before * kept
        self.weights = np.append(self.weights, np.full(self.round_trees, of_new, np.float32))
        return Drop(trees, before, after, of_new)

    def _key(self, number: int) -> npt.NDArray[np.uint32]:
        first = number - number % _KEYS
        if first not in self._keys:
            rounds = np.arange(first, first + _KEYS)
            self._keys = {first: stream(self.params.random_state, rounds, DRAWS)}
        return self._keys[first][number - first, None]

    def _drawn(self, number: int) -> npt.NDArray[np.int64]:
        """Return the places of the trees that a round drops, ascending."""
        p, n_trees = self.params, self.weights.size
        if not n_trees:
            return np.zeros(0, np.int64)
        bits = random_bits(self._key(number), np.arange(-_BESIDE, n_trees).astype(np.uint32))
        one, skips, *_ = units = np.ldexp(bits.astype(np.float64), -32)
        if skips < p.skip_drop:
            return np.zeros(0, np.int64)
        share, weights = p.rate_drop, np.ones(n_trees)
        if p.sample_type == "weighted":
            weights = self.weights.astype(np.float64)
            if (total := np.cumsum(weights)[-1]) > 0:
                share = p.rate_drop * n_trees * weights / total
        trees = np.flatnonzero(units[_BESIDE:] < share)
        if p.one_drop and not trees.size:
            sums = np.cumsum(weights)
            found = np.searchsorted(sums, one * sums[-1], side="right")
            trees = np.array([min(int(found), n_trees - 1)])
        return trees
