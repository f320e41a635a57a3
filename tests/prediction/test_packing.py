"""packing: an ensemble's arrays, and how long they are kept."""

import gc
import pickle

import numpy as np
import pytest

from pyopencl_gbdt.model.tree import NO_NODE
from pyopencl_gbdt.prediction import packing
from tests.steps.test_predict import ensemble, model_of, tree_of


@pytest.fixture
def rng():
    return np.random.default_rng(5)


THRESHOLDS = np.float32([1.0, 2.0, 3.0])


def test_no_trees():
    packed = packing.pack(model_of([], 3))
    assert (packed.n_trees, packed.nodes.size, packed.n_places, packed.longest) == (0, 0, 0, 1)
    assert packed.begin.tolist() == [0]
    assert not packed.goes_on


def test_lone_leaves_ask_for_a_column_that_is_there(rng):
    packed = packing.pack(model_of([tree_of(rng, np.array([NO_NODE]), 3, THRESHOLDS)] * 2, 3))
    assert packed.columns.tolist() == [0]
    assert packed.shapes.tolist() == [[0, 2, 0], [4, 2, 0]]


def test_a_chain_by_hand(rng):
    left = np.array([1, 3, -1, 5, -1, 7, -1, 9, -1, -1, -1])  # 5 splits, 6 leaves
    tree = tree_of(rng, left, 3, THRESHOLDS)
    packed = packing.pack(model_of([tree], 3))
    assert packed.longest == 6
    assert packed.shapes.tolist() == [[0, 4, 1]]  # 3 levels for 6 leaves, one more, one behind
    inner = left != NO_NODE
    asked = np.unique(2 * tree.feature[inner] + tree.default_left[inner])
    assert packed.columns.tolist() == asked.tolist()
    assert packed.column_of[asked].tolist() == list(range(asked.size))


def test_nodes_are_those_of_the_trees(rng):
    model = ensemble(rng, 20, 4, THRESHOLDS)
    packed = packing.pack(model)
    assert packed.longest == max(int(tree.depth.max()) for tree in model.trees) + 1
    for tree, begin, end in zip(model.trees, packed.begin, packed.begin[1:], strict=False):
        nodes = packed.nodes[begin:end]
        leaf = tree.is_leaf
        assert np.array_equal(nodes["left"], np.where(leaf, 0, tree.left))
        assert np.array_equal(nodes["feature"], tree.feature)
        assert np.array_equal(nodes["default_left"], tree.default_left)
        assert np.array_equal(nodes["number"], np.where(leaf, tree.value[:, 0], tree.threshold))


def test_laid_out_trees_take_no_more_than_four_places_a_leaf(rng):
    model = ensemble(rng, 200, 4, THRESHOLDS, n_splits=60)
    packed = packing.pack(model)
    leaves = np.array([(tree.n_nodes + 1) // 2 for tree in model.trees])
    assert (2.0 ** packed.shapes[:, 1] <= np.maximum(4 * leaves, 4)).all()


def test_kept_until_the_trees_change(rng):
    model = ensemble(rng, 5, 4, THRESHOLDS)
    first = packing.packed(model)
    assert packing.packed(model) is first
    model.trees.append(model.trees[0])
    second = packing.packed(model)
    assert second.n_trees == 6
    model.trees[2] = model.trees[3]
    assert packing.packed(model) is not second
    assert packing.packed(model) is packing.packed(model)


def test_an_ensemble_that_is_gone_leaves_nothing_behind(rng):
    model = ensemble(rng, 5, 4, THRESHOLDS)
    before = len(pickle.dumps(model))
    packing.packed(model)
    assert len(pickle.dumps(model)) == before
    key = id(model)
    assert key in packing._PACKED.found
    del model
    gc.collect()
    assert key not in packing._PACKED.found
