"""Twin of ``growth.columns``: the rows of a split node, and its entries, go to the children."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

U32 = npt.NDArray[np.uint32]
#: Rows and places of entries, and what else is kept of each.
Entries = tuple[npt.NDArray[Any], ...]


def goes_left(
    node_rows: U32,
    entries: tuple[U32, U32],
    feature_places: tuple[int, int],
    bin_: int,
    default_left: bool,
) -> npt.NDArray[np.bool_]:  # fmt: skip
    """Return which rows of a node go left.

    Parameters
    ----------
    node_rows : uint32 array, shape (n_rows,)
    entries : pair of uint32 arrays, shape (n_entries,)
        Rows and places of the node's present values, in any order.
    feature_places : (int, int)
        First place of the split's feature, and the first one behind it.
    bin_ : int
        Last bin that goes left.
    default_left : bool
        Whether rows without an entry in the feature go left.
    """
    rows, places = entries
    first, behind = feature_places
    own = (places >= first) & (places < behind)
    lefts = rows[own & (places <= first + bin_)]
    present = np.isin(node_rows, rows[own])
    return np.where(present, np.isin(node_rows, lefts), default_left)


def move_entries(entries: Entries, left_rows: U32) -> tuple[Entries, Entries]:
    """Return the entries of the left child and those of the right, each in the order before.

    Parameters
    ----------
    entries : tuple of array, shape (n_entries, ...)
        Rows, places and what else is kept of each.
    left_rows : uint32 array, shape (n_left,)
        The rows that go left.
    """
    left = np.isin(entries[0], left_rows)
    return tuple(part[left] for part in entries), tuple(part[~left] for part in entries)
