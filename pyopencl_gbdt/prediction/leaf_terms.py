"""What leaves add to the margins of rows that walk on the host: one class for each kind of leaf."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.prediction.row_block import RowBlock

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]


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
            Nodes among all, tree by tree and row by row.
        block : RowBlock
            The rows.

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
