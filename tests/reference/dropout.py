"""Twin of margins of trees with weights, and of the choice of trees that a round drops.

A row's sum is an integer, so trees are taken out and put back without rounding; ``docs/dart.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.numerics.random_numbers import random_bits, stream
from pyopencl_gbdt.numerics.tree_weights import DRAWS
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.reference.grow import Node


def term(weight: float, leaf: np.float32) -> int:
    """Return what a leaf adds to a sum: round(float32(weight * leaf) * 2^32), ties to even."""
    with np.errstate(under="ignore"):
        return round(float(np.float32(weight) * np.float32(leaf)) * 2.0**32)


def margin(start: np.float32, total: int) -> np.float32:
    """Return the margin of a sum: three parts of 21 bits, added in float32, the last ones first."""
    size = abs(total)
    top = np.float32(size >> 42) * np.float32(2.0**10)
    middle = np.float32((size >> 21) & 0x1FFFFF) * np.float32(2.0**-11)
    bottom = np.float32(size & 0x1FFFFF) * np.float32(2.0**-32)
    summed = np.float32(top + np.float32(middle + bottom))
    found: np.float32 = np.float32(start) + (-summed if total < 0 else summed)
    return found


def schedule(
    bits: Callable[[int, int], int],
    rates: Sequence[float],
    n_new: int,
    earlier: Sequence[float] = (),
    *,
    rate_drop: float,
    skip_drop: float = 0.0,
    one_drop: bool = False,
    sample_type: str = "uniform",
    normalize_type: str = "tree",
    first: int = 0,
) -> tuple[list[list[int]], list[np.float32]]:
    """Return the dropped trees of each round, and the weights after all; as XGBoost's ``Dart``.

    Parameters
    ----------
    bits : callable
        Returns the random number of a round and a place, 0 <= x < 2^32.
    rates : list of float
        The learning rate of each round.
    n_new : int
        Trees of a round.
    earlier : sequence of float
        Weights of earlier trees.
    first : int
        Rounds before the first one.
    """
    f32, dropped = np.float32, list[list[int]]()
    weights: list[np.float32] = [f32(one) for one in earlier]
    for number, rate in enumerate(rates, first):
        drop, total = list[int](), sum(map(float, weights))
        if not bits(number, 2**32 - 1) / 2**32 < skip_drop:
            for place, weight in enumerate(weights):
                share = rate_drop
                if sample_type == "weighted" and total > 0:
                    share = rate_drop * len(weights) * float(weight) / total
                if bits(number, place) / 2**32 < share:
                    drop.append(place)
            if one_drop and not drop and weights:
                wanted, reached = bits(number, 2**32 - 2) / 2**32, 0.0
                sizes = [float(w) if sample_type == "weighted" else 1.0 for w in weights]
                for place, size in enumerate(sizes):
                    reached += size
                    if reached > wanted * sum(sizes) or place == len(sizes) - 1:
                        drop = [place]
                        break
        each, n_dropped = f32(rate) / f32(n_new), f32(len(drop))
        factor = of_new = f32(1)
        if drop and normalize_type == "forest":
            factor = of_new = f32(1) / (f32(1) + each)
        elif drop:
            factor, of_new = n_dropped / (n_dropped + each), f32(1) / (n_dropped + each)
        for place in drop:
            weights[place] = f32(weights[place] * factor)
        weights += [of_new] * n_new
        dropped.append(drop)
    return dropped, weights


def drawn(seed: int) -> Callable[[int, int], int]:
    """Return what gives the random number of a round and a place."""
    return lambda number, place: int(random_bits(stream(seed, number, DRAWS), place)[0])


class Dropout:
    """The margins that rounds take gradients of: each is a new sum over all trees that are left.

    Parameters
    ----------
    params : Parameters
    start : float32 array, shape (n_outputs, n_rows)
        Margins before the first tree.
    alike : bool
        Whether trees of all outputs split alike: rounds drop them together, with one weight.
    """

    def __init__(
        self, params: Parameters, start: npt.NDArray[np.float32], *, alike: bool = False
    ) -> None:
        self.params, self.start = params, start.copy()
        n_outputs, self._round = len(start), len(start) * params.num_parallel_tree
        self._n_new = self._round // (n_outputs if alike else 1)
        self._trees: list[tuple[int, npt.NDArray[np.float32]]] = []

    def _schedule(self, n_rounds: int) -> tuple[list[list[int]], list[np.float32]]:
        p = self.params
        return schedule(
            drawn(p.random_state), [p.learning_rate] * n_rounds,
            self._n_new, rate_drop=p.rate_drop, skip_drop=p.skip_drop,
            one_drop=p.one_drop, sample_type=p.sample_type, normalize_type=p.normalize_type,
        )  # fmt: skip

    def weights(self, n_rounds: int) -> tuple[float, ...]:
        """Return the weights of all trees after some rounds."""
        return tuple(map(float, self._schedule(n_rounds)[1]))

    def begin_round(self, number: int) -> npt.NDArray[np.float32]:
        """Return the margins without the trees that a round drops."""
        dropped, weights = self._schedule(number + 1)[0][-1], self.weights(number)
        sums = [[0] * self.start.shape[1] for _ in self.start]
        for tree, (output, values) in enumerate(self._trees):
            place = tree // self._round * self._n_new + tree % self._round % self._n_new
            if place not in dropped:
                for row, value in enumerate(values):
                    sums[output][row] += term(weights[place], value)
        found = [list(map(margin, *one)) for one in zip(self.start, sums, strict=True)]
        margins: npt.NDArray[np.float32] = np.array(found, np.float32).reshape(self.start.shape)
        return margins

    def finish(self, output: int, leaves: Sequence[Node]) -> None:
        """Keep the value of every row's leaf in a new tree."""
        values = np.zeros(self.start.shape[1], np.float32)
        for leaf in leaves:
            values[leaf.rows] = leaf.value
        self._trees.append((output, values))
