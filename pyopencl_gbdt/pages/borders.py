"""The rule of cut points, applied to counts of rows in ranges of a column's values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
#: If at most so many ranges are no single values, all of them are divided: 2 MiB of counts. Columns
#: with as many distinct values are then known after four divisions.
_FEW_RANGES = 1 << 10
#: Members send the values of a range with at most so many rows, which are fewer bytes than counts.
FEW_ROWS = 64
#: A range of 2**8 keys is divided into single ones.
_NARROW = 8
#: The key of both zeros.
_ZERO = 1 << 31


class Known:
    """What all members know of a column, and the borders that follow from it.

    Parameters
    ----------
    total : int64 array, shape (1,) or (2,)
        Rows with a value, and their weight if there are weights.
    max_bin : int
    n_counted : int
        Rows of a weight above 0, with and without a value.

    Attributes
    ----------
    zeros : tuple of bool
        Whether the first and the last zero of all rows are -0.
    """

    def __init__(self, total: I64, max_bin: int, n_counted: int) -> None:
        self.present = int(total[0])
        # one of the 256 codes of a byte is for missing values
        self.most = 255 if max_bin == 256 and self.present < n_counted else max_bin
        there = int(self.present > 0)
        self._first, self._bits = np.zeros(there, np.int64), np.full(there, 32)
        self._counts = total[None, :][:there]
        self.zeros = False, False
        self._keys: list[int] = []  # the last key of each bin, the rows up to its end
        self._rows: list[int] = []
        self._done = 0  # weight up to the last border
        self._parts: list[tuple[I64, I64, I64]] = []
        self._replaced: list[int] = []

    # -- ranges ----------------------------------------------------------------------------
    def rows_in(self, first: int) -> int:
        """Return the rows in the known range that begins with a key."""
        return int(self._counts[np.searchsorted(self._first, first), 0])

    def put(self, first: int, keys: I64, bits: int, counts: I64) -> None:
        """Replace a range by its parts that have rows; takes effect with ``settle``.

        Parameters
        ----------
        first : int
            First key of the range.
        keys : int64 array, shape (n,)
            First key of each part, ascending.
        bits : int
            A part has ``2**bits`` keys.
        counts : int64 array, shape (n, 1) or (n, 2)
        """
        self._replaced.append(first)
        self._parts.append((keys, np.full(keys.size, bits), counts))

    def settle(self) -> None:
        """Put the parts of all replaced ranges in order."""
        if not self._parts:
            return
        kept = ~np.isin(self._first, self._replaced)
        self._parts.append((self._first[kept], self._bits[kept], self._counts[kept]))
        first, bits, counts = map(np.concatenate, zip(*self._parts, strict=True))
        order = np.argsort(first)
        self._first, self._bits, self._counts = first[order], bits[order], counts[order]
        self._parts, self._replaced = [], []

    # -- borders ---------------------------------------------------------------------------
    def asked(self) -> list[tuple[int, int]]:
        """Find borders as far as they are known; return the ranges to divide next.

        Returns
        -------
        list of (int, int)
            First key and bits of each range; empty if all borders are found.
        """
        open_ranges = np.flatnonzero(self._bits)
        few = self._bits.size <= self.most
        if open_ranges.size and (few or open_ranges.size <= _FEW_RANGES):
            return self._ranges(open_ranges)
        if few:  # a bin for each value
            self._keys = [int(key) for key in self._first]
            self._rows = [int(rows) for rows in self._counts[:, 0].cumsum()]
            return []
        return self._ranges(self._next_borders())

    def _ranges(self, places: I64) -> list[tuple[int, int]]:
        return [(int(self._first[at]), int(self._bits[at])) for at in places]

    def _next_borders(self) -> I64:
        """Apply the rule; return the ranges in which it needs borders that are unknown.

        Behind the first unknown border, it guesses where the others lie.
        """
        rows, weight = self._counts[:, 0].cumsum(), self._counts[:, -1].cumsum()
        total, done, bins = int(weight[-1]), self._done, len(self._keys)
        unknown: dict[int, None] = {}
        while done < total and bins < self.most:
            goal = done + -(-(total - done) // (self.most - bins))
            at = int(np.searchsorted(weight, goal))
            done = int(weight[at])
            if self._bits[at]:
                unknown[at] = None
                # a narrow range with many rows has one heavy value, most likely
                heavy = self._bits[at] <= _NARROW and self._counts[at, 0] > FEW_ROWS
                rows_here, weight_here = self._counts[at, 0], self._counts[at, -1]
                beyond = int(weight_here // (2 * rows_here))  # bins end half a row late
                done = done if heavy else min(done, goal + beyond)
            elif not unknown:
                self._keys.append(int(self._first[at]))
                self._rows.append(int(rows[at]))
                self._done = done
            bins += 1
        return np.array(list(unknown), np.int64)

    # -- results ---------------------------------------------------------------------------
    def without_successor(self) -> U32:
        """Return the last keys of bins behind which lies a range whose first key is unknown."""
        behind = np.searchsorted(self._first, self._keys) + 1
        behind = np.minimum(behind, self._bits.size - 1)
        return np.array(self._keys, np.uint32)[self._bits[behind] > 0]

    def sides(self, found: U32) -> tuple[F32, F32]:
        """Return the values on both sides of every border, as ``Cuts`` has them.

        Parameters
        ----------
        found : uint32 array
            The next key above each of ``without_successor``.
        """
        if not self._keys:
            return np.zeros(0, np.float32), np.zeros(0, np.float32)
        keys = np.array(self._keys, np.uint32)
        behind = np.minimum(np.searchsorted(self._first, keys) + 1, self._bits.size - 1)
        following = self._first[behind].astype(np.uint32)
        following[self._bits[behind] > 0] = found
        first_zero, last_zero = (np.float32(-0.0 if minus else 0.0) for minus in self.zeros)
        below, above = _values(keys), _values(following)
        below[keys == _ZERO], above[following == _ZERO] = last_zero, first_zero
        above[-1] = below[-1]
        return below, above

    def n_bins(self) -> int:
        return len(self._keys)

    def fullest(self, n_rows: int) -> int:
        """Return the bin with the most rows; ``n_bins`` if more of ``n_rows`` are missing."""
        rows = np.append(np.diff([0, *self._rows]), n_rows - self.present)
        return int(rows.argmax()) if rows.max() > rows[-1] else len(self._keys)


def _values(keys: U32) -> F32:
    """Return the values of keys; 0 for both zeros."""
    return np.where(keys >> 31, keys & np.uint32(_ZERO - 1), ~keys).view(np.float32)
