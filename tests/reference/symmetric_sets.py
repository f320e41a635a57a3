"""Twin of ``growth.symmetric_sets``: splits by sets of levels that all nodes of a level share.

The levels of a feature are put in order once for a tree, by the sums of all its rows, as
``category_split`` does for a node. A border's left side in a node then has the node's
rows of the levels behind it.

    levels in order, of the tree    c  a  e  b  d     borders behind c, a, ..
    a node's rows                   2  0  5  1  3     left of the border behind a: 9, and the rest
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tests.reference.category_split import CategoryRule, LevelOrder
from tests.reference.gain import are_heavy

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class SetBorders:
    """The borders between a feature's levels in one tree.

    Attributes
    ----------
    order : LevelOrder
        Levels in the order of the tree's sums.
    place : int64 array, shape (n_borders,)
        The last level, by its place in order, that goes right; of one level alone, that level.
    direction : int64 array, shape (n_borders,)
        1 if the rest goes left.
    smoothed : bool
        Whether scores take ``cat_l2``.
    visited : int64 array
        Places in order whose borders leave few enough levels on a side.
    """

    order: LevelOrder
    place: I64
    direction: I64
    smoothed: bool
    visited: I64

    def lefts(self, cells: I64, sum_g: int, sum_h: int) -> I64:
        """Return the left side's sums at every border, int64, shape (n_borders, 2).

        Parameters
        ----------
        cells : int64 array, shape (n_levels, 2)
            Sums of a node's rows at each level.
        sum_g, sum_h : int
            The node's sums, missing values included.
        """
        own = cells[self.order.codes]
        right = own if self.order.one_hot else own.cumsum(axis=0)
        rest = np.array([sum_g, sum_h]) - own.sum(axis=0)
        left: I64 = own.sum(axis=0) - right[self.place] + self.direction[:, None] * rest
        return left

    def right_set(self, n_levels: int, place: int, direction: int) -> npt.NDArray[np.bool_]:
        """Return which codes go right: bool, shape (n_levels + 1,); the last is that of missing."""
        codes = self.order.codes
        right = np.full(n_levels + 1, not direction)
        right[codes] = False
        right[codes[place : place + 1] if self.order.one_hot else codes[: place + 1]] = True
        return right


def set_borders(categories: CategoryRule, cells: I64, root_h: int) -> SetBorders:
    """Return the borders of a feature that a tree may split at.

    Parameters
    ----------
    categories : CategoryRule
    cells : int64 array, shape (n_levels, 2)
        Sums of the tree's rows at each level.
    root_h : int
        Sum of the Hessians of all its rows.
    """
    p, order = categories.params, categories.order(cells)
    n = order.codes.size
    k = np.arange(1, n + 1)
    visited = categories.visited(order)
    kept, usual = np.isin(k - 1, visited), np.ones(n, np.int64)
    if not order.one_hot:
        kept &= order.borders
        usual = (k <= n - k).astype(np.int64)
    rest_h = root_h - int(order.sums[:, 1].sum())
    places, directions = [], []
    for direction in (0, 1):
        some = np.flatnonzero(kept if rest_h > 0 else kept & (usual == direction))
        places.append(some)
        directions.append(np.full(some.size, direction))
    sides = np.concatenate(places), np.concatenate(directions)
    found = SetBorders(order, *sides, smoothed=not order.one_hot, visited=visited)
    if order.one_hot or p.min_data_per_group <= 1:
        return found
    left = found.lefts(cells, 0, root_h)[:, 1]
    enough = are_heavy(left, root_h - left, categories.least_group)
    return replace(found, place=found.place[enough], direction=found.direction[enough])
