"""Counts of a column's values over the members of a team: rows in ranges of keys.

``OwnColumns`` counts a member's rows. ``ColumnCounts`` holds the sums over all members, and follows
the rule of ``cuts`` as far as these tell; it asks for the ranges that have to be divided next.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.threads import in_threads
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.numerics.portable_math import ordered
from pyopencl_gbdt.pages.cuts import NO_KEY, CutRule, run_begins, share_end

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
#: A range of keys is divided into so many.
PARTS = 256
#: If at most so many ranges are not single values, all of them are divided: 2 MiB of counts.
#: Columns with as many distinct values are then known after four divisions.
_FEW_RANGES = 1 << 10
#: Members send the values of a range with at most so many rows, which are fewer bytes than counts.
FEW_ROWS = 64
#: A range of 2**8 keys is divided into single ones.
_NARROW = 8
#: Values that become keys at a time: their temporary arrays stay in a processor's cache.
_PIECE = 1 << 15
#: The key of both zeros.
_ZERO = 1 << 31


@dataclass(frozen=True)
class KeyRange:
    """The keys ``first .. first + 2**bits - 1`` of a column."""

    column: int
    first: int
    bits: int

    @property
    def last(self) -> int:
        return self.first + (1 << self.bits) - 1

    @property
    def part_bits(self) -> int:
        """Bits of each of the ``PARTS`` ranges that this one is divided into."""
        return max(self.bits - 8, 0)


@dataclass(frozen=True)
class Entries:
    """Distinct keys of some ranges, range by range.

    Attributes
    ----------
    places : int64 array
        ``2**32`` times the number of the range, plus the key; ascending.
    counts : int64 array, shape (n, 1) or (n, 2)
        Rows with this key, and their integer weight if there are weights.
    """

    places: I64
    counts: I64


class OwnColumns:
    """Some columns of a member's rows, as sorted integer keys.

    Parameters
    ----------
    columns : float32 array, shape (n_columns, n_rows)
        The values of the rows that count; NaN is missing. Keys take the place of values.
    weight : int64 array, shape (n_rows,), or None
        Integer weights above 0.
    """

    def __init__(self, columns: F32, weight: I64 | None) -> None:
        self.weighted = weight is not None
        self._running: list[I64] = []  # weight of the rows before each one, and of all
        self.zeros = np.array(in_threads(_zeros, list(columns)), np.uint32).reshape(-1, 2)
        if weight is None:
            self.keys: list[U32] = in_threads(_sorted_keys, list(columns))
            return
        self.keys = []
        for column in columns:  # one after the other: each takes 60 bytes a row
            own = weight[~np.isnan(column)]
            keys = _keys(column)
            order = np.argsort(keys, kind="stable")
            self.keys.append(keys[order])
            self._running.append(np.append(0, np.cumsum(own[order])))

    def distinct(self) -> I64:
        """Return the number of distinct values of every column."""
        return np.array([run_begins(keys).size for keys in self.keys], np.int64)

    def counts(self, ranges: Sequence[KeyRange]) -> I64:
        """Return rows, and weights if there are any, in each part of the ranges.

        Returns
        -------
        int64 array, shape (n_ranges, PARTS, 1) or (n_ranges, PARTS, 2)
        """
        found = np.zeros((len(ranges), PARTS, 1 + self.weighted), np.int64)
        for number, asked in enumerate(ranges):
            parts = 1 << (asked.bits - asked.part_bits)
            last = asked.first + (np.arange(parts + 1) << asked.part_bits) - 1
            places = np.zeros(parts + 1, np.int64)
            keys = self.keys[asked.column]
            places[0] = np.searchsorted(keys, np.uint32(asked.first))
            places[1:] = np.searchsorted(keys, last[1:].astype(np.uint32), side="right")
            found[number, :parts, 0] = np.diff(places)
            if self.weighted:
                found[number, :parts, 1] = np.diff(self._running[asked.column][places])
        return found

    def entries(self, ranges: Sequence[KeyRange]) -> Entries:
        """Return the distinct keys of the ranges."""
        places, counts = [np.zeros(0, np.int64)], [np.zeros((0, 1 + self.weighted), np.int64)]
        for number, asked in enumerate(ranges):
            keys = self.keys[asked.column]
            begin = int(np.searchsorted(keys, np.uint32(asked.first)))
            end = int(np.searchsorted(keys, np.uint32(asked.last), side="right"))
            mine = keys[begin:end]
            runs = run_begins(mine)
            ends = np.append(runs[1:], mine.size)[: runs.size]
            places.append((number << 32) + mine[runs].astype(np.int64))
            rows = (ends - runs)[:, None]
            if self.weighted:
                running = self._running[asked.column][begin:]
                rows = np.column_stack([rows, running[ends] - running[runs]])
            counts.append(rows)
        return Entries(np.concatenate(places), np.concatenate(counts))

    def following(self, column: int, keys: U32) -> U32:
        """Return the smallest key above each one; ``NO_KEY`` where there is none."""
        own = self.keys[column]
        places = np.searchsorted(own, keys, side="right")
        found = np.full(keys.size, NO_KEY)
        there = places < own.size
        found[there] = own[places[there]]
        return found


def merged(parts: Sequence[Entries]) -> Entries:
    """Return the entries of all members: each key once, with the sums of its counts."""
    places = np.concatenate([part.places for part in parts])
    counts = np.concatenate([part.counts for part in parts])
    order = np.argsort(places, kind="stable")
    places, counts = places[order], counts[order]
    first = run_begins(places)
    return Entries(places[first], np.add.reduceat(counts, first) if first.size else counts)


def _zeros(column: F32) -> tuple[int, int]:
    """Return 1 plus the sign bit of the first and of the last zero of a column; 0 for none."""
    zeros = column == 0
    if not zeros.any():
        return 0, 0
    first, last = column[zeros.argmax()], column[zeros.size - 1 - zeros[::-1].argmax()]
    return 1 + int(np.signbit(first)), 1 + int(np.signbit(last))


def _keys(column: F32) -> U32:
    """Return the keys of a column's present values, in the memory of the column."""
    keys, end = column.view(np.uint32), 0
    for begin in range(0, column.size, _PIECE):
        piece = column[begin : begin + _PIECE]
        own = ordered(piece[~np.isnan(piece)])
        keys[end : end + own.size] = own
        end += own.size
    return keys[:end]


def _sorted_keys(column: F32) -> U32:
    """Return the sorted keys of a column's present values, in the memory of the column."""
    keys = _keys(column)
    keys.sort()
    return keys


class ColumnCounts:
    """The counts of a column that all members know, and the borders that follow from them.

    Parameters
    ----------
    total : int64 array, shape (1,) or (2,)
        Rows with a value, and their weight if there are weights.
    n_counted : int
        Rows of a weight above 0, with and without a value.

    Attributes
    ----------
    zeros : tuple of bool
        Whether the first and the last zero of all rows are -0.
    """

    def __init__(self, total: I64, max_bin: int, n_counted: int, rule: CutRule) -> None:
        self.present = int(total[0])
        self.most = rule.most_bins(max_bin, some_missing=self.present < n_counted)
        self.every = self.most  # with at most so many values, each has a bin
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
        kept = np.ones(self._first.size, np.bool_)
        kept[np.searchsorted(self._first, self._replaced)] = False
        self._parts.append((self._first[kept], self._bits[kept], self._counts[kept]))
        first, bits, counts = map(np.concatenate, zip(*self._parts, strict=True))
        order = np.argsort(first, kind="stable")  # which merges sorted parts
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
        few = self._bits.size <= self.every
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
        singles = self._counts[self._bits == 0, 0]
        usual = float(np.median(singles)) if singles.size else 1.0  # rows of a value
        unknown: dict[int, None] = {}
        while done < total and bins < self.most:
            goal, at = share_end(weight, done, self.most - bins)
            done = int(weight[at])
            if self._bits[at]:
                unknown[at] = None
                bits, values = int(self._bits[at]), float(self._counts[at, 0]) / usual
                # it has a single value, or one with more rows than is usual, most likely
                heavy = bits <= _NARROW and not 2 <= values <= 2 << bits
                beyond = int(self._counts[at, -1] / (2 * values))  # bins end half a value late
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

        ``found``: the next key above each of ``without_successor``.
        """
        if not self._keys:
            return np.zeros(0, np.float32), np.zeros(0, np.float32)
        keys = np.array(self._keys, np.uint32)
        behind = np.minimum(np.searchsorted(self._first, keys) + 1, self._bits.size - 1)
        following = self._first[behind].astype(np.uint32)
        following[self._bits[behind] > 0] = found
        below, above = self.values(keys, first=False), self.values(following, first=True)
        above[-1] = below[-1]
        return below, above

    def values(self, keys: U32, *, first: bool) -> F32:
        """Return the values of keys; a zero has the sign of the first or the last zero."""
        found = _values(keys)
        found[keys == _ZERO] = -0.0 if self.zeros[0 if first else 1] else 0.0
        return found

    def fullest(self, n_rows: int) -> int:
        """Return the bin with the most rows; ``n_bins`` if more of ``n_rows`` are missing."""
        rows = np.append(np.diff([0, *self._rows]), n_rows - self.present)
        return int(rows.argmax()) if rows.max() > rows[-1] else len(self._keys)


def _values(keys: U32) -> F32:
    """Return the values of keys; 0 for both zeros."""
    return np.where(keys >> 31, keys & np.uint32(_ZERO - 1), ~keys).view(np.float32)
