"""Trees that are tables: every level has one split, and every leaf the same depth.

Such a tree is ``depth`` splits and 2^depth values. A row's place among the values is a number in
base 2: its highest bit is 1 if the row goes right at the first split::

    splits   a  b          a            values  0   1   2   3
                         b   b          bits    00  01  10  11
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.model.tree import Tree

#: Largest depth of a tree that is taken for a table.
DEEPEST_TABLE = 16


@dataclass(frozen=True)
class Table:
    """A tree as a table.

    Attributes
    ----------
    feature : int32 array, shape (depth,)
    threshold : float32 array, shape (depth,)
    default_left : bool array, shape (depth,)
    values : float32 array, shape (2^depth,)
    sets : tuple of uint32 array, of depth elements
        Words of the set of codes that go right at each split, as in ``Tree``; none at splits of
        numbers.
    """

    feature: npt.NDArray[np.int32]
    threshold: npt.NDArray[np.float32]
    default_left: npt.NDArray[np.bool_]
    values: npt.NDArray[np.float32]
    sets: tuple[npt.NDArray[np.uint32], ...]

    @property
    def depth(self) -> int:
        return int(self.feature.size)


def table_of(tree: Tree) -> Table | None:
    """Return a tree as a table; None if the tree's splits do not form one."""
    depth = (tree.n_nodes + 1).bit_length() - 2
    n_inner = 2**depth - 1
    whole = tree.n_nodes == 2 * n_inner + 1 and depth <= DEEPEST_TABLE
    if not whole or tree.is_leaf[:n_inner].any():
        return None
    first = 2 ** np.arange(depth) - 1  # of every level
    width = first + 1
    inner = slice(0, n_inner)
    for name in ("feature", "threshold", "default_left", "split_kind"):
        values = getattr(tree, name)[inner]
        if not np.array_equal(values, np.repeat(values[first], width)):
            return None
    sets = _sets_of_levels(tree, first.tolist())
    if sets is None:
        return None
    return Table(
        tree.feature[first], tree.threshold[first], tree.default_left[first],
        tree.value[n_inner:, 0], sets,
    )  # fmt: skip


def _sets_of_levels(tree: Tree, firsts: list[int]) -> tuple[npt.NDArray[np.uint32], ...] | None:
    """Return the set of every level; None if two nodes of a level differ."""
    found = []
    for first in firsts:
        begin = tree.set_begin[first : 2 * first + 2]
        words = tree.sets[begin[0] : begin[-1]].reshape(first + 1, -1) if _even(begin) else None
        if words is None or (words != words[0]).any():
            return None
        found.append(words[0])
    return tuple(found)


def _even(begin: npt.NDArray[np.int32]) -> bool:
    sizes = np.diff(begin)
    return bool((sizes == sizes[0]).all())


def tables_of(trees: Sequence[Tree]) -> list[Table] | None:
    """Return all trees as tables; None if a tree does not form one, or all have one level."""
    tables = []
    for tree in trees:
        table = table_of(tree)
        if table is None:
            return None
        tables.append(table)
    return tables if any(table.depth > 1 for table in tables) else None
