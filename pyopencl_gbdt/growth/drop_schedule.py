"""Which trees a round drops, and what weights trees have then: the schedule of ``booster="dart"``.

It follows from the parameters, the learning rates and random numbers of (seed, round, tree) alone,
so every device and every member of a team draws the same trees.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.random_numbers import random_bits, stream
from pyopencl_gbdt.numerics.tree_weights import DRAWS
from pyopencl_gbdt.parameters.values import ParameterValues

F32 = npt.NDArray[np.float32]
#: Numbers of the stream beside those of the trees: whether trees are dropped, and the one tree.
_SKIP, _ONE = 2**32 - 1, 2**32 - 2


@dataclass(frozen=True)
class Drop:
    """What a round does to weights.

    Attributes
    ----------
    trees : int64 array
        The dropped trees, ascending, by their place in the model.
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
    """The weights of all trees, round by round.

    Parameters
    ----------
    params : ParameterValues
    round_trees : int
        Trees of a round.
    weights : float32 array
        Those of the trees of earlier rounds.
    """

    def __init__(self, params: ParameterValues, round_trees: int, weights: F32) -> None:
        self.params, self.round_trees = params, round_trees
        self.weights = weights.copy()

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

    def _drawn(self, number: int) -> npt.NDArray[np.int64]:
        """Return the places of the trees that a round drops, ascending."""
        p, n_trees = self.params, self.weights.size
        key = stream(p.random_state, number, DRAWS)
        skips, one = np.ldexp(random_bits(key, [_SKIP, _ONE]).astype(np.float64), -32)
        if not n_trees or skips < p.skip_drop:
            return np.zeros(0, np.int64)
        weights = self.weights.astype(np.float64)
        sums = np.cumsum(weights if p.sample_type == "weighted" else np.ones(n_trees))
        share = p.rate_drop
        if p.sample_type == "weighted" and sums[-1] > 0:
            share = p.rate_drop * n_trees * weights / sums[-1]
        units = np.ldexp(random_bits(key, np.arange(n_trees)).astype(np.float64), -32)
        trees = np.flatnonzero(units < share)
        if p.one_drop and not trees.size:
            found = np.searchsorted(sums, one * sums[-1], side="right")
            trees = np.array([min(int(found), n_trees - 1)])
        return trees
