"""Columns of few codes that share one joint code.

Three columns of 5, 3 and 2 codes (missing values have one) are one place with 30 cells::

    codes of a row     4, 0, 1
    joint code         (4 * 3 + 0) * 2 + 1 = 25
    histogram          of 30 cells; each column's is a sum over them:   5 | 3 | 2 codes

One read and one addition serve all three. Sums are integers, so a column's histogram has the bits
that its own codes give.

Columns of which no row has more than one code beside each column's fullest one, such as indicators
of one category, need fewer cells still. They are one digit, see ``exclusive_columns``::

    codes of rows      0 0 0 | 1 0 0 | 0 0 1      three indicators
    digit              0     | 1     | 3          4 cells in place of 8

The sums of a column's fullest code are those of all rows without those of its other codes. This is
the exclusive feature bundling of LightGBM (Ke et al., 2017), with no conflict allowed, so that sums
are exact.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.pages.page import Layout
from pyopencl_gbdt.primitives.packed_codes import JointSums

#: Most cells of a joint code, which takes a byte.
MOST_CELLS = 256
#: Rows that tell which columns may be exclusive; all rows of these are then looked at.
_SOME_ROWS = 4096
#: Groups that a column is compared with, the first ones found.
_MOST_GROUPS = 32


@dataclass(frozen=True)
class JointColumns:
    """Which columns share a code. Places of several columns come first, then each other column.

    Attributes
    ----------
    members : uint32 array, shape (n_features,)
        The columns, place after place, digit after digit. A joint code's first digit has the
        highest value.
    begins : uint32 array, shape (n_places + 1,)
        Where the members of every place begin, and the number of columns.
    n_joint : int
        Places of several columns.
    digits : uint32 array, shape (n_digits + 1,)
        Where the members of every digit begin, and the number of columns: one, or several columns
        that are exclusive.
    """

    members: npt.NDArray[np.uint32]
    begins: npt.NDArray[np.uint32]
    n_joint: int
    digits: npt.NDArray[np.uint32]

    @property
    def n_places(self) -> int:
        """Places of all columns."""
        return int(self.begins.size) - 1

    @property
    def place_digits(self) -> npt.NDArray[np.int64]:
        """Where the digits of every place begin, and their number, int64 (n_places + 1,)."""
        return np.searchsorted(self.digits, self.begins)

    def digit_cells(self, layout: Layout) -> npt.NDArray[np.int64]:
        """Return the values of every digit, int64 (n_digits,)."""
        sizes = _sizes(layout)
        own = np.add.reduceat(sizes[self.members] - 1, self.digits[:-1])
        cells: npt.NDArray[np.int64] = own + 1
        return cells

    def cells(self, layout: Layout) -> npt.NDArray[np.int64]:
        """Return the codes of every place, int64 (n_places,)."""
        cells: npt.NDArray[np.int64] = np.multiply.reduceat(
            self.digit_cells(layout), self.place_digits[:-1]
        )
        return cells

    def terms(self, layout: Layout) -> npt.NDArray[np.uint8]:
        """Return what each code of a column adds to the code of its place, uint8 (n_codes,).

        The columns of places have at most ``MOST_CELLS`` codes.
        """
        terms = np.zeros(layout.n_codes, np.uint8)
        cells, place_digits = self.digit_cells(layout), self.place_digits
        for place in range(self.n_places):
            run = 1
            for digit in reversed(range(place_digits[place], place_digits[place + 1])):
                members, value = self.members[self.digits[digit] : self.digits[digit + 1]], 0
                for member in members.tolist():
                    first, end = layout.feature_offset[member : member + 2].astype(np.int64)
                    values = np.arange(end - first)
                    if members.size > 1:
                        full = int(layout.fullest[member])
                        values = np.where(values == full, 0, value + values + (values < full))
                        value += int(end - first) - 1
                    terms[first:end] = values * run
                run *= int(cells[digit])
        return terms

    def layout(self, layout: Layout) -> Layout:
        """Return the layout of joint codes, as if every place were a column."""
        cells = self.cells(layout)
        offset = np.concatenate([[0], np.cumsum(cells)]).astype(np.uint32)
        nothing = np.zeros(cells.size, np.uint32)
        return Layout(cells.astype(np.uint32), offset, np.zeros(0, np.float32), nothing)

    def digit_table(self, layout: Layout, places: npt.NDArray[np.int64]) -> npt.NDArray[np.uint32]:
        """Return where each column's code is in the code of its place.

        A code c has the digit ``c % step // run``, where ``step`` is run x size. No columns are
        exclusive.

        Parameters
        ----------
        places : int64 array, shape (n_places,)
            Numbers by which kernels know the places.

        Returns
        -------
        uint32 array, shape (n_features, 2)
            A place's number; 2^16 / step, rounded up, of which the low 16 bits are kept, and 2^16
            times the size. A code times the first has c / step's fraction below bit 16. That times
            the size has the digit above it: it is too large by less than 1 / run, as codes and
            steps are at most 256 and a code below its place's number of codes.
        """
        sizes, table = _sizes(layout), np.zeros((layout.n_features, 2), np.uint32)
        for place, cells in enumerate(self.cells(layout).tolist()):
            step = cells
            for member in self.members[self.begins[place] : self.begins[place + 1]].tolist():
                run = step // int(sizes[member])
                part = (-(-65536 // step) & 0xFFFF) + (int(sizes[member]) << 16)
                table[member] = places[place], part
                step = run
        return table

    def sums(self, layout: Layout) -> JointSums:
        """Return which sums over joint codes are those of the columns' own codes.

        No columns are exclusive.
        """
        sizes = _sizes(layout)
        entries = list[npt.NDArray[np.int64]]()
        for place, cells in enumerate(self.cells(layout).tolist()):
            step = cells
            for member in self.members[self.begins[place] : self.begins[place + 1]].tolist():
                run, digits = step // sizes[member], np.arange(sizes[member])
                own = layout.feature_offset[member] + digits
                entries.append(np.column_stack([own, packed(digits * run, run, step)]))
                step = run
        begins = np.concatenate([[0], np.cumsum(sizes[self.members])])[self.begins]
        return JointSums(begins.astype(np.uint32), np.concatenate(entries).astype(np.uint32))


def join_columns(layout: Layout, exclusive: Sequence[Sequence[int]] = ()) -> JointColumns:
    """Return the columns of a layout in groups whose codes multiply to at most ``MOST_CELLS``.

    Columns come by their number of codes, the largest first. Each one joins the fullest group that
    has room for it (best fit, decreasing), and begins a group if there is none.

    ``exclusive``: columns that are one digit together.
    """
    sizes = _sizes(layout)
    of_digits = [list(columns) for columns in exclusive]
    is_single = np.ones(sizes.size, bool)
    is_single[[column for columns in of_digits for column in columns]] = False
    of_digits += [[column] for column in np.flatnonzero(is_single).tolist()]
    cells = np.array([sizes[columns].sum() - len(columns) + 1 for columns in of_digits])
    few = np.flatnonzero(cells <= MOST_CELLS)
    few = few[np.argsort(-cells[few], kind="stable")]
    groups: list[list[int]] = []
    rooms: list[tuple[int, int]] = []  # how often a group's codes fit, and the group
    for digit, size in zip(few.tolist(), cells[few].tolist(), strict=True):
        at = bisect_left(rooms, (size, 0))
        room, group = rooms.pop(at) if at < len(rooms) else (MOST_CELLS, len(groups))
        if group == len(groups):
            groups.append([])
        groups[group].append(digit)
        insort(rooms, (room // size, group))
    joint = [[of_digits[digit] for digit in group] for group in groups]
    joint = [place for place in joint if len(place) > 1 or len(place[0]) > 1]
    is_alone = np.ones(sizes.size, bool)
    is_alone[[column for place in joint for columns in place for column in columns]] = False
    places = joint + [[[column]] for column in np.flatnonzero(is_alone).tolist()]
    digits = [columns for place in places for columns in place]
    return JointColumns(
        np.array([column for columns in digits for column in columns], np.uint32),
        _begins([sum(map(len, place)) for place in places]), len(joint),
        _begins([len(columns) for columns in digits]),
    )  # fmt: skip


def _sizes(layout: Layout) -> npt.NDArray[np.int64]:
    """Return the number of codes of every column."""
    begins = layout.feature_offset.astype(np.int64)
    sizes: npt.NDArray[np.int64] = begins[1:] - begins[:-1]
    return sizes


def _begins(counts: Sequence[int]) -> npt.NDArray[np.uint32]:
    """Return where runs of so many entries begin, and the number of entries."""
    return np.cumsum([0, *counts]).astype(np.uint32)


@dataclass
class _Group:
    """Columns that are exclusive: which rows have another code than the fullest, and cells."""

    columns: list[int]
    marks: npt.NDArray[np.uint8]
    n_marked: int
    n_cells: int


def exclusive_columns(layout: Layout, codes: npt.NDArray[Any]) -> list[list[int]]:
    """Return groups of at least two exclusive columns, which are one digit of ``MOST_CELLS``.

    The rule knows nothing but the codes of all rows: columns come by their rows of other codes than
    the fullest, most first, and each one joins the first group with which no row has two.

    Parameters
    ----------
    codes : uint8 or uint16 array, shape (n_features, n_rows)
    """
    sizes = np.diff(layout.feature_offset.astype(np.int64))
    few = np.flatnonzero((sizes > 1) & (sizes <= MOST_CELLS // 2)).tolist()
    step = -(-codes.shape[1] // _SOME_ROWS)
    if step > 1:
        likely = _groups(layout, codes[:, ::step], few)
        few = sorted(column for group in likely for column in group)
    return _groups(layout, codes, few) if len(few) > 1 else []


def _groups(
    layout: Layout, codes: npt.NDArray[Any], columns: list[int]
) -> list[list[int]]:  # fmt: skip
    """Return the groups of some columns by some rows."""
    n_rows, n_codes = codes.shape[1], np.diff(layout.feature_offset.astype(np.int64))
    found = list[_Group]()
    for column in columns:
        others = codes[column] != layout.fullest[column]
        n_cells = int(n_codes[column])
        found.append(_Group([column], np.packbits(others), int(others.sum()), n_cells))
    groups = list[_Group]()
    for own in sorted(found, key=lambda one: -one.n_marked):
        for group in groups[:_MOST_GROUPS]:
            has_room = group.n_marked + own.n_marked <= n_rows
            if not has_room or group.n_cells + own.n_cells - 1 > MOST_CELLS:
                continue
            if not (group.marks & own.marks).any():
                group.columns += own.columns
                group.marks |= own.marks
                group.n_marked += own.n_marked
                group.n_cells += own.n_cells - 1
                break
        else:
            groups.append(own)
    return [sorted(group.columns) for group in groups if len(group.columns) > 1]


def packed(first: npt.NDArray[np.int64], run: int, step: int) -> npt.NDArray[np.int64]:
    """Return joint codes as kernels know them.

    Parameters
    ----------
    first : int64 array
        The first one, below 256.
    run : int
        How many follow each other, at most 256.
    step : int
        The distance between the beginnings of two such runs, at most 256.
    """
    return first | (run - 1) << 8 | (step - 1) << 16
