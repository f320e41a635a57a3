"""Rows walk the trees on the host, with NumPy alone: few rows, or all where there is no device.

A block of rows goes down some trees together, a level at a time. Nodes are compared by keys, as
kernels do (`cl_kernels/value_decision.h`), and leaf values are added tree by tree, so the bits are
theirs. A leaf is its own child: rows that have arrived stay. One core, 28 columns, trees of depth
8: a row takes 0.08 ms with 500 trees, where a launch of PoCL takes 0.35; 10^5 rows take 1.25 s with
300 trees.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.dtypes import WALK_BY_SET
from pyopencl_gbdt.numerics.portable_math import is_missing, ordered
from pyopencl_gbdt.prediction.leaf_terms import LeafTerms, RowBlock

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]
I64 = npt.NDArray[np.int64]
U32 = npt.NDArray[np.uint32]
#: Key of a threshold that all rows are below; see `value_decision.h`.
_ABOVE_ALL = np.uint32(0xFFFFFFFF)
#: Keys of a block of rows, its rows, and rows times trees that walk together: a core's cache holds
#: them. 28 columns, one core: a step of a row takes 4 to 5 ns so, 9 with 256 rows, 13 with 4096.
_KEYS, _ROWS, _WALKS = 2**17, 2048, 2**14


class HostWalk:
    """An ensemble's nodes as a walk on the host reads them.

    Parameters
    ----------
    nodes : array of ``dtypes.WALK``
        Feature j is the column ``used[j]`` of rows.
    begin : integer array, shape (n_trees + 1,)
        The first node of every tree.
    longest : int
        Most nodes on the way to a leaf.
    used : integer array
        The columns that the trees ask for, ascending.
    sets : uint32 array or None
        Sets of codes, as in ``PackedTrees``.
    terms : LeafTerms
        What leaves add to margins.
    """

    def __init__(
        self,
        nodes: npt.NDArray[np.void],
        begin: npt.NDArray[Any],
        longest: int,
        used: npt.NDArray[Any],
        sets: U32 | None,
        terms: LeafTerms,
    ) -> None:
        self._terms = terms
        sizes = np.diff(begin.astype(np.int64)).astype(np.int64)
        self._roots, self._used, self._sets = begin[:-1].astype(np.int64), used, sets
        self._inner = nodes["left"] != 0
        first = np.repeat(self._roots, sizes)
        self._child = np.where(self._inner, first + nodes["left"], np.arange(first.size))
        self._keys = np.where(self._inner, ordered(nodes["number"]), _ABOVE_ALL)
        column = 2 * nodes["feature"].astype(np.int64) + (nodes["default_left"] & 1)
        self._columns = np.where(self._inner, column, 0)
        self._by_set = nodes["default_left"] & WALK_BY_SET > 0
        self._values = np.ascontiguousarray(nodes["number"])
        #: The steps of a tree whose leaves had the same depth; few rows take more.
        self._steps = min(longest - 1, int(sizes.max(initial=1)).bit_length())

    def add(
        self, values: F32 | SparseMatrix, margins: F32, trees: I64, stages: F32 | None = None
    ) -> None:
        """Add trees to the margins of rows.

        Parameters
        ----------
        values : float32 array or SparseMatrix, shape (n_rows, n_features)
        margins : float32 array, shape (n_outputs, n_rows), written
        trees : int64 array, shape (n_outputs, n), or (1, n) if leaves are vectors
            The trees of each output, in the order in which they are added.
        stages : float32 array, shape (n_stages, n_outputs, n_rows), or None, written
            The margins after each ``n / n_stages`` trees of every output.
        """
        each = trees.shape[1] // len(stages) if stages is not None else 1
        width = self._terms.n_outputs
        for rows, block in self.blocks(values):
            n_groups = max(1, _WALKS // block.n_rows // width)
            together = max(1, n_groups // trees.shape[0] // each) * each
            for first in range(0, trees.shape[0], n_groups):
                own = slice(first * width, (first + n_groups) * width)
                for begin in range(0, trees.shape[1], together):
                    some = trees[first : first + n_groups, begin : begin + together]
                    terms = self._terms.of(self.leaves(block, some.ravel()), block)
                    n_own = some.shape[0] * width
                    sums = np.empty((n_own, some.shape[1] + 1, block.n_rows), np.float32)
                    sums[:, 0] = margins[own, rows]
                    sums[:, 1:] = terms.reshape(n_own, some.shape[1], -1)
                    with np.errstate(over="ignore", invalid="ignore"):  # as on a device
                        np.add.accumulate(sums, axis=1, out=sums)
                    margins[own, rows] = sums[:, -1]
                    if stages is not None:
                        ended = slice(begin // each, (begin + together) // each)
                        stages[ended, own, rows] = sums[:, each::each].swapaxes(0, 1)

    def leaf_ids(self, values: F32 | SparseMatrix, trees: I64) -> I32:
        """Return the id of each row's leaf in each tree, counted within the tree.

        Parameters
        ----------
        values : float32 array or SparseMatrix, shape (n_rows, n_features)
        trees : int64 array, shape (n,)

        Returns
        -------
        int32 array, shape (n_rows, n)
        """
        found = np.empty((values.shape[0], trees.size), np.int32)
        for rows, block in self.blocks(values):
            together = max(1, _WALKS // block.n_rows)
            for begin in range(0, trees.size, together):
                some = trees[begin : begin + together]
                ids = self.leaves(block, some) - self._roots[some, None]
                found[rows, begin : begin + together] = ids.T
        return found

    def goes_right(self, block: RowBlock, nodes: I64) -> npt.NDArray[np.bool_]:
        """Return whether each row of a block goes right at nodes: bool, shape (n, n_rows)."""
        at = np.repeat(nodes[:, None], block.n_rows, axis=1)
        return self._goes_right(block, at, self._columns[at], block.rows)

    def blocks(
        self, values: F32 | SparseMatrix, most: int = _ROWS
    ) -> Iterator[tuple[slice, RowBlock]]:
        """Yield blocks of rows that a core's cache holds, of at most ``most`` rows."""
        n_rows = min(most, max(1, _KEYS // (2 * self._used.size)))
        for first in range(0, values.shape[0], n_rows):
            rows = slice(first, min(first + n_rows, values.shape[0]))
            if isinstance(values, SparseMatrix):
                yield rows, RowBlock(values.dense(self._used, rows.start, rows.stop))
            else:
                yield rows, RowBlock(np.take(values[rows], self._used, axis=1))

    def leaves(self, block: RowBlock, trees: I64) -> I64:
        """Return the leaves of a block's rows: node numbers, shape (n_trees, n_rows)."""
        at = np.empty((trees.size, block.n_rows), np.int64)
        at[:] = self._roots[trees, None]
        column, keys = np.empty_like(at), np.empty(at.shape, np.uint32)
        for _ in range(self._steps):
            self._columns.take(at, out=column, mode="clip")
            right = self._goes_right(block, at, column, block.rows, keys)
            self._child.take(at, out=column, mode="clip")
            column += right
            at, column = column, at
        flat = at.reshape(-1)
        while True:
            going = np.flatnonzero(self._inner[flat])
            if not going.size:
                return at
            node = flat[going]
            right = self._goes_right(block, node, self._columns[node], going % block.n_rows)
            flat[going] = self._child[node] + right

    def _goes_right(
        self, block: RowBlock, at: I64, column: I64, row: I64, keys: U32 | None = None
    ) -> npt.NDArray[np.bool_]:
        """Return whether rows go right at nodes; writes into ``column`` and ``keys``."""
        if block.n_rows > 1:
            column *= block.n_rows
            column += row
        keys = block.keys.take(column, out=keys, mode="clip")
        right: npt.NDArray[np.bool_] = keys >= self._keys.take(at, mode="clip")
        if self._sets is not None:
            some = np.nonzero(self._by_set[at])
            value = block.values[self._columns[at[some]] >> 1, column[some] % block.n_rows]
            right[some] = self._set_goes_right(at[some], value)
        return right

    def _set_goes_right(self, at: I64, value: F32) -> npt.NDArray[np.bool_]:
        assert self._sets is not None
        begin = self._values[at].view(np.uint32).astype(np.int64)
        return set_goes_right(self._sets, begin, value, self._columns[at] & 1 > 0)


def set_goes_right(
    sets: U32, begin: I64, value: F32, default_left: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Return whether values go right at splits by sets; see `value_set_decision.h`.

    Parameters
    ----------
    sets : uint32 array
        As in ``PackedTrees``.
    begin : int64 array, shape (n,)
        Where each split's set begins.
    value : float32 array, shape (n,)
    default_left : bool array, shape (n,)
        Whether missing values go left.
    """
    inside = (value >= 0) & (value < sets[begin].astype(np.float32))
    code = np.where(inside, value, 0).astype(np.int64)
    right = inside & (sets[begin + 1 + (code >> 5)] >> (code & 31) & 1 > 0)
    return np.where(is_missing(value), ~default_left, right)
