"""What leaves add to the margins of rows that walk on the host: one class for each kind of leaf.

Rows walk in blocks, with the keys that decide where a row goes.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.numerics.portable_math import as_margin, not_tiny

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
#: Keys of missing values; see `value_decision.h`.
_MISSING_RIGHT, _MISSING_LEFT = np.uint32(0xFFFFFFFE), np.uint32(0)
_SIGN = np.int32(-(2**31))


class RowBlock:
    """A block of rows: each value, and its key twice, as missing values go right or left."""

    def __init__(self, values: F32) -> None:
        self.n_rows = len(values)
        self.values = np.ascontiguousarray(values.T)
        self.rows = np.arange(self.n_rows)
        bits = self.values.view(np.int32)
        bits = np.where(bits == _SIGN, 0, bits)  # -0 is 0
        keys = (bits ^ (bits >> 31 | _SIGN)).view(np.uint32)  # as those of `ordered`
        both = np.empty((len(self.values), 2, self.n_rows), np.uint32)
        both[:] = keys[:, None]
        missing = np.isnan(self.values)
        if missing.any():
            both[:, 0][missing] = _MISSING_RIGHT
            both[:, 1][missing] = _MISSING_LEFT
        self.keys = both.reshape(-1)


@dataclass(frozen=True)
class PackedLinear:
    """Linear functions of the leaves of all trees, by node.

    Attributes
    ----------
    begin : uint32 array, shape (n_nodes + 1,)
        First term of every node, then the number of terms; only leaves have some.
    intercepts : float32 array, shape (n_nodes,)
    features : uint32 array, shape (n_terms,)
    coefficients : float32 array, shape (n_terms,)
    """

    begin: npt.NDArray[np.uint32]
    intercepts: F32
    features: npt.NDArray[np.uint32]
    coefficients: F32


class LeafTerms(Protocol):
    """Terms of leaves.

    Attributes
    ----------
    n_outputs : int
        Outputs that a tree adds to.
    """

    n_outputs: int

    def of(self, leaves: I64, block: RowBlock) -> F32:
        """Return the terms of rows in their leaves.

        Parameters
        ----------
        leaves : int64 array, shape (n_trees * n_rows,)
            The node of each row in each tree, as an index of the nodes of all trees; tree by tree.

        Returns
        -------
        float32 array, shape (n_outputs, n_trees * n_rows)
        """


class NumberTerms:
    """A leaf adds its number.

    Parameters
    ----------
    nodes : array of ``dtypes.WALK``
    """

    n_outputs = 1

    def __init__(self, nodes: npt.NDArray[np.void]) -> None:
        self._values = np.ascontiguousarray(nodes["number"])

    def of(self, leaves: I64, block: RowBlock) -> F32:
        found: F32 = self._values[leaves][None]
        return found


class VectorTerms:
    """A leaf adds a number to each output.

    Parameters
    ----------
    nodes : array of ``dtypes.WALK``
    vectors : float32 array, shape (n_leaves, n_outputs)
        As in ``PackedTrees``.
    """

    def __init__(self, nodes: npt.NDArray[np.void], vectors: F32) -> None:
        self.n_outputs = vectors.shape[1]
        self._place = np.ascontiguousarray(nodes["number"]).view(np.uint32)
        self._of_outputs = np.ascontiguousarray(vectors.T)

    def of(self, leaves: I64, block: RowBlock) -> F32:
        return self._of_outputs[:, self._place[leaves]]


class LinearLeafTerms:
    """A leaf adds its number, or its linear function of the row.

    Parameters
    ----------
    nodes : array of ``dtypes.WALK``
    linear : PackedLinear
        Its features are places among the columns of a block.
    """

    n_outputs = 1

    def __init__(self, nodes: npt.NDArray[np.void], linear: PackedLinear) -> None:
        self._values = np.ascontiguousarray(nodes["number"])
        self._linear = linear

    def of(self, leaves: I64, block: RowBlock) -> F32:
        leaves, linear = leaves.reshape(-1), self._linear
        found = self._values[leaves]
        sizes = np.diff(linear.begin)[leaves]
        walks = np.flatnonzero(sizes)
        rows, first, sizes = walks % block.n_rows, linear.begin[leaves[walks]], sizes[walks]
        sums, missing = linear.intercepts[leaves[walks]], np.zeros(walks.size, np.bool_)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # as on a device
            for k in range(int(sizes.max(initial=0))):
                some = np.flatnonzero(sizes > k)
                at = first[some] + k
                x = block.values[linear.features[at], rows[some]]
                missing[some] |= np.isnan(x)
                sums[some] = not_tiny(sums[some] + not_tiny(linear.coefficients[at] * x))
            found[walks] = np.where(missing, found[walks], as_margin(sums))
        return found[None]
