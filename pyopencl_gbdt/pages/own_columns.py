"""A member's own columns, sorted: how many of its rows lie in a range of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.pages.cuts import ordered

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
#: A key above those of all numbers.
NO_KEY = np.uint32(0xFFFFFFFF)
#: A range of keys is divided into so many.
PARTS = 256


@dataclass(frozen=True)
class KeyRange:
    """The keys ``first .. first + 2**bits - 1`` of a column.

    Attributes
    ----------
    column : int
    first, bits : int
    """

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
    values : float32 array, shape (n_rows, n_columns)
        Of the rows that count; NaN is missing.
    weight : int64 array, shape (n_rows,), or None
        Integer weights above 0.

    Attributes
    ----------
    present : list of int
        Rows with a value, for each column.
    """

    def __init__(self, values: F32, weight: I64 | None) -> None:
        self.weighted = weight is not None
        self.keys: list[U32] = []
        self._running: list[I64] = []  # weight of the rows before each one, and of all
        self.zeros = np.zeros((values.shape[1], 2), np.uint32)
        for number, of_all in enumerate(values.T):
            there = ~np.isnan(of_all)
            column = of_all[there]
            self.zeros[number] = _zeros(column)
            keys = ordered(column)
            if weight is None:
                keys.sort()
            else:
                order = np.argsort(keys, kind="stable")
                keys = keys[order]
                self._running.append(np.append(0, np.cumsum(weight[there][order])))
            self.keys.append(keys)

    @property
    def present(self) -> list[int]:
        return [keys.size for keys in self.keys]

    def distinct(self) -> I64:
        """Return the number of distinct values of every column."""
        return np.array([_runs(keys).size for keys in self.keys], np.int64)

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
            runs = _runs(mine)
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
    if not places.size:
        return Entries(places, counts)
    order = np.argsort(places, kind="stable")
    places, counts = places[order], counts[order]
    first = np.flatnonzero(np.append(True, places[1:] != places[:-1]))
    return Entries(places[first], np.add.reduceat(counts, first))


def _runs(keys: U32) -> I64:
    """Return the index of the first of each run of equal keys."""
    return np.flatnonzero(np.append(True, keys[1:] != keys[:-1])[: keys.size])


def _zeros(column: F32) -> tuple[int, int]:
    """Return 1 plus the sign bit of the first and of the last zero of a column; 0 for none."""
    zeros = np.flatnonzero(column == 0)
    if not zeros.size:
        return 0, 0
    signs = np.signbit(column[zeros[[0, -1]]])
    return 1 + int(signs[0]), 1 + int(signs[1])
