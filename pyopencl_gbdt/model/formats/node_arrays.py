"""Members of all trees of a model file as NumPy arrays: the nodes of one tree after another's.

In files of UBJSON they are NumPy arrays already, in JSON lists.

A file may have 100 000 trees of a few nodes each, so nothing here runs Python code for every tree
unless it has to name a fault::

    trees[0].left_children  1 -1 -1
    trees[1].left_children  -1                values  1 -1 -1 | -1 | 1 -1 -1
    trees[2].left_children  1 -1 -1           begin   0         3    4        7
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.model.formats.json_cursor import Cursor

I64 = npt.NDArray[np.int64]
#: Number of trees whose values are converted at once: they stay in the processor's cache.
_BLOCK = 1024


class NodeArrays:
    """The arrays of nodes of all trees, checked.

    Parameters
    ----------
    trees : Cursor
        The array of trees; each entry is an object.
    sizes : int64 array, shape (n_trees,)
        Number of nodes that each tree claims to have, at least 1.
    """

    def __init__(self, trees: Cursor, sizes: I64) -> None:
        self.trees = trees
        self.sizes = sizes
        self.begin: I64 = np.concatenate([[0], np.cumsum(sizes)])
        self._lengths = sizes.tolist()
        self._arrays("left_children")  # else a few bytes could claim billions of nodes

    @property
    def last(self) -> I64:
        """The number of the last node of every node's tree, shape (n_nodes,)."""
        return np.repeat(self.sizes - 1, self.sizes)

    @property
    def base(self) -> I64:
        """The first node of every node's tree, shape (n_nodes,)."""
        return np.repeat(self.begin[:-1], self.sizes)

    def fail(self, name: str, node: int, expected: str) -> NoReturn:
        """Raise a ``ModelFormatError`` about an entry of the member ``name``.

        ``node``: the node's place among the nodes of all trees.
        """
        tree = int(np.searchsorted(self.begin, node, side="right")) - 1
        entry = self.trees.entry(tree).member(name).entry(node - int(self.begin[tree]))
        entry.fail(expected)

    def integers(self, name: str, low: int, high: int | I64) -> I64:
        """Return a member as int64; raise unless all are integers ``low`` .. ``high``.

        Parameters
        ----------
        high : int, or int64 array of shape (n_nodes,)
        """
        numbers = self._numbers(name, int, np.int64)
        if numbers is None or (numbers < low).any() or (numbers > high).any():
            highest = np.broadcast_to(high, int(self.begin[-1])).tolist()
            for node, (value, most) in enumerate(zip(self._values(name), highest, strict=True)):
                if type(value) is not int or not low <= value <= most:
                    self.fail(name, node, f"an integer {low}..{most}")
        found: I64 = numbers
        return found

    def flags(self, name: str) -> npt.NDArray[np.bool_]:
        """Return a member of 0 and 1, or of booleans (XGBoost 1.x), as booleans; else raise."""
        numbers = self._numbers(name, int, np.int64)
        if numbers is not None and numbers.min() >= 0 and numbers.max() <= 1:
            return np.asarray(numbers, np.bool_)
        values = list(self._values(name))
        for node, value in enumerate(values):
            if type(value) not in (int, bool) or value not in (0, 1):
                self.fail(name, node, "0 or 1")
        return np.array(values, np.bool_)

    def floats(self, name: str) -> npt.NDArray[np.float32]:
        """Return a member as float32; raise unless all are numbers.

        Numbers too large for float32 become infinite; a caller that needs finite ones must check.
        """
        numbers = self._numbers(name, float, np.float64)
        if numbers is None:
            values = list(self._values(name))
            for node, value in enumerate(values):
                if type(value) is not float and (type(value) is not int or abs(value) >= 2**128):
                    self.fail(name, node, "a number that float32 can hold")
            numbers = np.array(values, np.float64)
        with np.errstate(over="ignore"):
            found: npt.NDArray[np.float32] = numbers.astype(np.float32)
        return found

    def _numbers(self, name: str, kind: type, dtype: type[np.generic]) -> Any:
        """Return a member as an array; None if a value has another type or does not fit."""
        arrays, parts = self._arrays(name), []
        if isinstance(arrays[0], np.ndarray):
            found = np.concatenate(arrays)
            known = {int: "iu", float: "iuf"}[kind]
            return found.astype(dtype, copy=False) if found.dtype.kind in known else None
        for first in range(0, len(arrays), _BLOCK):
            values = list(chain.from_iterable(arrays[first : first + _BLOCK]))
            if set(map(type, values)) != {kind}:
                return None
            try:
                parts.append(np.fromiter(values, dtype, len(values)))
            except OverflowError:
                return None
        return np.concatenate(parts)

    def _values(self, name: str) -> Iterator[Any]:
        """Return a member of all trees, one value after the other."""
        arrays = self._arrays(name)
        return chain.from_iterable(
            one.tolist() if isinstance(one, np.ndarray) else one for one in arrays
        )

    def _arrays(self, name: str) -> list[Any]:
        """Return a member of every tree; raise unless each is an array of the tree's length."""
        entries: list[Any] = self.trees.array()
        arrays = [tree.get(name) for tree in entries]
        kinds = set(map(type, arrays))
        if not kinds <= {list, np.ndarray} or list(map(len, arrays)) != self._lengths:
            for index, size in enumerate(self._lengths):
                tree = self.trees.entry(index)
                tree.member(name).array(size, f"tree_param.num_nodes of {tree.place}")
        if len(kinds) > 1:
            return [list(self.trees.entry(i).member(name).array()) for i in range(len(arrays))]
        return arrays
