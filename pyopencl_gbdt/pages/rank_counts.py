"""XGBoost's cut points from counts over the members of a team; see ``cuts.Ranks``."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.pages.column_counts import ColumnCounts
from pyopencl_gbdt.pages.cuts import CutRule, Ranks

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]


class RankCounts(ColumnCounts):
    """The counts of a column, and bins that begin at the values in which ranks lie.

    Ranks are known as soon as the first and the last value are; until then, the ranges that hold
    these tell about where, so that all ranges are asked for at once. ``_keys`` holds the first key
    of each bin but the first, then the last value's.
    """

    def __init__(self, total: I64, max_bin: int, n_counted: int, rule: CutRule) -> None:
        super().__init__(total, max_bin, n_counted, rule)
        self.every = self.most + 1

    def asked(self) -> list[tuple[int, int]]:
        """Find borders as far as they are known; return the ranges to divide next."""
        asked = super().asked()
        if not asked and self._bits.size <= self.every:
            n = self._first.size
            inner = np.arange(1, min(n, self.most))
            self._begin(np.append(inner, np.arange(n)[-1:]), self._counts[:, 0].cumsum())
        return asked

    def _next_borders(self) -> I64:
        inner = Ranks.inner_ends(self._counts[:, -1].cumsum(), self.most)
        places = np.unique(np.append(inner, [0, self._bits.size - 1]))
        unknown: I64 = places[self._bits[places] > 0]
        if not unknown.size:
            self._begin(np.append(inner, self._bits.size - 1), self._counts[:, 0].cumsum())
        return unknown

    def _begin(self, places: npt.NDArray[np.int_], rows: I64) -> None:
        """Let bins begin at all of these values but the last one, which ends the last bin."""
        self._keys = [int(key) for key in self._first[places]]
        self._rows = [int(rows[place - 1]) for place in places[:-1]] + [int(n) for n in rows[-1:]]

    def without_successor(self) -> U32:
        """Return no keys: thresholds are first values of bins, which are known."""
        return np.zeros(0, np.uint32)

    def sides(self, found: U32) -> tuple[F32, F32]:
        """Return the thresholds and the last value, as both sides."""
        if not self._keys:
            return np.zeros(0, np.float32), np.zeros(0, np.float32)
        values = self.values(np.array(self._keys, np.uint32), first=True)
        values[-1] = self.values(np.array(self._keys[-1:], np.uint32), first=False)[0]
        return values, values
