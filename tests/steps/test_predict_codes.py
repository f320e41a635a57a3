"""predict_codes: margins equal those of a walk row by row, bit by bit."""

from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt.model.tree import NO_NODE
from pyopencl_gbdt.prediction import margins as prediction
from pyopencl_gbdt.prediction import packing, predict_codes
from pyopencl_gbdt.prediction.code_trees import ABOVE_ALL, TOP
from pyopencl_gbdt.prediction.predict_codes import CodeWalk, plan_codes
from tests.compare import assert_same_bits
from tests.reference import predict as twin

from .test_predict import SPECIAL, check_ids, model_of, random_tree, tree_of
from .test_predict_tables import some_values

KERNEL = "predict_codes"
OPTIMISED = True


def grown(rng, sizes, n_features=4, thresholds=SPECIAL):
    """A model of random trees, some of one leaf and some of long chains."""
    return model_of([random_tree(rng, n_features, n, thresholds) for n in sizes], n_features)


@pytest.fixture(autouse=True)
def few_are_enough(monkeypatch):
    monkeypatch.setattr(predict_codes, "_LEAST_ROWS", 1)
    monkeypatch.setattr(predict_codes, "_LEAST_STEPS", 0)


def check(device, model, values, **given):
    walk = plan_codes(device, packing.packed(model), len(values), 2**20)
    assert isinstance(walk, CodeWalk)
    expected = twin.predict(model, values)
    assert_same_bits(prediction.predict_margins(model, values, device, **given), expected)


def test_equals_walk(device, variant, force, rng):
    """Trees of any depth, and rows that end within a block and at its end."""
    force(variant)
    model = grown(rng, [3, 0, 1, 40, 200, 12])
    shapes = packing.packed(model).codes.shapes
    assert shapes[:, 2].any()  # a tree goes on below its perfect part
    for n in (1, 511, 512, 513):
        check(device, model, some_values(rng, n, 4))


def test_leaf_ids(device, variant, force, rng):
    force(variant)
    model, values = grown(rng, [3, 0, 1, 40, 200, 12]), some_values(rng, 513, 4)
    assert isinstance(plan_codes(device, packing.packed(model).of_ids, 513, 2**20), CodeWalk)
    check_ids(device, model, values)


def test_wide_codes(device, variant, force, rng):
    """More borders than a byte counts, and columns for both sides of what is missing."""
    force(variant)
    thresholds = rng.normal(size=1000).astype(np.float32)
    model = grown(rng, [100] * 12, 2, thresholds)
    trees = packing.packed(model)
    assert (trees.codes.code, trees.columns.size) == (np.uint16, 4)
    check(device, model, some_values(rng, 600, 2, thresholds))


def test_places_of_a_small_tree(rng):
    """One split: everything below its two sides goes left, to the value of the side."""
    model = grown(rng, [1], 1, np.float32([0.5]))
    tree = model.trees[0]
    codes = packing.pack(model).codes
    assert codes.shapes.tolist() == [[0, TOP, 0]]
    assert codes.tops[2].tolist() == [0, 1]  # the root: column 0, border 0
    assert (codes.tops[3:, 1] == ABOVE_ALL).all()
    half = 1 << TOP - 1
    assert_same_bits(codes.ends.view(np.float32), np.repeat(tree.value[1:, 0], half))


def test_too_many_borders_walk_by_keys(device, rng):
    """65536 borders have one code more than 16 bits count."""

    def packed_tree(n_borders):
        node = np.arange(2 * n_borders + 1)
        left = np.where(node < n_borders, 1 + 2 * node, NO_NODE)
        tree = tree_of(rng, left, 1, np.float32([0]))
        own = np.where(node < n_borders, node, 0).astype(np.float32)
        tree = replace(tree, threshold=own, default_left=np.zeros(node.size, np.bool_))
        return packing.pack(model_of([tree], 1))

    assert packed_tree(65535).codes.code == np.uint16
    trees = packed_tree(65536)
    assert trees.codes is None
    assert plan_codes(device, trees, 10_000, 2**20) is None
