"""The least bytes of the kernels along sorted columns, whether entries move or stay; see `traffic`.

The finished trees tell the entries of each node, not its rows. Rows are estimated as the same share
of all rows; that is exact where no value is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from pyopencl_gbdt.dtypes import CANDIDATE, NODE, ROW
from pyopencl_gbdt.growth.entries import EntrySizes
from pyopencl_gbdt.profiling.tree_facts import FLOAT, I64, QUANTA_PAIR, TreeFacts

_PLACE = _ID = 4
_ENTRY = ROW.itemsize + _PLACE + QUANTA_PAIR
#: Of a piece: sums of its first and its last segment, and what these have in other pieces.
_SUMS = 4 * 8
#: Of a node: begin and end of its entries, and its first piece.
_LISTED = 3 * _ID
#: Of an entry in the data's order: its rank in its node.
_RANK = 2


def _rows_of(trees: TreeFacts, entries: int) -> int:
    """Return the rows that have so many entries, if all rows have equally many."""
    return round(entries * trees.n_rows / max(1, trees.n_entries))


def _stays(trees: TreeFacts) -> int:
    """Return the number of levels whose entries stay in the data's order."""
    return EntrySizes.of(trees.fit).interleaved_levels


def _pieces(trees: TreeFacts, kernel: str, levels: list[I64]) -> int:
    """Return the pieces of nodes with so many entries, on levels where they lie node by node."""
    chunk = trees.fit.ways.variant(kernel).params["chunk"]
    return sum(int((-(-sizes // chunk)).sum()) for sizes in levels)


def _searched_pieces(trees: TreeFacts) -> int:
    """Return the pieces that are searched; of an interleaved level, each node has all stretches."""
    sizes, end = EntrySizes.of(trees.fit), _stays(trees) + 1
    spread = int(trees.counts.nodes[1:end].sum()) * sizes.n_stretches if end > 1 else 0
    return spread + _pieces(trees, "exact", [trees.counts.sizes[0], *trees.counts.sizes[end:]])


def _ranks(trees: TreeFacts) -> int:
    """Return the bytes that tell interleaved entries their places in pieces."""
    return _RANK * sum(int(sizes.sum()) for sizes in trees.counts.sizes[1 : _stays(trees) + 1])


def _searched(trees: TreeFacts) -> int:
    return sum(int(sizes.sum()) for sizes in trees.counts.sizes)


def _scored(trees: TreeFacts, of_piece: int) -> int:
    """Return the bytes of scoring all entries; ``of_piece`` are a piece's bytes beside its sums."""
    entries = _searched(trees) * (_PLACE + QUANTA_PAIR) + _ranks(trees)
    return entries + _searched_pieces(trees) * (_SUMS + of_piece)


def _find(trees: TreeFacts) -> int:
    if trees.fit.features.limits.monotone is not None or trees.params.reg_alpha > 0:
        return _scored(trees, CANDIDATE.itemsize)  # no rough scores
    # the rough score of every piece; of a node at least a piece with the best one, which has any
    # number of entries where they are interleaved
    chunk, levels = trees.fit.ways.variant("exact").params["chunk"], trees.counts.sizes
    least = [chunk, *[1] * _stays(trees), *[chunk] * len(levels)]
    entries = sum(int(np.minimum(*of).sum()) for of in zip(levels, least, strict=False))
    found = entries * (_PLACE + QUANTA_PAIR)
    nodes = sum(int(np.count_nonzero(sizes)) for sizes in levels)
    return _searched_pieces(trees) * FLOAT + found + nodes * (_SUMS + CANDIDATE.itemsize)


def _moving(trees: TreeFacts) -> slice:
    """Return the levels whose entries move to the children, node by node."""
    stays = _stays(trees)
    return slice(stays + 1 if stays else 0, trees.moving.stop)


def _list_moves(trees: TreeFacts) -> int:
    picks = trees.fit.nodes.policy.picks_leaves
    looked_at = trees.splits if picks else int(trees.counts.nodes[_moving(trees)].sum())
    return looked_at * (_LISTED + NODE.itemsize)


def _moved(trees: TreeFacts) -> int:
    return int(trees.counts.split_rows[_moving(trees)].sum())


def _moved_pieces(trees: TreeFacts) -> int:
    return _pieces(trees, "columns", trees.counts.split_sizes[_moving(trees)])


def _count_lefts(trees: TreeFacts) -> int:
    moved = _moved(trees)
    sides = (_rows_of(trees, moved) + moved) // 8  # a bit for each row in, for each entry out
    return moved * ROW.itemsize + sides + _moved_pieces(trees) * _ID


def _place_entries(trees: TreeFacts) -> int:
    splits = int(trees.counts.splits[_moving(trees)].sum())
    # a node is read, and begin, end and count of its children are written
    children = 2 * 3 * _ID
    return 2 * _moved_pieces(trees) * _ID + splits * (NODE.itemsize + _LISTED + children)


def _walk(trees: TreeFacts) -> int:
    # row and place of all entries, as if no column were closed; trees share them. Of every tree's
    # rows the quanta and, except in the first step, the node
    steps = sum(1 for sizes in trees.counts.sizes if sizes.size)
    rows = trees.rows * (steps * QUANTA_PAIR + (steps - 1) * _ID)
    return steps * trees.n_entries * (ROW.itemsize + _PLACE) + rows


def _pack_sides(trees: TreeFacts) -> int:
    moves = trees.counts.nodes.size - 1 - (not trees.fit.nodes.policy.moves_last_rows)
    moves = max(0, moves - (_moving(trees).start or 0))
    return trees.roots * moves * (trees.n_rows * _ID + trees.n_rows // 8)


def _follow_split(trees: TreeFacts) -> int:
    # row and node of the rows on one side; taken as half, as leaves do not count their entries
    rows = trees.counts.split_rows
    entries = int(rows.sum() - rows[1 : _stays(trees) + 1].sum())
    return _rows_of(trees, entries) * (ROW.itemsize + _ID) // 2


def _levels(trees: TreeFacts) -> slice:
    """Return the levels whose nodes find their entries in the data's order, or get them thence."""
    stays = _stays(trees)
    return slice(1, min(stays + 2, trees.fit.nodes.n_levels) if stays else 1)


def _nodes(trees: TreeFacts) -> int:
    return int(trees.counts.nodes[_levels(trees)].sum())


def _rank_entries(trees: TreeFacts) -> int:
    passes = int(np.count_nonzero(trees.counts.nodes[_levels(trees)]))
    # rows are read, the nodes of all rows, and a rank for each entry is written
    ranks = trees.roots * (trees.n_rows * _ID + trees.n_entries * _RANK)
    stretches = _nodes(trees) * EntrySizes.of(trees.fit).n_stretches * (_ID + _PLACE)
    return passes * (trees.n_entries * ROW.itemsize + ranks) + stretches


def _follow_pieces(trees: TreeFacts) -> int:
    # rank, row and node of the rows on one side; taken as half
    entries = int(trees.counts.split_rows[1 : _stays(trees) + 1].sum())
    return _rows_of(trees, entries) * (_RANK + ROW.itemsize + _ID) // 2


def _moved_to(trees: TreeFacts) -> slice:
    """Return the level to which entries move from the data's order."""
    first = _stays(trees) + 1
    return slice(first, min(first + 1, trees.fit.nodes.n_levels))


def _sort_entries(trees: TreeFacts) -> int:
    to = _moved_to(trees)
    entries = sum(int(sizes.sum()) for sizes in trees.counts.sizes[to])
    pieces = int(trees.counts.nodes[to].sum()) * EntrySizes.of(trees.fit).n_stretches
    rows = _rows_of(trees, entries) * _ID
    return entries * (2 * _ENTRY + _RANK) + rows + pieces * 2 * _ID


OF_TREE: Mapping[str, Callable[[TreeFacts], int]] = {
    "exact.gather": lambda trees: (
        trees.n_entries * ROW.itemsize + (trees.rows + trees.roots * trees.n_entries) * QUANTA_PAIR
    ),
    "exact.sum_pieces": lambda trees: (
        # the quanta of all entries, as if every segment reached over the borders of pieces
        _searched(trees) * QUANTA_PAIR
        + _ranks(trees)
        + _searched_pieces(trees) * (_SUMS + 2 * _PLACE)
    ),
    "exact.score_roughly": lambda trees: _scored(trees, FLOAT + CANDIDATE.itemsize),
    "exact.find": _find,
    "node_pieces.carry": lambda trees: _searched_pieces(trees) * (2 * _SUMS + 2 * _PLACE),
    "node_pieces.best_piece": lambda trees: (
        (_searched_pieces(trees) + trees.searched) * CANDIDATE.itemsize
    ),
    "node_pieces.begin_entries": lambda trees: trees.roots * _LISTED,
    "node_pieces.list_pieces": lambda trees: (
        2 * int(trees.counts.splits[_stays(trees) : trees.moving.stop].sum()) * _LISTED
    ),
    "node_pieces.list_moves": _list_moves,
    "node_pieces.place_entries": _place_entries,
    "columns.count_lefts": _count_lefts,
    "columns.move_entries": lambda trees: (
        2 * _moved(trees) * _ENTRY + _moved(trees) // 8 + _moved_pieces(trees) * _ID
    ),
    "column_search.find": _walk,
    "column_search.best": lambda trees: (
        2 * trees.searched * CANDIDATE.itemsize  # as if one group found a node's
    ),
    "column_search.follow_column": lambda trees: (
        # row and node of the rows on one side, taken as half; only roots tell their rows
        int(trees.counts.splits[0]) * trees.n_rows * (ROW.itemsize + _ID) // 2
    ),
    "row_nodes.follow": lambda trees: (
        # read and written at every step; the first only writes
        trees.rows * (2 * (trees.counts.nodes.size - 1) - 1) * _ID
    ),
    "row_nodes.pack_sides": _pack_sides,
    "row_nodes.follow_split": _follow_split,
    "row_nodes.add_leaves": lambda trees: trees.margins + trees.rows * _ID,
    "approx.cut_roots": lambda trees: trees.roots * trees.n_entries * QUANTA_PAIR,
    "approx.fill_ends": lambda trees: trees.roots * trees.n_codes * _PLACE,
    "approx.clear_ends": _searched,  # a byte for each entry
    "approx.mark_ends": lambda trees: _searched(trees) * QUANTA_PAIR,
    "interleaved.list_stretches": lambda trees: _nodes(trees) * 2 * _ID,
    "interleaved.rank_entries": _rank_entries,
    "interleaved.count_entries": lambda trees: (
        _nodes(trees) * (2 * EntrySizes.of(trees.fit).n_stretches * _ID + _ID)
    ),
    "interleaved.follow_pieces": _follow_pieces,
    "interleaved.place_nodes": lambda trees: (
        int(trees.counts.nodes[_moved_to(trees)].sum()) * 3 * _ID
    ),
    "interleaved.sort_entries": _sort_entries,
}
