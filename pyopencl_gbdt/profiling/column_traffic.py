"""The least bytes of the kernels along sorted columns, whether entries move or stay; see `traffic`.

The finished trees tell the entries of each node, not its rows. Rows are estimated as the same share
of all rows; that is exact where no value is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.dtypes import CANDIDATE, NODE, QUANTA, ROW, SUM
from pyopencl_gbdt.fit.parts import FitParts
from pyopencl_gbdt.growth.entries import EntrySizes
from pyopencl_gbdt.profiling.least_bytes import I64, TreeCounts, of_tree
from pyopencl_gbdt.profiling.tree_traffic import moving, outputs_of

_PLACE = _ID = _FLOAT = 4
_QUANTA = 2 * QUANTA.itemsize
_ENTRY = ROW.itemsize + _PLACE + _QUANTA
#: Of a piece: sums of its first and its last segment, and what these have in other pieces.
_SUMS = 4 * SUM.itemsize
#: Of a node: begin and end of its entries, and its first piece.
_LISTED = 3 * _ID


def with_entries_of_roots(
    nodes: Mapping[str, npt.NDArray[Any]], n_roots: int, n_entries: int
) -> dict[str, npt.NDArray[Any]]:
    """Return the nodes with entries in place of rows in the roots; the others count entries."""
    count = np.array(nodes["count"])
    count[:n_roots] = n_entries
    return {"count": count, "left": nodes["left"], "sibling_slot": nodes["sibling_slot"]}


def rows_of(fit: FitParts, entries: int) -> int:
    """Return the rows that have so many entries, if all rows have equally many."""
    assert fit.features.columns is not None
    return round(entries * fit.rows.n_rows / max(1, fit.features.columns.n_entries))


def _pieces(fit: FitParts, kernel: str, levels: list[I64]) -> int:
    """Return the pieces of nodes with so many entries, on levels where they lie node by node."""
    chunk = fit.ways.variant(kernel).params["chunk"]
    return sum(int((-(-sizes // chunk)).sum()) for sizes in levels)


def _searched_pieces(fit: FitParts, tree: TreeCounts) -> int:
    """Return the pieces that are searched; of an interleaved level, each node has all stretches."""
    end = EntrySizes.of(fit).interleaved_levels + 1
    spread = int(tree.nodes[1:end].sum()) * EntrySizes.of(fit).n_stretches if end > 1 else 0
    return spread + _pieces(fit, "exact", [tree.sizes[0], *tree.sizes[end:]])


def _ranks(fit: FitParts, tree: TreeCounts) -> int:
    """Return the bytes that tell interleaved entries their places in pieces."""
    levels = tree.sizes[1 : EntrySizes.of(fit).interleaved_levels + 1]
    return 2 * sum(int(sizes.sum()) for sizes in levels)


def _searched(tree: TreeCounts) -> int:
    return sum(int(sizes.sum()) for sizes in tree.sizes)


@of_tree("exact.gather")
def _gather(fit: FitParts, tree: TreeCounts) -> int:
    assert fit.features.columns is not None
    trees, entries = int(tree.nodes[0]), fit.features.columns.n_entries
    return entries * ROW.itemsize + trees * (fit.rows.n_rows + entries) * _QUANTA


@of_tree("exact.sum_pieces")
def _sum_pieces(fit: FitParts, tree: TreeCounts) -> int:
    # the quanta of all entries, as if every segment reached over the borders of pieces
    pieces = _searched_pieces(fit, tree)
    return _searched(tree) * _QUANTA + _ranks(fit, tree) + pieces * (_SUMS + 2 * _PLACE)


@of_tree("node_pieces.carry")
def _carry(fit: FitParts, tree: TreeCounts) -> int:
    return _searched_pieces(fit, tree) * (2 * _SUMS + 2 * _PLACE)


@of_tree("exact.score_roughly")
def _score_roughly(fit: FitParts, tree: TreeCounts) -> int:
    entries, pieces = _searched(tree), _searched_pieces(fit, tree)
    scored = entries * (_PLACE + _QUANTA) + _ranks(fit, tree)
    return scored + pieces * (_SUMS + _FLOAT + CANDIDATE.itemsize)


@of_tree("exact.find")
def _find(fit: FitParts, tree: TreeCounts) -> int:
    if (
        fit.features.limits.monotone is not None or fit.nodes.params.reg_alpha > 0
    ):  # no rough scores
        entries, pieces = _searched(tree), _searched_pieces(fit, tree)
        scored = entries * (_PLACE + _QUANTA) + _ranks(fit, tree)
        return scored + pieces * (_SUMS + CANDIDATE.itemsize)
    # the rough score of every piece; of a node at least a piece with the best one, which has any
    # number of entries where they are interleaved
    chunk, rough = fit.ways.variant("exact").params["chunk"], _searched_pieces(fit, tree)
    least = [chunk, *[1] * EntrySizes.of(fit).interleaved_levels, *[chunk] * len(tree.sizes)]
    entries = sum(int(np.minimum(*of).sum()) for of in zip(tree.sizes, least, strict=False))
    nodes = sum(int(np.count_nonzero(sizes)) for sizes in tree.sizes)
    return rough * _FLOAT + entries * (_PLACE + _QUANTA) + nodes * (_SUMS + CANDIDATE.itemsize)


@of_tree("node_pieces.best_piece")
def _best_piece(fit: FitParts, tree: TreeCounts) -> int:
    searched = int(tree.nodes[:-1].sum())
    return (_searched_pieces(fit, tree) + searched) * CANDIDATE.itemsize


@of_tree("node_pieces.begin_entries")
def _begin_entries(fit: FitParts, tree: TreeCounts) -> int:
    return int(tree.nodes[0]) * _LISTED


@of_tree("node_pieces.list_pieces")
def _list_pieces(fit: FitParts, tree: TreeCounts) -> int:
    from_ = slice(EntrySizes.of(fit).interleaved_levels, moving(fit).stop)
    return 2 * int(tree.splits[from_].sum()) * _LISTED


def _moving(fit: FitParts) -> slice:
    """Return the levels whose entries move to the children, node by node."""
    stays = EntrySizes.of(fit).interleaved_levels
    return slice(stays + 1 if stays else 0, moving(fit).stop)


@of_tree("node_pieces.list_moves")
def _list_moves(fit: FitParts, tree: TreeCounts) -> int:
    picks = fit.nodes.policy.picks_leaves
    looked_at = int(tree.splits.sum() if picks else tree.nodes[_moving(fit)].sum())
    return looked_at * (_LISTED + NODE.itemsize)


def _moved(fit: FitParts, tree: TreeCounts) -> int:
    return int(tree.split_rows[_moving(fit)].sum())


def _moved_pieces(fit: FitParts, tree: TreeCounts) -> int:
    return _pieces(fit, "columns", tree.split_sizes[_moving(fit)])


@of_tree("columns.count_lefts")
def _count_lefts(fit: FitParts, tree: TreeCounts) -> int:
    moved = _moved(fit, tree)
    sides = (rows_of(fit, moved) + moved) // 8  # a bit for each row is read, for each entry written
    return moved * ROW.itemsize + sides + _moved_pieces(fit, tree) * _ID


@of_tree("node_pieces.place_entries")
def _place_entries(fit: FitParts, tree: TreeCounts) -> int:
    splits = int(tree.splits[_moving(fit)].sum())
    # a node is read, and begin, end and count of its children are written
    children = 2 * 3 * _ID
    return 2 * _moved_pieces(fit, tree) * _ID + splits * (NODE.itemsize + _LISTED + children)


@of_tree("columns.move_entries")
def _move_entries(fit: FitParts, tree: TreeCounts) -> int:
    moved = _moved(fit, tree)
    return 2 * moved * _ENTRY + moved // 8 + _moved_pieces(fit, tree) * _ID


def _steps(tree: TreeCounts) -> int:
    """Return the steps whose nodes were searched."""
    return sum(1 for sizes in tree.sizes if sizes.size)


@of_tree("column_search.find")
def _walk(fit: FitParts, tree: TreeCounts) -> int:
    # row and place of all entries, as if no column were closed; trees share them. Of every tree's
    # rows the quanta and, except in the first step, the node
    assert fit.features.columns is not None
    steps, trees = _steps(tree), int(tree.nodes[0])
    rows = fit.rows.n_rows * (steps * _QUANTA + (steps - 1) * _ID)
    return steps * fit.features.columns.n_entries * (ROW.itemsize + _PLACE) + trees * rows


@of_tree("column_search.best")
def _best_of_groups(fit: FitParts, tree: TreeCounts) -> int:
    return 2 * int(tree.nodes[:-1].sum()) * CANDIDATE.itemsize  # as if one group found a node's


@of_tree("column_search.follow_column")
def _follow_column(fit: FitParts, tree: TreeCounts) -> int:
    # row and node of the rows on one side, taken as half; only roots know how many rows they have
    return int(tree.splits[0]) * fit.rows.n_rows * (ROW.itemsize + _ID) // 2


@of_tree("row_nodes.follow")
def _follow(fit: FitParts, tree: TreeCounts) -> int:
    passes = 2 * (tree.nodes.size - 1) - 1  # read and written at every step; the first only writes
    return int(tree.nodes[0]) * fit.rows.n_rows * passes * _ID


@of_tree("row_nodes.pack_sides")
def _pack_sides(fit: FitParts, tree: TreeCounts) -> int:
    moves = tree.nodes.size - 1 - (not fit.nodes.policy.moves_last_rows)
    moves = max(0, moves - (_moving(fit).start or 0))
    return int(tree.nodes[0]) * moves * (fit.rows.n_rows * _ID + fit.rows.n_rows // 8)


@of_tree("row_nodes.follow_split")
def _follow_split(fit: FitParts, tree: TreeCounts) -> int:
    # row and node of the rows on one side; taken as half, as leaves do not count their entries
    stays = slice(1, EntrySizes.of(fit).interleaved_levels + 1)
    entries = int(tree.split_rows.sum() - tree.split_rows[stays].sum())
    return rows_of(fit, entries) * (ROW.itemsize + _ID) // 2


@of_tree("row_nodes.add_leaves")
def _add_leaves(fit: FitParts, tree: TreeCounts) -> int:
    margins = outputs_of(fit, tree) * fit.rows.n_rows * 2 * _FLOAT
    return margins + int(tree.nodes[0]) * fit.rows.n_rows * _ID


@of_tree("approx.cut_roots")
def _cut_roots(fit: FitParts, tree: TreeCounts) -> int:
    assert fit.features.columns is not None
    return int(tree.nodes[0]) * fit.features.columns.n_entries * _QUANTA


@of_tree("approx.fill_ends")
def _fill_ends(fit: FitParts, tree: TreeCounts) -> int:
    return int(tree.nodes[0]) * fit.features.layout.n_codes * _PLACE


@of_tree("approx.clear_ends")
def _clear_ends(fit: FitParts, tree: TreeCounts) -> int:
    return _searched(tree)  # a byte for each entry


@of_tree("approx.mark_ends")
def _mark_ends(fit: FitParts, tree: TreeCounts) -> int:
    return _searched(tree) * _QUANTA


#: Of an entry in the data's order: its rank in its node.
_RANK = 2


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
