"""Categorical columns: which they are, their levels, and the codes of rows."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.budget import check_free
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import plural, show

if TYPE_CHECKING:
    from pyopencl_gbdt.data.categories.columns import Column

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
#: The code of a missing value. A level that training has not seen has the number of levels.
NO_LEVEL = -1
#: About what a level takes, in bytes: a string, its place in a list, and in a dictionary.
PER_LEVEL = 200
#: The bits of a cell whose level training has not seen: a NaN, so that trees take it for missing.
UNSEEN = 0x7FC00CA7
#: float32 counts one by one up to this code; what the bits of a cell of a larger code have more.
_COUNTED, _MORE = 2**24, 0x4B800000 - 2**24


@dataclass(frozen=True, eq=False)
class Levels:
    """The levels of a categorical column.

    Attributes
    ----------
    values : int64 array, or object array of str, shape (n_levels,)
        Distinct and ascending; the code of a level is its index. Strings ascend by code points.
    """

    values: npt.NDArray[Any]

    @property
    def n_levels(self) -> int:
        return int(self.values.size)

    @property
    def are_strings(self) -> bool:
        """Whether the levels are strings, not whole numbers."""
        return self.values.dtype.kind == "O"

    @property
    def kind(self) -> str:
        """What the levels are, in the words of messages."""
        return "strings" if self.are_strings else "whole numbers"

    def wrong(self) -> str:
        """Return what is wrong with the values; empty if they are distinct and ascend."""
        values = self.values
        if not isinstance(values, np.ndarray) or values.ndim != 1:
            return "has no array of one dimension"
        if self.are_strings:
            listed = values.tolist()
            if not all(type(one) is str for one in listed):
                return "mixes strings with other types"
            good = all(map(operator.lt, listed, listed[1:]))
        elif values.dtype != np.int64:
            return f"has dtype {values.dtype}"
        else:
            good = bool((values[1:] > values[:-1]).all())
        return "" if good else "does not ascend"

    def suits(self, values: npt.NDArray[Any]) -> bool:
        """Tell whether these values are of the same kind, or one of both is empty."""
        same = (values.dtype.kind == "O") == self.are_strings
        return same or not values.size or not self.n_levels

    def encode(self, column: npt.NDArray[Any]) -> I32:
        """Return the code of each element, shape (n_rows,); NO_LEVEL if it is not a level."""
        if not self.n_levels or not column.size:
            return np.full(column.shape, NO_LEVEL, np.int32)
        if self.are_strings:
            codes = map(self._code_of.get, column.tolist(), [NO_LEVEL] * column.size)
            return np.fromiter(codes, np.int32, column.size)
        place = np.minimum(np.searchsorted(self.values, column), self.n_levels - 1)
        return np.where(self.values[place] == column, place, NO_LEVEL).astype(np.int32)

    @cached_property
    def _code_of(self) -> dict[str, int]:
        return dict(zip(self.values.tolist(), range(self.n_levels), strict=True))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Levels):
            return NotImplemented
        same_kind = self.are_strings == other.are_strings
        return self is other or (same_kind and np.array_equal(self.values, other.values))

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        return {"values": self.values}

    def __repr__(self) -> str:
        few = ", ".join(map(repr, self.values[:3].tolist()))
        return f"Levels({self.n_levels}: {few}{', ...' if self.n_levels > 3 else ''})"


#: The levels of each categorical column, by the column's number.
Categories = Mapping[int, Levels]


def encode_column(
    column: Column, where: str, levels: Levels | None = None, missing: float = float("nan")
) -> tuple[Levels, I32]:
    """Return the levels of a column and the code of each row.

    ``levels``: the levels of training; None takes those that the rows have.
    ``missing``: a number that means "missing".

    Returns
    -------
    levels : Levels
    codes : int32 array, shape (n_rows,)
        NO_LEVEL where a value is missing; the number of levels where it is another value.

    Raises
    ------
    DataError
        The column mixes types, or has another type than in training.
    """
    from pyopencl_gbdt.data.categories.columns import clean

    used = np.zeros(len(column.distinct) + 1, np.bool_)
    used[column.places] = True
    of_use, values = clean(column, used[:-1], where, wanted=None if levels is None else levels.kind)
    if not np.isnan(missing) and values.dtype.kind != "O":
        of_use, values = of_use[values != missing], values[values != missing]
    table = np.full(used.size, NO_LEVEL, np.int32)  # the last entry is that of missing values
    if levels is None:
        check_free(
            PER_LEVEL * values.size,
            f"{where} has {values.size} levels, whose tables",
            "merge rare levels, or leave the column out",
        )
        levels, table[of_use] = _levels_of(values)
    elif levels.suits(values):
        if column.is_text:  # text that spells no number is not a level of numbers
            table[:-1] = levels.n_levels
        table[of_use] = _or_unseen(levels.encode(values), levels)
    else:
        raise _other_kind(where, levels, values)
    return levels, table[column.places]


def _levels_of(values: npt.NDArray[Any]) -> tuple[Levels, I32]:
    """Return the sorted levels of values, and each value's code."""
    from pyopencl_gbdt.data.categories.columns import as_objects

    if values.dtype.kind != "O":
        distinct, places = np.unique(values, return_inverse=True)
        return Levels(distinct), np.asarray(places.reshape(-1).astype(np.int32))
    texts = values.tolist()
    order = np.array(sorted(range(len(texts)), key=texts.__getitem__), np.int64)
    levels = Levels(values[order])
    if levels.wrong():  # a dictionary of Arrow may list a string twice
        levels = Levels(as_objects(sorted(set(texts))))
        return levels, levels.encode(values)
    codes: I32 = np.empty(order.size, np.int32)
    codes[order] = np.arange(order.size, dtype=np.int32)
    return levels, codes


def _other_kind(where: str, levels: Levels, values: npt.NDArray[Any]) -> DataError:
    return DataError(
        f"{where} holds {Levels(values).kind}, such as {show(values[0])}: expected "
        f"{levels.kind}, such as {show(levels.values[0])}, the levels of this column in training; "
        "convert the column"
    )


def _or_unseen(codes: I32, levels: Levels) -> I32:
    return np.where(codes == NO_LEVEL, np.int32(levels.n_levels), codes)


def recode(codes: I32, own: Levels, wanted: Levels, where: str) -> I32:
    """Return the codes that rows have by other levels, as `encode_column` does.

    Raises
    ------
    DataError
        If the levels are strings on one side and whole numbers on the other.
    """
    if own == wanted:
        return codes
    if not wanted.suits(own.values):
        raise _other_kind(where, wanted, own.values)
    known = _or_unseen(wanted.encode(own.values), wanted)
    table = np.append(known, np.array([wanted.n_levels, NO_LEVEL], np.int32))
    found: I32 = table[codes]
    return found


def level_counts(codes: I32, n_levels: int) -> I64:
    """Return the rows of each level, shape (n_levels + 1,); the last number is that of no level."""
    found = np.bincount(np.where(codes == NO_LEVEL, n_levels, codes), minlength=n_levels + 1)
    return found.astype(np.int64)


def as_cells(codes: I32, n_levels: int) -> F32:
    """Return the cells of a matrix that hold codes; every code has a float32 number of its own.

    Up to 2^24 that is the code itself. Those above have the float32 numbers that follow 2^24 one by
    one. A missing value is NaN, and a level that training has not seen is the NaN ``UNSEEN``.
    """
    cells = codes.astype(np.float32)
    if n_levels > _COUNTED:
        large = codes > _COUNTED
        cells[large] = (codes[large] + np.int32(_MORE)).view(np.float32)
    cells[codes == NO_LEVEL] = np.nan
    cells.view(np.uint32)[codes == n_levels] = UNSEEN
    return cells


def codes_of(cells: F32, n_levels: int) -> I32:
    """Return the codes that cells hold, as `encode_column` does."""
    codes = np.where(cells <= _COUNTED, cells, np.float32(NO_LEVEL)).astype(np.int32)
    if n_levels > _COUNTED:
        large = cells > _COUNTED
        codes[large] = cells[large].view(np.int32) - np.int32(_MORE)
    codes[cells.view(np.uint32) == UNSEEN] = n_levels
    return codes


def without_unseen(values: F32) -> F32:
    """Return a matrix where a level that training has not seen is a missing value like others."""
    unseen = values.view(np.uint32) == UNSEEN
    return np.where(unseen, np.float32(np.nan), values) if unseen.any() else values


def check_same_categories(
    own: Categories, wanted: Categories, names: Sequence[str] | None, what: str
) -> None:
    """Raise ``DataError`` unless the same columns are categorical as in training."""
    for column in sorted(own.keys() ^ wanted.keys()):
        named = f"column {column}" + ("" if names is None else f" ({names[column]!r})")
        if column in wanted:
            raise DataError(
                f"{what}: {named} holds numbers: expected a categorical column of "
                f"{plural(wanted[column].n_levels, 'level')}, as in training; give "
                "categorical_features=, or a table with the levels"
            )
        raise DataError(
            f"{what}: {named} is categorical: expected numbers, as in training; convert the column"
        )
