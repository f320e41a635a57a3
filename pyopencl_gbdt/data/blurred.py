"""Find columns of whole numbers that float32 cannot tell apart, such as ids.

float32 has every whole number up to 2^24, and rounds larger ones: 16777216 and 16777217 become one
number. Every reader hands its blocks of rows to `Blurred`, so that the same numbers get the same
warning, whoever reads them and wherever blocks begin.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

#: float32 has every whole number up to this one.
MOST_WHOLE = 2**24
#: float64 has every whole number up to this one.
EXACT = 2**53
#: Numbers remembered of all columns; each takes 16 bytes.
MOST_KEPT = 2**18

_NONE, _NAN = np.zeros(0, np.uint64), np.float32("nan")
_INTEGER = re.compile("[+-]?0{0,99}[0-9]{1,20}")
_COLUMN_BITS = np.uint64(32)
#: 2^64 divided by the golden ratio; its multiples are spread evenly.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)

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


class Blurred:
    """Search for columns of whole numbers that float32 cannot tell apart, block by block.

    A column's search ends at two whole numbers that are equal in float32, or at a large number that
    is not known to be whole. Until then its large numbers are remembered. If those of all columns
    are more than ``MOST_KEPT``, only numbers with sampled float32 values are.

    Parameters
    ----------
    missing : float
        A number that means "missing", if it is not NaN in the values.

    Attributes
    ----------
    pairs : dict of int to str
        The columns that were found, and two of the numbers of each.
    """

    def __init__(self, missing: float = float("nan")) -> None:
        self.pairs: dict[int, str] = {}
        self._others: set[int] = set()  # columns that have a large number that is not whole
        self._keys: U64 = _NONE  # column, and bits of the float32 value; ascend
        self._whole: U64 = _NONE  # the first number of each key
        self._halvings = 0  # of the sample
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
        """Search some values.

        Parameters
        ----------
        columns : int, or int array of shape (n,)
            The column of each value.
        given : array, shape (n,)
            Of any dtype; only integers and floats of more than 32 bits can be blurred.
        narrow : float32 array, shape (n,)
            The same in float32; NaN is missing.
        spelled : sequence of int or None
            The integers that a text has for those floats that are larger than 2^53, in their order;
            None stands for other text. Without it, such floats are not known to be whole.
        """
        kind, size = given.dtype.kind, given.dtype.itemsize
        if not ((kind in "iu" and size >= 4) or (kind == "f" and size >= 8)):
            return
        if isinstance(columns, int) and not self.is_open(columns):
            return
        if not has_large(narrow):
            return
        taken = (np.abs(narrow) >= MOST_WHOLE) & np.isfinite(narrow) & (narrow != self._missing)
        if not isinstance(columns, int):
            taken &= self._are_open(columns)
        places = np.flatnonzero(taken)
        if len(spelled):
            huge = np.flatnonzero(np.abs(given) >= EXACT)
            spelled = [one for one, is_taken in zip(spelled, taken[huge], strict=True) if is_taken]
        own = np.broadcast_to(columns, given.shape)[places]
        given, narrow = given[places], np.ascontiguousarray(narrow[places])
        keys = (own.astype(np.uint64) << _COLUMN_BITS) | narrow.view(np.uint32)
        if kind == "u":
            self._search(keys, given.astype(np.uint64))
        elif kind == "i":
            self._search(keys, given.astype(np.int64).view(np.uint64))
        else:
            whole, is_other = _of_floats(given, spelled)
            before, others = _before(own, is_other)
            self._search(keys[before], whole[before])
            self._others |= others - self.pairs.keys()

    def merge(self, later: Blurred) -> None:
        """Take in the search of rows that come after those of this one."""
        for column, pair in later.pairs.items():
            if self.is_open(column):
                self.pairs[column] = pair
        own = self._are_open(later._keys >> _COLUMN_BITS)
        self._search(later._keys[own], later._whole[own])
        self._others |= later._others - self.pairs.keys()

    def _search(self, keys: U64, whole: U64) -> None:
        """Search numbers in the order of rows, beside those that are remembered; remember them."""
        if not keys.size:
            return
        if (keys == keys[0]).all() and (whole == whole[0]).all():  # such as a mark of no value
            keys, whole = keys[:1], whole[:1]
        kept = self._are_sampled(keys)
        keys = np.concatenate([self._keys, keys[kept]])
        whole = np.concatenate([self._whole, whole[kept]])
        order = np.argsort(keys, kind="stable")
        keys, whole = keys[order], whole[order]
        begins = np.ones(keys.size, bool)
        begins[1:] = keys[1:] != keys[:-1]
        first = whole[begins][np.cumsum(begins) - 1]
        unlike = np.flatnonzero(whole != first)
        unlike = unlike[np.argsort(order[unlike])]  # in the order of rows again
        columns, at = np.unique(keys[unlike] >> _COLUMN_BITS, return_index=True)
        for column, place in zip(columns.tolist(), unlike[at].tolist(), strict=True):
            pair = [_number(bits[place], keys[place]) for bits in (first, whole)]
            self.pairs[column] = f"{pair[0]} and {pair[1]}"
        kept = begins & self._are_open(keys >> _COLUMN_BITS)
        self._keys, self._whole = keys[kept], whole[kept]
        while self._keys.size > MOST_KEPT:
            self._halvings += 1
            kept = self._are_sampled(self._keys)
            self._keys, self._whole = self._keys[kept], self._whole[kept]

    def _are_open(self, columns: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.bool_]:
        closed = np.array([*self.pairs, *self._others], columns.dtype)
        return np.isin(columns, closed, invert=True)

    def _are_sampled(self, keys: U64) -> npt.NDArray[np.bool_]:
        kept: npt.NDArray[np.bool_] = keys * _SPREAD <= np.uint64((2**64 - 1) >> self._halvings)
        return kept


def _of_floats(
    given: npt.NDArray[Any], spelled: Sequence[int | None]
) -> tuple[U64, npt.NDArray[np.bool_]]:
    """Return whole numbers as 64 bits, and where there is none."""
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
