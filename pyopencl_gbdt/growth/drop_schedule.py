"""Which trees a round of DART drops, and what becomes of their weights; see ``docs/dart.md``."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.numerics.random_numbers import random_bits, stream
from pyopencl_gbdt.numerics.tree_weights import DRAWS
from pyopencl_gbdt.parameters.values import ParameterValues

F32 = npt.NDArray[np.float32]
F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]
#: A round's stream has numbers for all trees, and two more, by 32 bits: -1 for whether trees are
#: dropped at all, and -2 for the one tree.
_BESIDE = 2
#: Random numbers that are computed together, of several rounds: one call of NumPy's for few of them
#: takes as long as for thousands.
_MOST_BITS = 1 << 14
#: Most rounds whose drops are known before they begin.
MOST_AHEAD = 64
#: Rounds of one learning rate after which drops are prepared; of how many rounds at most in one.
_STEADY, _PREPARED = 8, 2


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

    trees: I64
    before: F32
    after: F32
    of_new: np.float32


class DropSchedule:
    """The weights of all trees, round by round, and which trees a round drops.

    They follow from the parameters, the learning rates and random numbers of (seed, round, tree)
    alone, so every device and every member of a team draws the same trees.

    Parameters
    ----------
    round_trees : int
        Trees of a round; those of outputs that split alike are one.
    weights : float32 array
        Those of the trees of earlier rounds.
    """

    def __init__(self, params: ParameterValues, round_trees: int, weights: F32) -> None:
        self.params, self.round_trees = params, round_trees
        self.weights = weights.copy()
        self._first = 0  # the round whose random numbers, trees so far, and drops come first here
        self._units: F64 = np.zeros((0, 0))
        self._n_trees, self._below = np.zeros(0, np.int64), list[I64]()

    def next(self, number: int, rate: float) -> Drop:
        """Choose the trees that a round drops, and give all trees their weights after it.

        ``number``: rounds before this one.
        ``rate``: the learning rate of the round.
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
        new = np.full(self.round_trees, of_new, np.float32)
        self.weights = np.concatenate([self.weights, new])  # others keep those of before
        self.weights[trees] = after = before * kept
        return Drop(trees, before, after, of_new)

    def _drawn_ahead(self, number: int) -> tuple[F64, I64]:
        """Return a round's random numbers, from 0 to 1, and the trees below ``rate_drop``.

        The first two numbers are those beside, and each tree so far has one.
        """
        at, n_trees = number - self._first, self.weights.size
        if not 0 <= at < len(self._below) or self._n_trees[at] != n_trees:
            n_rounds = max(1, _MOST_BITS // (_BESIDE + n_trees + self.round_trees))
            rounds = np.arange(min(n_rounds, MOST_AHEAD))
            self._n_trees = n_trees + rounds * self.round_trees
            keys = stream(self.params.random_state, number + rounds, DRAWS)
            places = np.arange(-_BESIDE, self._n_trees[-1])
            bits = random_bits(keys[:, None], places.astype(np.uint32))
            self._first, at, self._units = number, 0, np.multiply(bits, 2.0**-32)
            found = self._units < self.params.rate_drop
            found &= (places >= 0) & (places < self._n_trees[:, None])
            ends = np.cumsum(np.count_nonzero(found, axis=1))
            self._below = np.split(np.nonzero(found)[1] - _BESIDE, ends[:-1])
        return self._units[at, : _BESIDE + n_trees], self._below[at]

    def _drawn(self, number: int) -> I64:
        """Return the places of the trees that a round drops, ascending."""
        p, n_trees = self.params, self.weights.size
        if not n_trees:
            return np.zeros(0, np.int64)
        units, trees = self._drawn_ahead(number)
        one, skips = units[:_BESIDE]
        if skips < p.skip_drop:
            return np.zeros(0, np.int64)
        weights = None
        if p.sample_type == "weighted":
            weights = self.weights.astype(np.float64)
            if (total := np.cumsum(weights)[-1]) > 0:
                trees = np.flatnonzero(units[_BESIDE:] < p.rate_drop * n_trees * weights / total)
        if p.one_drop and not trees.size:
            sums = np.cumsum(np.ones(n_trees) if weights is None else weights)
            found = np.searchsorted(sums, one * sums[-1], side="right")
            trees = np.array([min(int(found), n_trees - 1)])
        return trees


class Turn(NamedTuple):
    """A round, its learning rate, the trees that it drops, and all weights after it."""

    number: int
    rate: float
    drop: Drop
    weights: F32


class DropsAhead:
    """The drops of a round and of those after it, which go to the device together.

    A copy to the device may wait for all work that was enqueued before. An H200 through OpenCL,
    1 M x 28: the host took 0.725 ms to enqueue a round with a copy, and 0.363 for one without.

    The rounds after it are taken to have its learning rate. If one has another rate, its drop and
    those of later rounds are computed again, of fewer rounds.

    Parameters
    ----------
    weights : float32 array
        Those of the trees of earlier rounds.
    end : int
        The number of the last round, and one more.

    Attributes
    ----------
    weights : float32 array
        Those after the round that was taken last.
    """

    def __init__(self, params: ParameterValues, round_trees: int, weights: F32, end: int) -> None:
        self._given, self._end, self.weights = (params, round_trees), end, weights.copy()
        self._schedule = DropSchedule(*self._given, self.weights)
        self._turns, self._n_listed, self._most = deque[Turn](), 0, 1

    def is_listed(self, number: int, rate: float) -> bool:
        """Tell whether the device knows what a round drops that is the next one."""
        return self._n_listed > 0 and self._turns[0][:2] == (number, rate)

    def turns(self, number: int, rate: float) -> list[Turn]:
        """Return a round and some of those after it."""
        if self._turns and self._turns[0][:2] != (number, rate):
            self._schedule = DropSchedule(*self._given, self.weights)
            self._turns.clear()
            self._most = 1
        if not self._turns:
            self._add(number, rate)
        while len(self._turns) < self._most and self._may_add:
            self._add_next()
        self._most = min(MOST_AHEAD, 2 * self._most)
        return list(self._turns)

    def prepare(self) -> list[Turn]:
        """Compute drops of rounds behind those that are listed, a few of them; return these.

        Else the device would have no work while those of many rounds are computed. The rounds that
        are listed compute equally many: one each, or two while more are listed each time.
        """
        if not self._turns or self._most < _STEADY:
            return []
        missing = self._most - (len(self._turns) - self._n_listed)
        n_left = self._end - 1 - self._turns[-1].number
        each = min(_PREPARED, -(-missing // (self._n_listed + 1)))
        return [self._add_next() for _ in range(min(each, n_left))]

    @property
    def _may_add(self) -> bool:
        return self._turns[-1].number + 1 < self._end

    def _add_next(self) -> Turn:
        last = self._turns[-1]
        return self._add(last.number + 1, last.rate)

    def _add(self, number: int, rate: float) -> Turn:
        drop = self._schedule.next(number, rate)
        self._turns.append(Turn(number, rate, drop, self._schedule.weights))
        return self._turns[-1]

    def listed(self, n_turns: int) -> None:
        """Take note that the device knows the first of these rounds."""
        self._n_listed = n_turns

    def take(self) -> Turn:
        """Return the next round, which the device knows already."""
        turn = self._turns.popleft()
        self._n_listed, self.weights = self._n_listed - 1, turn.weights
        return turn
