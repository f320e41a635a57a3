"""Twin of ``growth.interleaved``: the entries of nodes, where they lie in the data's order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.dtypes import NO_NODE

U32 = npt.NDArray[np.uint32]


@dataclass(frozen=True)
class Pieces:
    """The entries of a tree's nodes in every stretch.

    Attributes
    ----------
    ranks : uint16 array, shape (n_entries,)
        Number of each entry in its stretch, if its entries are sorted by node, and otherwise as
        before; those of no node come last.
    begin, end : uint32 array, shape (n_nodes, n_stretches)
        Ranks of each node's piece of a stretch.
    first_places : uint32 array, shape (n_nodes, n_stretches)
        Place of the first entry of each piece; ``NO_NODE`` of one without entries.
    before : uint32 array, shape (n_nodes, n_stretches)
        Entries that a node has in the stretches before.
    """

    ranks: npt.NDArray[np.uint16]
    begin: U32
    end: U32
    first_places: U32
    before: U32


def pieces_of_stretches(
    rows: U32, places: U32, row_nodes: U32, first: int, n_nodes: int, chunk: int
) -> Pieces:
    """Return the pieces of a tree's nodes.

    Parameters
    ----------
    rows, places : uint32 array, shape (n_entries,)
        The data's entries, sorted by place.
    row_nodes : uint32 array, shape (n_rows,)
        The node of every row in the tree.
    first, n_nodes : int
        The tree has the nodes ``first .. first + n_nodes - 1``; other rows are in leaves.
    chunk : int
        Entries of a stretch.
    """
    n_stretches = -(-rows.size // chunk)
    ranks = np.zeros(rows.size, np.uint16)
    begin, end, first_places = np.zeros((3, n_nodes, n_stretches), np.uint32)
    for stretch in range(n_stretches):
        own = slice(stretch * chunk, (stretch + 1) * chunk)
        node = row_nodes[rows[own]].astype(np.int64) - first
        node[(node < 0) | (node >= n_nodes)] = n_nodes
        order = np.argsort(node, kind="stable")
        ranks[own][order] = np.arange(order.size)
        for index in range(n_nodes):
            mine = np.flatnonzero(node == index)
            begin[index, stretch] = np.count_nonzero(node < index)
            end[index, stretch] = begin[index, stretch] + mine.size
            first_places[index, stretch] = places[own][mine[0]] if mine.size else NO_NODE
    sizes = end - begin
    before = (np.cumsum(sizes, axis=1) - sizes).astype(np.uint32)
    return Pieces(ranks, begin, end, first_places, before)


def entries_by_node(
    rows: U32, row_nodes: U32, first: int, n_nodes: int
) -> list[npt.NDArray[np.intp]]:
    """Return the positions of each node's entries, in the data's order."""
    return [np.flatnonzero(row_nodes[rows] == first + index) for index in range(n_nodes)]
