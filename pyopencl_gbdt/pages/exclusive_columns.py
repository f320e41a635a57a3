"""Columns that are exclusive: of all of them, a row has one code that is not a column's fullest.

The indicators of a category are, and so are columns that are rarely other than 0 by chance::

    indicators of a row    0 0 1 0    one of them is not 0
                           0 0 0 0    none
                           1 0 1 0    these columns are not exclusive: two

They are one digit of a joint code, see ``pages/joint_columns.py``. This is the exclusive feature
bundling of LightGBM (Ke et al., 2017), with no conflict allowed, so that sums are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.pages.joint_columns import MOST_CELLS
from pyopencl_gbdt.pages.page import Layout

#: Rows that tell which columns may be exclusive; all rows of these are then looked at.
_SOME_ROWS = 4096
#: Groups that a column is compared with, the first ones found.
_MOST_GROUPS = 32


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
    layout : Layout
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
