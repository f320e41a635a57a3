"""The least bytes of kernels along sorted columns, for the tree of ``test_traffic``."""

from types import SimpleNamespace

import numpy as np
import pytest

from pyopencl_gbdt.dtypes import CANDIDATE, NODE
from pyopencl_gbdt.profiling import traffic
from pyopencl_gbdt.profiling.tree_facts import count_tree
from tests.profiling.test_traffic import ATOMICS, LEFT_OUT, _sizes, bytes_of, fit, tree  # noqa: F401 (a fixture)
from tests.profiling.test_traffic_of_ordered import DROPPED, LINEAR, ORDERED, STEPS, WALKED
from tests.profiling.test_traffic_of_tables import LEVEL_SETS, SKETCHED, TABLES, VECTORS

#: The counts are of entries, two for each of 5 rows.
ENTRIES, FEW_ROWS = 10, 5
COLUMNS = {
    # rows of entries, quanta of rows and of entries
    "exact.gather": 10 * 4 + (5 + 10) * 8,
    # quanta of 26 entries; sums and features of the pieces: A 2, b C D e
    "exact.sum_pieces": 26 * 8 + 6 * (32 + 8),
    "node_pieces.carry": 6 * (32 + 8 + 32),
    # places and quanta; of a piece, what is in other ones, its rough score and a place for its best
    "exact.score_roughly": 26 * 12 + 6 * (32 + 4 + CANDIDATE.itemsize),
    # rough scores; the first 8 entries of A, and all of b C D e; of these pieces, best splits
    "exact.find": 6 * 4 + (8 + 16) * 12 + 5 * (32 + CANDIDATE.itemsize),
    "node_pieces.best_piece": (6 + 5) * CANDIDATE.itemsize,
    # quanta of the root's 10 entries; a place for each of 7 codes
    "approx.cut_roots": 10 * 8,
    "approx.fill_ends": 7 * 4,
    # a byte, and then quanta, for each of 26 entries
    "approx.clear_ends": 26,
    "approx.mark_ends": 26 * 8,
    "node_pieces.begin_entries": 12,
    # b, C; D, e
    "node_pieces.list_pieces": 4 * 12,
    # A; b, C
    "node_pieces.list_moves": 3 * (12 + NODE.itemsize),
    # rows of the entries of A and C; bits of 8 rows and 16 entries; pieces: A 2, C
    "columns.count_lefts": 16 * 4 + (8 + 16) // 8 + 3 * 4,
    "node_pieces.place_entries": 2 * 3 * 4 + 2 * (NODE.itemsize + 12 + 24),
    "columns.move_entries": 2 * 16 * 16 + 16 // 8 + 3 * 4,
    # three steps; the first reads nothing
    "row_nodes.follow": 5 * 5 * 4,
    # two steps: a word in, a bit out
    "row_nodes.pack_sides": 2 * (5 * 4 + 5 // 8),
    # 10 of 21 entries' rows: a side of A, C and D
    "row_nodes.follow_split": 10 * 8 // 2,
    # three steps read row and place of every entry, and quanta of 5 rows; two steps their nodes
    "column_search.find": 3 * 10 * 8 + 5 * (3 * 8 + 2 * 4),
    "column_search.best": 2 * 5 * CANDIDATE.itemsize,
    # row and node of half of the root's rows
    "column_search.follow_column": 5 * 8 // 2,
    "row_nodes.add_leaves": 5 * 8 + 5 * 4,
}

#: Where the entries of b and C stay in the data's order, two stretches, and then move to D and e.
INTERLEAVED = {
    # two words for each of b, C, D, e
    "interleaved.list_stretches": 4 * 8,
    # twice: rows of entries, nodes of rows, ranks; two words for each piece of 4 nodes
    "interleaved.rank_entries": 2 * (10 * 4 + 5 * 4 + 10 * 2) + 4 * 2 * 8,
    "interleaved.count_entries": 4 * (2 * 2 * 4 + 4),
    # 3 of C's 6 entries' rows
    "interleaved.follow_pieces": 3 * 10 // 2,
    "interleaved.place_nodes": 2 * 12,
    # entries of D and e, and their ranks; nodes of 3 rows; two words for each of 4 pieces
    "interleaved.sort_entries": 6 * (2 * 16 + 2) + 3 * 4 + 4 * 8,
    # as above, with ranks of the 10 entries of b and C; pieces: A 2, b 2, C 2, D e
    "exact.sum_pieces": 26 * 8 + 10 * 2 + 8 * (32 + 8),
    "node_pieces.carry": 8 * (32 + 8 + 32),
    "exact.score_roughly": 26 * 12 + 10 * 2 + 8 * (32 + 4 + CANDIDATE.itemsize),
    # the first 8 entries of A, one each of b and C, all of D and e
    "exact.find": 8 * 4 + (8 + 2 + 6) * 12 + 5 * (32 + CANDIDATE.itemsize),
    "node_pieces.best_piece": (8 + 5) * CANDIDATE.itemsize,
    "node_pieces.list_pieces": 2 * 12,
    "columns.move_entries": 0,
    "row_nodes.pack_sides": 0,
    # 15 entries of A and D are of 8 rows, about
    "row_nodes.follow_split": 8 * 8 // 2,
}


CATEGORIES = {
    # of 5 nodes: 4 codes, and what is known of their order
    "category_split.order_levels": 5 * (4 * 16 + 48),
    "category_split.find_sets": 5 * (48 + NODE.itemsize + 16 + CANDIDATE.itemsize),
    "category_split.sum_sets": 5 * (48 + NODE.itemsize + 16 + CANDIDATE.itemsize),
    # A, C, D
    "category_sets.write_sets": 3 * (NODE.itemsize + 16),
    # 7 nodes; 4 sets in and out
    "category_sets.finish_sets": 7 * NODE.itemsize + 2 * 4 * 2 * 4,
}


def along_columns(**options):
    parts = fit(**options)
    parts.features.columns, parts.rows.n_rows = SimpleNamespace(n_entries=ENTRIES), FEW_ROWS
    return parts


@pytest.mark.parametrize("kernel", COLUMNS)
def test_hand_count_along_columns(kernel):
    assert bytes_of(kernel, along_columns(), count_tree(*tree())) == COLUMNS[kernel]


@pytest.mark.parametrize("kernel", INTERLEAVED)
def test_hand_count_of_interleaved_entries(kernel):
    parts = along_columns()
    parts.ways.chosen["interleaved"].params["depth"] = 1
    assert bytes_of(kernel, parts, count_tree(*tree())) == INTERLEAVED[kernel]


def test_where_terms_cancel_all_borders_are_scored_exactly():
    all_pieces = 26 * 12 + 6 * (32 + CANDIDATE.itemsize)
    constrained = along_columns()
    constrained.features.limits.monotone = np.zeros(2, np.uint32)
    for parts in (constrained, along_columns(reg_alpha=0.5)):
        assert bytes_of("exact.find", parts, count_tree(*tree())) == all_pieces


def test_rows_of_sorted_columns_know_their_leaf():
    found = bytes_of("renew_leaves.count_first", along_columns(), count_tree(*tree()))
    assert found == 5 * (8 + 8 + 8) + 5 * 4


def test_roots_of_sorted_columns_count_entries():
    nodes, levels = tree()
    nodes["count"][0] = FEW_ROWS
    parts = along_columns()
    left_out = (
        "histogram", "tiled_histogram", "split", "partition", "update_margins", "approx",
        "column_search", "category_split", "category_sets", "symmetric_sets", "ordered_leaves",
        "leaves_by_next_order", "sketched_leaves", "newton_leaves", "dropout", "linear_leaves",
    )  # fmt: skip
    tally = traffic.Tally(parts, left_out)
    tally.add_tree({name: nodes[name] for name in ("count", "left", "sibling_slot")}, levels)
    assert tally.n_bytes("exact.find", weighted=False) == COLUMNS["exact.find"]
    assert tally.n_bytes("histogram", weighted=False) is None
    assert nodes["count"][0] == FEW_ROWS


def test_every_formula_is_counted_by_hand():
    tiled = {"tiled_histogram", "tiled_histogram.reduce"}  # the formulas of dense codes
    counted = ATOMICS.keys() | COLUMNS.keys() | TABLES.keys() | INTERLEAVED.keys()
    counted |= CATEGORIES.keys() | {f"ordered_leaves.{function}" for function in ORDERED}
    counted |= VECTORS.keys() | LEVEL_SETS.keys() | SKETCHED.keys()
    counted |= {f"leaves_by_next_order.{function}" for function in WALKED}
    counted |= {f"dropout.{function}" for function in DROPPED}
    counted |= {f"newton_leaves.{function}" for function in STEPS}
    counted |= {f"linear_leaves.{function}" for function in LINEAR}
    assert traffic.OF_TREE.keys() - counted == {"histogram.reduce", *tiled}


@pytest.mark.parametrize("kernel", CATEGORIES)
def test_the_bytes_of_sets(kernel):
    """The second feature, of 4 levels, is categorical; a set takes 2 words."""
    parts = fit()
    categorical, offset = np.array([False, True]), np.array([0, 3, 7])
    parts.features.layout = SimpleNamespace(categorical=categorical, feature_offset=offset)
    parts.nodes.set_words = 2
    assert bytes_of(kernel, parts, count_tree(*tree())) == CATEGORIES[kernel]
