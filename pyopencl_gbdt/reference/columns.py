"""Twin of ``growth.columns``: the rows of a split node, and its entries, go to the children."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

U32 = npt.NDArray[np.uint32]
Entries = tuple[U32, U32]


def goes_left(
    node_rows: U32, entries: Entries, feature_places: tuple[int, int], bin_: int, default_left: bool
) -> npt.NDArray[np.bool_]:
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
    entries : pair of uint32 arrays, shape (n_entries,)
        Rows and places.
    left_rows : uint32 array, shape (n_left,)
        The rows that go left.
    """
    rows, places = entries
    left = np.isin(rows, left_rows)
    return (rows[left], places[left]), (rows[~left], places[~left])
