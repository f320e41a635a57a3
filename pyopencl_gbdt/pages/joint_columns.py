"""Columns of few codes that share one joint code.

Three columns of 5, 3 and 2 codes (missing values have one) are one place with 30 cells::

    codes of a row     4, 0, 1
    joint code         (4 * 3 + 0) * 2 + 1 = 25
    histogram          of 30 cells; each column's is a sum over them:   5 | 3 | 2 codes

One read and one addition serve all three. Sums are integers, so a column's histogram has the bits
that its own codes give.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.pages.page import Layout
from pyopencl_gbdt.primitives.histogram_plan import JointSums, packed

#: Most cells of a joint code, which takes a byte.
MOST_CELLS = 256


@dataclass(frozen=True)
class JointColumns:
    """Which columns share a code. Places of several columns come first, then each other column.

    Attributes
    ----------
    members : uint32 array, shape (n_features,)
        The columns, place after place. A joint code's first member has the digit of the highest
        value.
    begins : uint32 array, shape (n_places + 1,)
        Where the members of every place begin, and the number of columns.
    n_joint : int
        Places of several columns.
    """

    members: npt.NDArray[np.uint32]
    begins: npt.NDArray[np.uint32]
    n_joint: int

    @property
    def n_places(self) -> int:
        """Places of all columns."""
        return int(self.begins.size) - 1

    def cells(self, layout: Layout) -> npt.NDArray[np.int64]:
        """Return the codes of every place, int64 (n_places,)."""
        sizes = np.diff(layout.feature_offset.astype(np.int64))
        cells: npt.NDArray[np.int64] = np.multiply.reduceat(sizes[self.members], self.begins[:-1])
        return cells

    def layout(self, layout: Layout) -> Layout:
        """Return the layout of joint codes, as if every place were a column."""
        cells = self.cells(layout)
        offset = np.concatenate([[0], np.cumsum(cells)]).astype(np.uint32)
        nothing = np.zeros(cells.size, np.uint32)
        return Layout(cells.astype(np.uint32), offset, np.zeros(0, np.float32), nothing)

    def sums(self, layout: Layout) -> JointSums:
        """Return which sums over joint codes are those of the columns' own codes."""
        sizes = np.diff(layout.feature_offset.astype(np.int64))
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


def join_columns(layout: Layout) -> JointColumns:
    """Return the columns of a layout in groups whose codes multiply to at most ``MOST_CELLS``.

    Columns come by their number of codes, the largest first. Each one joins the fullest group that
    has room for it (best fit, decreasing), and begins a group if there is none.
    """
    sizes = np.diff(layout.feature_offset.astype(np.int64))
    few = np.flatnonzero(sizes <= MOST_CELLS)
    few = few[np.argsort(-sizes[few], kind="stable")]
    groups: list[list[int]] = []
    rooms: list[tuple[int, int]] = []  # how often a group's codes fit, and the group
    for feature, size in zip(few.tolist(), sizes[few].tolist(), strict=True):
        at = bisect_left(rooms, (size, 0))
        room, group = rooms.pop(at) if at < len(rooms) else (MOST_CELLS, len(groups))
        if group == len(groups):
            groups.append([])
        groups[group].append(feature)
        insort(rooms, (room // size, group))
    joint = [group for group in groups if len(group) > 1]
    joined = [feature for group in joint for feature in group]
    is_alone = np.ones(sizes.size, bool)
    is_alone[joined] = False
    alone = np.flatnonzero(is_alone)
    begins = np.cumsum([0, *map(len, joint), *[1] * alone.size])
    members = np.concatenate([np.array(joined, np.int64), alone])
    return JointColumns(members.astype(np.uint32), begins.astype(np.uint32), len(joint))
