"""Least bytes of a symmetric tree, counted by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from pyopencl_gbdt.dtypes import CANDIDATE, LEVEL, NO_NODE, NODE
from pyopencl_gbdt.growth.policy import Symmetric, Together
from pyopencl_gbdt.profiling import traffic
from pyopencl_gbdt.profiling.tree_facts import count_tree
from tests.profiling.test_traffic import CODES, FEATURES, LEFT_OUT, _sizes, bytes_of, fit  # noqa: F401 (a fixture)

#: The tree that is counted below, with the rows of each node; the last level's are not counted.
#:
#:   depth 0              A 10
#:   depth 1         b 4       C 6
#:   depth 2       d   e     f    g
HISTOGRAM = CODES * 16
SCORES = 2 * (CODES + FEATURES) * 4  # of two levels: one float a border, and the best of a feature
#: Three nodes are searched; C's histogram is A's minus b's.
TABLES = {
    "symmetric.add_up": 2 * 3 * HISTOGRAM,
    "symmetric.find_roughly": 3 * HISTOGRAM + SCORES,
    "symmetric.find": SCORES + 2 * FEATURES * CANDIDATE.itemsize + 3 * 16,
    "symmetric.share": (2 * FEATURES + 3) * CANDIDATE.itemsize + 3 * (NODE.itemsize + 16 + 16),
}

#: A place has a node of one output.
VECTORS = {
    "vector_split.add_up": 2 * 3 * HISTOGRAM,
    "vector_split.find": 3 * (HISTOGRAM + 16 + FEATURES * CANDIDATE.itemsize),
    "vector_split.share": 3 * ((FEATURES + 1) * CANDIDATE.itemsize + NODE.itemsize + 16 + 16),
}

#: Two outputs of 10 rows each, of one sketch: 7 nodes, 3 of which split.
SKETCHED = {
    "gradients.sketch": 10 * (2 * 2 + 1 + 1) * 4,  # margins and labels; a sketch and its Hessian
    "sketched_leaves.expand": 7 * (NODE.itemsize + 16 + 8) + 7 // 2 * (NODE.itemsize + 4),
    "sketched_leaves.find_places": 10 * 4 + 20,  # a place, and two codes on a row's path
    "sketched_leaves.sum_places": 10 * 4 + 10 * 8,
    "sketched_leaves.value_places": 4 * (32 + 16) + 7 * (16 + 4) + 3 * 4,
    "sketched_leaves.read_values": 2 * 7 * 4,
    "sketched_leaves.add_leaves": 10 * 4 + 10 * 8,
}

#: With a categorical feature of 3 levels beside one of 4 codes: 3 borders, and the rest.
LEVEL_SETS = {
    # once a tree
    "symmetric_sets.open_borders": 3 * 16 + 4 * 4,
    # A and b are built, C is a difference
    "symmetric_sets.add_up_sets": 2 * (3 + 4) * 16 + 2 * 4 * 16,
    "symmetric_sets.write_level_sets": 3 * NODE.itemsize,
    "symmetric_sets.choose_leads": CANDIDATE.itemsize + 16 + 4,
    "symmetric.add_up": 2 * 3 * 4 * 16,
    "symmetric.find_roughly": 3 * (4 + 4) * 16 + 2 * (4 + 4 + FEATURES) * 4,
    "category_split.order_levels": 3 * 16 + 48,  # once a tree
}


def table():
    nodes, levels = np.zeros(7, NODE), np.zeros(3, LEVEL)
    nodes["count"] = [10, 4, 6, 0, 0, 0, 0]
    nodes["left"] = [1, 3, 5, NO_NODE, NO_NODE, NO_NODE, NO_NODE]
    nodes["sibling_slot"] = [-1, -1, 0, -1, -1, -1, -1]
    levels["first"], levels["count"] = [0, 1, 3], [1, 2, 4]
    return nodes, levels


@pytest.mark.parametrize("kernel", TABLES)
def test_hand_count_of_a_table(kernel):
    counts = count_tree(*table())
    assert bytes_of(kernel, fit(policy=Symmetric(2)), counts) == TABLES[kernel]


@pytest.mark.parametrize("kernel", VECTORS)
def test_hand_count_of_vectors(kernel):
    counts = count_tree(*table())
    assert bytes_of(kernel, fit(policy=Together(2)), counts) == VECTORS[kernel]


@pytest.mark.parametrize("kernel", SKETCHED)
def test_hand_count_of_sketches(kernel):
    parts = fit(policy=Together(2))
    parts.nodes.n_outputs, parts.nodes.n_sketches, parts.rows.n_rows = 2, 1, 10
    assert bytes_of(kernel, parts, count_tree(*table())) == SKETCHED[kernel]


@pytest.mark.parametrize("kernel", LEVEL_SETS)
def test_hand_count_of_sets_of_levels(kernel):
    parts = fit(policy=Symmetric(2))
    parts.arena.array("border_flags", (1, 4), np.uint32)
    parts.arena.array("leads", (1, 1), np.uint32)
    parts.features.layout = SimpleNamespace(
        n_codes=7, n_features=FEATURES, categorical=np.array([True, False]),
        feature_offset=np.array([0, 3, 7], np.uint32), feature_bins=np.array([3, 4], np.uint32),
    )  # fmt: skip
    assert bytes_of(kernel, parts, count_tree(*table())) == LEVEL_SETS[kernel]


def test_a_fit_counts_its_own_search_alone():
    parts = fit(policy=Symmetric(2))
    left_out = (*(name for name in LEFT_OUT if name != "symmetric"), "split")
    tally = traffic.Tally(parts, left_out)
    tally.add_tree(*table())
    assert tally.n_bytes("symmetric.add_up", weighted=False) == 2 * 3 * HISTOGRAM
    assert tally.n_bytes("split.find", weighted=False) is None
