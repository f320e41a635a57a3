"""The least bytes of the kernels that leave entries in the data's order; see `traffic`.

Rows are estimated as in `column_traffic`.
"""

from __future__ import annotations

from pyopencl_gbdt.dtypes import QUANTA, ROW
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.growth.entries import EntrySizes
from pyopencl_gbdt.profiling.column_traffic import rows_of
from pyopencl_gbdt.profiling.least_bytes import of_tree
from pyopencl_gbdt.profiling.tree_counts import TreeCounts

_ID = _PLACE = 4
_RANK = 2
_ENTRY = ROW.itemsize + _PLACE + 2 * QUANTA.itemsize


def _levels(fit: FitParts) -> range:
    """Return the levels whose nodes find their entries in the data's order, or get them thence."""
    stays = EntrySizes.of(fit).interleaved_levels
    return range(1, min(stays + 2, fit.nodes.n_levels) if stays else 1)


def _nodes(fit: FitParts, tree: TreeCounts) -> int:
    return sum(int(tree.nodes[level]) for level in _levels(fit))


@of_tree("interleaved.list_stretches")
def _list_stretches(fit: FitParts, tree: TreeCounts) -> int:
    return _nodes(fit, tree) * 2 * _ID


@of_tree("interleaved.rank_entries")
def _rank_entries(fit: FitParts, tree: TreeCounts) -> int:
    assert fit.features.columns is not None
    trees, entries = int(tree.nodes[0]), fit.features.columns.n_entries
    passes = sum(int(tree.nodes[level] > 0) for level in _levels(fit))
    # rows are read, the nodes of all rows, and a rank for each entry is written
    each = entries * ROW.itemsize + trees * (fit.rows.n_rows * _ID + entries * _RANK)
    return passes * each + _nodes(fit, tree) * EntrySizes.of(fit).n_stretches * (_ID + _PLACE)


@of_tree("interleaved.count_entries")
def _count_entries(fit: FitParts, tree: TreeCounts) -> int:
    return _nodes(fit, tree) * (2 * EntrySizes.of(fit).n_stretches * _ID + _ID)


@of_tree("interleaved.follow_pieces")
def _follow_pieces(fit: FitParts, tree: TreeCounts) -> int:
    # rank, row and node of the rows on one side; taken as half
    entries = int(tree.split_rows[1 : EntrySizes.of(fit).interleaved_levels + 1].sum())
    return rows_of(fit, entries) * (_RANK + ROW.itemsize + _ID) // 2


def _moved_to(fit: FitParts) -> slice:
    """Return the level to which entries move from the data's order."""
    first = EntrySizes.of(fit).interleaved_levels + 1
    return slice(first, min(first + 1, fit.nodes.n_levels))


@of_tree("interleaved.place_nodes")
def _place_nodes(fit: FitParts, tree: TreeCounts) -> int:
    return int(tree.nodes[_moved_to(fit)].sum()) * 3 * _ID


@of_tree("interleaved.sort_entries")
def _sort_entries(fit: FitParts, tree: TreeCounts) -> int:
    to = _moved_to(fit)
    entries = sum(int(sizes.sum()) for sizes in tree.sizes[to])
    pieces = int(tree.nodes[to].sum()) * EntrySizes.of(fit).n_stretches
    return entries * (2 * _ENTRY + _RANK) + rows_of(fit, entries) * _ID + pieces * 2 * _ID
