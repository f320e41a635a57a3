"""Find columns of whole numbers that float32 cannot tell apart, such as ids.

float32 has every whole number up to 2^24, and rounds larger ones: 16777216 and 16777217 become one
number. Every reader hands its blocks of rows to `Blurred`, so that the same numbers get the same
warning, whoever reads them and wherever blocks begin.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.threads import in_threads, n_threads
from pyopencl_gbdt.lazy_dataclasses import dataclass

#: float32 has every whole number up to this one.
MOST_WHOLE = 2**24
#: float64 has every whole number up to this one.
EXACT = 2**53
#: Numbers remembered of all columns; each takes 16 bytes.
MOST_KEPT = 2**18
#: Numbers from 2^53 on of a text's column whose digits are read, which takes long; the next one
#: counts as not known to be whole. Of so many random ids below 2^63, two are one float32 value.
MOST_SPELLED = 2**13

_NONE, _NAN = np.zeros(0, np.uint64), np.float32("nan")
_INTEGER = re.compile("[+-]?0{0,99}[0-9]{1,20}")
_COLUMN_BITS = np.uint64(32)
#: 2^64 divided by the golden ratio; its multiples are spread evenly.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_MOST_SLOT_BITS = 18

F32 = npt.NDArray[np.float32]
U64 = npt.NDArray[np.uint64]


def has_large(narrow: F32) -> bool:
    """Tell whether float32 values hold a number from 2^24 on, of either sign."""
    if not narrow.size:
        return False
    most = np.fmax.reduce(narrow, axis=None), -np.fmin.reduce(narrow, axis=None)  # skip NaN
    return bool(max(most) >= MOST_WHOLE)


def integer(text: str) -> int | None:
    """Return the integer whose digits a text has; None for other text, such as 1e20."""
    return int(text) if _INTEGER.fullmatch(text) else None


@dataclass(frozen=True)
class Sifted:
    """What a search has to look at of some values, see `Blurred.sift`.

    Attributes
    ----------
    keys : uint64 array, shape (n,)
        Column, and bits of the float32 value, in the order of rows.
    whole : uint64 array, shape (n,)
        The 64 bits of each whole number.
    others : set of int
        Columns that have a large number that is not whole; no later number of theirs is among
        ``keys``.
    """

    keys: U64
    whole: U64
    others: set[int]


class Remembered:
    """Whole numbers that were seen first of all with their float32 value and column.

    Attributes
    ----------
    keys : uint64 array, shape (n,)
        Ascending; as those of `Sifted`.
    whole : uint64 array, shape (n,)
    halvings : int
        How often the sample of remembered keys was halved.
    """

    def __init__(self, keys: U64, whole: U64, halvings: int) -> None:
        while keys.size > MOST_KEPT:
            halvings += 1
            kept = keys * _SPREAD <= _limit(halvings)
            keys, whole = keys[kept], whole[kept]
        self.keys, self.whole, self.halvings = keys, whole, halvings
        self._slot_bits = min(_MOST_SLOT_BITS, keys.size.bit_length() + 7)
        self._slots = np.zeros(1 << self._slot_bits, np.int32)  # where a key may be, by its product
        self._slots[self._slot(keys * _SPREAD)] = np.arange(keys.size)

    def are_news(self, keys: U64, whole: U64) -> npt.NDArray[np.intp]:
        """Return which numbers are in the sample, less most of those that are remembered."""
        product = keys * _SPREAD
        if self.halvings:
            places = np.flatnonzero(product <= _limit(self.halvings))
            keys, whole, product = keys[places], whole[places], product[places]
        else:
            places = np.arange(keys.size)
        if not self.keys.size:
            return places
        at = self._slots[self._slot(product)]
        news: npt.NDArray[np.intp] = places[(self.keys[at] != keys) | (self.whole[at] != whole)]
        return news

    def find(self, keys: U64) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
        """Return where ascending keys are or belong, and which of them are there."""
        at = np.searchsorted(self.keys, keys)
        if not self.keys.size:
            return at, np.zeros(keys.size, bool)
        return at, self.keys[np.minimum(at, self.keys.size - 1)] == keys

    def _slot(self, product: U64) -> npt.NDArray[np.int64]:
        slot: U64 = product >> np.uint64(64 - self.halvings - self._slot_bits)
        return slot.view(np.int64)


_NOTHING_SEEN = Remembered(_NONE, _NONE, 0)


class Blurred:
    """Search for columns of whole numbers that float32 cannot tell apart, block by block.

    A column's search ends at two whole numbers that are equal in float32, or at a large number that
    is not known to be whole. Until then its large numbers are remembered. If those of all columns
    are more than ``MOST_KEPT``, only numbers with sampled float32 values are.

    ``missing``: a number that means "missing", if it is not NaN in the values.

    Attributes
    ----------
    pairs : dict of int to str
        The columns that were found, and two of the numbers of each.
    n_spelled : collections.Counter of int
        How many numbers of each column of a text had their digits read.
    """

    def __init__(self, missing: float = float("nan")) -> None:
        self.pairs: dict[int, str] = {}
        self.n_spelled: Counter[int] = Counter()
        self._others: set[int] = set()  # columns that have a large number that is not whole
        self._seen = _NOTHING_SEEN
        self._missing = _NAN
        if not math.isnan(missing):
            with np.errstate(over="ignore", under="ignore"):
                self._missing = np.float32(missing)

    def is_open(self, column: int) -> bool:
        """Tell whether the search of a column goes on."""
        return column not in self.pairs and column not in self._others

    def add(
        self,
        columns: int | npt.NDArray[np.integer[Any]],
        given: npt.NDArray[Any],
        narrow: F32,
        spelled: Sequence[int | None] = (),
    ) -> None:
        """Search some values: ``sift``, then ``take``."""
        self.take(self.sift(columns, given, narrow, spelled))

    def sift(
        self,
        columns: int | npt.NDArray[np.integer[Any]],
        given: npt.NDArray[Any],
        narrow: F32,
        spelled: Sequence[int | None] = (),
    ) -> Sifted | None:
        """Leave out the values that the search need not look at, without changing it.

        Several threads may sift the blocks that come next, while no other takes any.

        Parameters
        ----------
        columns : int, or int array
            The column of each value, or of each column of ``given``.
        given : array, shape (n,) or (n, n_columns)
            Of any dtype; only integers and floats of more than 32 bits can be blurred.
        narrow : float32 array of that shape
            The same in float32; NaN is missing.
        spelled : sequence of int or None
            The integers that a text has for those floats that are larger than 2^53, in their order;
            None stands for other text. Without it, such floats are not known to be whole.
        """
        kind, size = given.dtype.kind, given.dtype.itemsize
        if not ((kind in "iu" and size >= 4) or (kind == "f" and size >= 8)):
            return None
        columns = np.asarray(columns)
        are_open = self._are_open(columns)
        if not are_open.any() or not has_large(narrow):
            return None
        taken = (np.abs(narrow) >= MOST_WHOLE) & np.isfinite(narrow) & (narrow != self._missing)
        if not are_open.all():
            taken &= are_open
        if len(spelled):
            huge = taken[np.abs(given) >= EXACT]
            spelled = [one for one, is_taken in zip(spelled, huge, strict=True) if is_taken]
        own = np.broadcast_to(columns, given.shape)[taken]
        given, bits = given[taken], narrow[taken].view(np.uint32)
        keys, others = (own.astype(np.uint64) << _COLUMN_BITS) | bits, set[int]()
        if kind == "f":
            whole, is_other = _of_floats(given, spelled)
            if is_other.any():
                before, others = _before(own, is_other)
                keys, whole = keys[before], whole[before]
        else:
            whole = given.astype(np.uint64 if kind == "u" else np.int64).view(np.uint64)
        news = self._seen.are_news(keys, whole)
        return Sifted(keys[news], whole[news], others)

    def take(self, sifted: Sifted | None) -> None:
        """Search what was sifted; call this in the order of rows."""
        if sifted is not None:
            self._search(sifted.keys, sifted.whole)
            self._others |= sifted.others - self.pairs.keys()

    def add_blocks(self, sift: Callable[[int], Sifted | None], starts: Sequence[int]) -> None:
        """Search blocks; several threads sift, once the first block's numbers are remembered.

        Parameters
        ----------
        sift : callable
            Returns what `sift` returns for the block that begins at a row.
        starts : sequence of int
            Where the blocks begin, in the order of rows.
        """
        done, n_next = 0, 1
        while done < len(starts):
            for sifted in in_threads(sift, starts[done : done + n_next]):
                self.take(sifted)
            done, n_next = done + n_next, n_threads()

    def merge(self, later: Blurred) -> None:
        """Take in the search of rows that come after those of this one."""
        for column, pair in later.pairs.items():
            if self.is_open(column):
                self.pairs[column] = pair
        self.take(Sifted(later._seen.keys, later._seen.whole, later._others))

    def _search(self, keys: U64, whole: U64) -> None:
        """Search numbers in the order of rows, beside those that are remembered; remember them."""
        own = self._are_open(keys >> _COLUMN_BITS)
        keys, whole = keys[own], whole[own]
        news = self._seen.are_news(keys, whole)
        if not news.size:
            return
        order = np.argsort(keys[news], kind="stable")
        keys, whole = keys[news][order], whole[news][order]
        begins = np.ones(keys.size, bool)
        begins[1:] = keys[1:] != keys[:-1]
        first = whole[begins][np.cumsum(begins) - 1]
        at, known = self._seen.find(keys)
        first[known] = self._seen.whole[at[known]]
        unlike = np.flatnonzero(whole != first)
        self._pair(keys, first, whole, unlike[np.argsort(order[unlike])])  # in the order of rows
        begins &= ~known
        keys = np.insert(self._seen.keys, at[begins], keys[begins])
        whole = np.insert(self._seen.whole, at[begins], whole[begins])
        if unlike.size:  # a part of the data remembers numbers of other columns, for `merge`
            kept = _are_beside(keys >> _COLUMN_BITS, self.pairs)
            keys, whole = keys[kept], whole[kept]
        self._seen = Remembered(keys, whole, self._seen.halvings)

    def _pair(self, keys: U64, first: U64, second: U64, places: npt.NDArray[np.intp]) -> None:
        """End the search of columns with two numbers that are one in float32."""
        columns, at = np.unique(keys[places] >> _COLUMN_BITS, return_index=True)
        for column, place in zip(columns.tolist(), places[at].tolist(), strict=True):
            pair = [_number(bits[place], keys[place]) for bits in (first, second)]
            self.pairs[column] = f"{pair[0]} and {pair[1]}"

    def _are_open(self, columns: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.bool_]:
        return _are_beside(columns, (*self.pairs, *self._others))


def _are_beside(
    columns: npt.NDArray[np.integer[Any]], closed: Collection[int]
) -> npt.NDArray[np.bool_]:
    if not closed:
        return np.ones(columns.shape, bool)
    return np.isin(columns, np.array([*closed], columns.dtype), invert=True)


def _limit(halvings: int) -> np.uint64:
    limit: np.uint64 = np.uint64((2**64 - 1) >> halvings)
    return limit


def _of_floats(
    given: npt.NDArray[Any], spelled: Sequence[int | None]
) -> tuple[U64, npt.NDArray[np.bool_]]:
    """Return whole numbers as 64 bits, and which values are not whole numbers."""
    huge = np.abs(given) >= EXACT
    is_other = huge | (given != np.rint(given))
    whole = np.where(is_other, 0, given).astype(np.int64).view(np.uint64)
    if len(spelled):
        fits = [one is not None and -(2**63) <= one < 2**64 for one in spelled]
        whole[huge] = np.array([(one or 0) % 2**64 for one in spelled], np.uint64)
        is_other[huge] = np.logical_not(fits)
    return whole, is_other


def _before(
    columns: npt.NDArray[np.integer[Any]], ends: npt.NDArray[np.bool_]
) -> tuple[npt.NDArray[np.bool_], set[int]]:
    """Return which values come before the first end of their column, and the columns with one."""
    places = np.flatnonzero(ends)
    if not places.size:
        return ~ends, set()
    ended, at = np.unique(columns[places], return_index=True)
    near = np.minimum(np.searchsorted(ended, columns), ended.size - 1)
    before = (ended[near] != columns) | (np.arange(columns.size) < places[at][near])
    return before, set(ended.tolist())


def _number(bits: np.uint64, key: np.uint64) -> int:
    """Return the integer of 64 bits that has the sign of the float32 value in a key."""
    is_negative = int(key) >> 31 & 1
    return int(bits) - 2**64 * is_negative
