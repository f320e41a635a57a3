"""The games whose mean contributions are: one, or one for each background row."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.data.budget import check_free
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.prediction.contributions.path_factors import PathFactors, path_factors
from pyopencl_gbdt.prediction.contributions.quantum import bit_length, divided
from pyopencl_gbdt.prediction.packing import packed

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
#: Sums over so many background rows, in bits, are sure to fit 64 bits.
_BACKGROUND_BITS = 10
#: Nodes times rows of a background that are decided together.
_MOST_WALKS = 2**20


class Games:
    """What becomes of a missing feature: the training rows' shares, or each background row's value.

    Attributes
    ----------
    bits : int
        k: contributions are multiples of 2^-k.
    """

    def __init__(self, ensemble: Ensemble, background: F32 | SparseMatrix | None) -> None:
        self._factors = path_factors(ensemble)
        self._right, spare = None, 0
        if background is not None:
            n_rows, inner = background.shape[0], self._factors.inner
            check_free(
                n_rows * inner.size, f"the ways of {n_rows} background rows",
                "give fewer of them; a hundred are usual",
            )  # fmt: skip
            walk = packed(ensemble).host_walk
            self._right = np.empty((n_rows, inner.size), np.bool_)
            for rows, block in walk.blocks(background, max(1, _MOST_WALKS // max(1, inner.size))):
                self._right[rows] = walk.goes_right(block, inner).T
            spare = max(0, bit_length(n_rows) - _BACKGROUND_BITS)
        self._spare = spare
        self.bits = self._factors.bits - spare

    def __iter__(self) -> Iterator[PathFactors]:
        if self._right is None:
            yield self._factors
            return
        for right in self._right:
            yield self._factors.for_row(right, self._spare)

    @property
    def only(self) -> PathFactors | None:
        """The game, if there is one."""
        return self._factors if self._right is None else None

    def mean(self, sums: Callable[[PathFactors], I64]) -> I64:
        """Return the mean over games of sums in quanta, rounded to the nearest, ties to even."""
        if self._right is None:
            return sums(self._factors)
        found: I64 = np.zeros(1, np.int64)
        for game in self:
            found = found + sums(game)
        return divided(found, len(self._right))

    def base(self, trees: I64) -> I64:
        """Return the mean of the trees of each output: int64 (n_outputs,)."""
        roots = self._factors.begin[:-1][trees]
        return self.mean(lambda game: game.mean_quanta[roots].sum(axis=1))
