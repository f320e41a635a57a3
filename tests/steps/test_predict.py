"""predict: margins and leaf ids equal those of a walk row by row, bit by bit."""

from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.sets import joined
from pyopencl_gbdt.model.tree import NO_NODE, Tree
from pyopencl_gbdt.prediction import borders, packing, predict
from pyopencl_gbdt.prediction import margins as prediction
from tests.compare import assert_same_bits
from tests.reference import predict as twin

KERNEL = "predict"
#: Thresholds and values that break careless comparisons.
SPECIAL = np.float32(
    [0.0, -0.0, 1e-40, -1e-40, 1.1754944e-38, 1.0, 1.0000001, -1.0, 3.4e38, -3.4e38]
)


def random_tree(rng, n_features, n_splits, thresholds):
    """A tree whose nodes split in breadth-first order, at random."""
    left, ends = [NO_NODE], [0]
    for _ in range(n_splits):
        node = ends.pop(rng.integers(0, max(1, len(ends) // 2)))
        ends += [len(left), len(left) + 1]
        left += [NO_NODE, NO_NODE]
        left[node] = len(left) - 2
    order = breadth_first(left)
    left, rank = np.array(left)[order], np.argsort(order)
    return tree_of(rng, np.where(left == NO_NODE, NO_NODE, rank[left]), n_features, thresholds)


def tree_of(rng, left, n_features, thresholds):
    """A tree with these left children, numbered breadth-first, and anything else at random."""
    leaf, n = left == NO_NODE, left.size
    zero = np.float32(0)
    return Tree(
        left=left.astype(np.int32),
        right=np.where(leaf, NO_NODE, left + 1).astype(np.int32),
        parent=np.append(NO_NODE, np.repeat(np.flatnonzero(~leaf), 2)).astype(np.int32),
        feature=np.where(leaf, 0, rng.integers(0, n_features, n)).astype(np.int32),
        threshold=np.where(leaf, zero, rng.choice(thresholds, n)).astype(np.float32),
        default_left=~leaf & (rng.random(n) < 0.5),
        split_kind=np.zeros(n, np.uint8),
        value=np.where(leaf, rng.normal(size=n), 0).astype(np.float32)[:, None],
        weight=np.zeros((n, 1), np.float32),
        gain=np.zeros(n, np.float32),
        sum_hessian=np.zeros(n, np.float32),
    )


def breadth_first(left):
    order, at = [0], 0
    while at < len(order):
        child = left[order[at]]
        order += [child, child + 1] if child != NO_NODE else []
        at += 1
    return np.array(order)


def with_sets(rng, tree, sizes, nodes=None):
    """The tree, with sets at half of the splits, or at some nodes; `sizes`: words of a set."""
    inner = ~tree.is_leaf
    by_set = inner & (rng.random(tree.n_nodes) < 0.5) if nodes is None else inner & nodes
    sets = [np.zeros(0, np.uint32)] * tree.n_nodes
    for node in np.flatnonzero(by_set):
        sets[node] = rng.integers(0, 2**32, rng.choice(sizes), np.uint32) | np.uint32(2**31)
    words, begin = joined(sets)
    threshold = np.where(by_set, np.float32(0), tree.threshold)
    kind = by_set.astype(np.uint8)
    return replace(tree, threshold=threshold, split_kind=kind, sets=words, set_begin=begin)


def codes_of(rng, n, n_features, most):
    """Codes of levels, seen and unseen, and what are none."""
    odd = np.float32([np.nan, -1, -0.5, -0.0, 0.5, 1e-40, np.inf, -np.inf, 2**31, 2**24])
    values = rng.integers(0, most, (n, n_features)).astype(np.float32)
    some = rng.random((n, n_features)) < 0.3
    values[some] = rng.choice(odd, int(some.sum()))
    return values


def check_ids(device, model, values):
    """Leaf ids of all trees but the first, and of the last one before the others."""
    wanted, n = twin.leaf_ids(model, values), len(model.trees)
    trees = [n - 1, *range(1, n - 1)]
    got = prediction.leaf_ids(model, values, device, trees)
    assert_same_bits(got, wanted[:, trees], f"ids of {values.shape}")


@pytest.mark.parametrize("n", [15, 16, 129])
def test_leaf_ids(device, variant, force, rng, monkeypatch, n):
    """Of numbers and of sets, below the upper levels of a tree, and in pieces of rows."""
    force(variant)
    chain = np.array([1, 3, -1, 5, -1, 7, -1, 9, -1, 11, -1, -1, -1])
    trees = [*ensemble(rng, 5, 3, np.float32([0.5, 7, 90])).trees, tree_of(rng, chain, 3, SPECIAL)]
    values = codes_of(rng, n, 3, 100)
    check_ids(device, model_of(trees, 3), values)
    monkeypatch.setattr(prediction, "_PIECE_BYTES", 40 * 3 * 4)
    check_ids(device, model_of([with_sets(rng, tree, [1, 2]) for tree in trees], 3), values)


@pytest.mark.parametrize("n", [15, 16, 129, 300])
def test_sets_of_codes(device, variant, force, rng, n):
    """Beside numbers, also of the same feature; with a tree that goes on below its upper part."""
    force(variant)
    chain = np.array([1, 3, -1, 5, -1, 7, -1, 9, -1, 11, -1, -1, -1])
    trees = ensemble(rng, 12, 3, np.float32([0.5, 7, 90])).trees
    trees.append(tree_of(rng, chain, 3, SPECIAL))
    model = model_of([with_sets(rng, tree, [1, 2, 40]) for tree in trees], 3)
    check(device, model, codes_of(rng, n, 3, 1400))


def test_sets_that_would_take_too_much_memory(device, variant, force, rng, monkeypatch):
    force(variant)
    monkeypatch.setattr(borders, "MOST_WORDS", 5)
    tree = with_sets(rng, random_tree(rng, 2, 9, SPECIAL), [1])
    assert packing.pack(model_of([tree], 2)).set_keys is None
    check(device, model_of([tree], 2), codes_of(rng, 50, 2, 40))


def ensemble(rng, n_trees, n_features, thresholds, n_splits=15):
    trees = [
        random_tree(rng, n_features, int(rng.integers(0, n_splits + 1)), thresholds)
        for _ in range(n_trees)
    ]
    return model_of(trees, n_features)


def model_of(trees, n_features):
    return Ensemble(trees, "reg:squarederror", n_features, base_margin=0.25, base_score=0.25)


def check(device, model, values):
    got = prediction.predict_margins(model, values, device)
    assert_same_bits(got, twin.predict(model, values), f"margins of {values.shape}")


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 127, 128, 129, 255, 256, 257, 700])
def test_equals_walk(device, variant, force, rng, n):
    force(variant)
    thresholds = rng.normal(size=50).astype(np.float32)
    values = rng.normal(size=(n, 4)).astype(np.float32)
    values[rng.random((n, 4)) < 0.2] = np.nan
    hit = rng.random((n, 4)) < 0.3  # exactly at a threshold, hence to the right
    values[hit] = rng.choice(thresholds, int(hit.sum()))
    check(device, ensemble(rng, 10, 4, thresholds), values)


def test_special_values(device, variant, force, rng):
    force(variant)
    nan = np.array([0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF], np.uint32).view(np.float32)
    values = rng.choice(np.concatenate([SPECIAL, nan]), (500, 3))
    check(device, ensemble(rng, 20, 3, SPECIAL), values)


def test_no_trees_stumps_and_many_launches(device, variant, force, rng, monkeypatch):
    force(variant)
    values = rng.normal(size=(100, 2)).astype(np.float32)
    check(device, ensemble(rng, 0, 2, SPECIAL), values)
    check(device, ensemble(rng, 5, 2, SPECIAL, n_splits=0), values)
    monkeypatch.setattr(prediction, "rows_a_launch", lambda *_: 50)
    monkeypatch.setattr(prediction, "_PIECE_BYTES", 2 * 4 * 17)
    check(device, ensemble(rng, 10, 2, SPECIAL), values)


@pytest.mark.parametrize("n", [1, 8, 9, 127, 128, 129, 300])
def test_groups_take_several_blocks(device, variant, force, rng, monkeypatch, n):
    force(variant, **({"rows": 8} if variant.params["rows"] else {}))
    monkeypatch.setattr(predict, "_GROUPS", 3)
    monkeypatch.setattr(predict, "_FEW_ROWS", 1)
    values = rng.choice(np.append(SPECIAL, np.float32(np.nan)), (n, 3))
    check(device, ensemble(rng, 6, 3, SPECIAL), values)


def test_infinite_values_are_not_missing(device, variant, force, rng):
    force(variant)
    limits = np.float32([-np.inf, np.inf, np.nan, -3.4028235e38, 3.4028235e38, 0])
    thresholds = np.float32([-3.4028235e38, 3.4028235e38, 0, -0.0])
    check(device, ensemble(rng, 20, 3, thresholds), rng.choice(limits, (300, 3)))


@pytest.mark.parametrize("depth", [1, 2, 3, 6])
def test_full_trees(device, variant, force, rng, depth):
    """Every level is full: nothing is laid out in vain, nothing is behind."""
    force(variant)
    thresholds = rng.normal(size=50).astype(np.float32)
    inner, n = 2**depth - 1, 2 ** (depth + 1) - 1
    trees = []
    for _ in range(3):
        left = np.full(n, NO_NODE)
        left[:inner] = 1 + 2 * np.arange(inner)
        trees.append(tree_of(rng, left, 5, thresholds))
    packed = packing.pack(model_of(trees, 5))
    assert packed.shapes[:, 1].tolist() == [max(depth, 2)] * 3
    assert not packed.goes_on
    check(device, model_of(trees, 5), rng.normal(size=(150, 5)).astype(np.float32))


def test_shapes_of_every_kind_together(device, variant, force, rng):
    """Lone leaves, stumps, chains to either side, bushes and large trees, with missing values."""
    force(variant)
    thresholds = rng.normal(size=200).astype(np.float32)
    trees = []
    for n_splits in (0, 1, 40, 0, 3, 200, 7, 90, 2):
        for side in (0, 1, None):
            ends, left, at = [0], [NO_NODE], 0
            for _ in range(n_splits):  # breadth-first: the first end or the last one splits
                if side is None:
                    at = ends.pop(0)
                else:
                    at = ends[-2 + side] if len(ends) > 1 else ends[0]
                    ends = []
                ends += [len(left), len(left) + 1]
                left[at] = len(left)
                left += [NO_NODE, NO_NODE]
            trees.append(tree_of(rng, np.array(left), 6, thresholds))
    model = model_of([trees[i] for i in rng.permutation(len(trees))], 6)
    assert packing.pack(model).goes_on
    values = rng.normal(size=(200, 6)).astype(np.float32)
    values[rng.random(values.shape) < 0.3] = np.nan
    check(device, model, values)


def test_wide_data_of_which_few_columns_are_asked_for(device, variant, force, rng):
    force(variant)
    values = rng.normal(size=(140, 3000)).astype(np.float32)
    values[rng.random(values.shape) < 0.2] = np.nan
    model = ensemble(rng, 10, 3000, rng.normal(size=50).astype(np.float32))
    assert packing.pack(model).columns.size < 300
    check(device, model, values)


def test_values_are_read_only_and_stay(device, variant, force, rng):
    force(variant)
    values = rng.normal(size=(300, 4)).astype(np.float32)[1:]  # not aligned to a cache line either
    values.setflags(write=False)
    before = values.copy()
    check(device, ensemble(rng, 5, 4, SPECIAL), values)
    assert_same_bits(values, before)


@pytest.mark.parametrize("n_features", [1, 3, 4, 28, 32, 33])
@pytest.mark.parametrize("offset", [0, 1, 4, 31])
@pytest.mark.parametrize("most", [1, 7, 1000])
def test_pieces_begin_aligned_where_they_can(monkeypatch, n_features, offset, most):
    monkeypatch.setattr(prediction, "_WORTH_ALIGNING", 0)
    flat = np.zeros(200 * n_features + 64, np.float32)
    begin = (-flat.ctypes.data % 128) // 4 + offset
    values = flat[begin : begin + 200 * n_features].reshape(200, n_features)
    pieces = list(prediction._pieces(values, most, borrows=True))
    rows = [row for piece in pieces for row in range(200)[piece]]
    assert rows == list(range(200))
    assert max(len(range(200)[piece]) for piece in pieces) <= most
    starts = [values[piece].ctypes.data % 128 for piece in pieces]
    can = [row for row in range(32) if (4 * offset + row * 4 * n_features) % 128 == 0]
    if most == 1000:
        assert not can or starts[-1] == 0
        assert len(pieces) == (2 if can and can[0] else 1)
    whole = list(prediction._pieces(values, most, borrows=False))
    assert [piece.start for piece in whole] == list(range(0, 200, most))


def test_aligned_pieces_give_the_same(device, variant, force, rng, monkeypatch):
    force(variant)
    monkeypatch.setattr(prediction, "_WORTH_ALIGNING", 0)
    values = rng.normal(size=(300, 5)).astype(np.float32)
    check(device, ensemble(rng, 5, 5, SPECIAL), values[1:])


def test_other_layouts_of_values(device, rng):
    model, values = ensemble(rng, 5, 4, SPECIAL), rng.normal(size=(50, 8)).astype(np.float32)
    check(device, model, np.asfortranarray(values[:, :4]))
    check(device, model, values[:, ::2])


def test_where_the_trees_do_not_fit(device, variant, force, rng, monkeypatch):
    """Trees that a device cannot hold once more are walked as they are."""
    force(variant)
    model, values = ensemble(rng, 5, 4, SPECIAL), rng.normal(size=(50, 4)).astype(np.float32)
    packed = packing.pack(model)
    monkeypatch.setattr(device, "caps", replace(device.caps, max_alloc_bytes=packed.nodes.nbytes))
    assert isinstance(predict.plan_walk(device, packed, 50, 4096), predict.RowWalk)
    check(device, model, values)


def test_a_deep_tree(device, variant, force, rng):
    force(variant)
    n_splits = 60
    left = np.full(2 * n_splits + 1, NO_NODE, np.int32)
    left[np.arange(0, 2 * n_splits, 2)] = np.arange(1, 2 * n_splits, 2)
    parent = np.concatenate([[NO_NODE], np.repeat(np.arange(0, 2 * n_splits, 2), 2)])
    leaf, n = left == NO_NODE, left.size
    tree = Tree(
        left=left,
        right=np.where(leaf, NO_NODE, left + 1).astype(np.int32),
        parent=parent.astype(np.int32),
        feature=np.zeros(n, np.int32),
        threshold=np.where(leaf, 0, np.arange(n)).astype(np.float32),
        default_left=np.zeros(n, np.bool_),
        split_kind=np.zeros(n, np.uint8),
        value=np.where(leaf, np.arange(n), 0).astype(np.float32)[:, None],
        weight=np.zeros((n, 1), np.float32),
        gain=np.zeros(n, np.float32),
        sum_hessian=np.zeros(n, np.float32),
    )
    model = Ensemble([tree], "reg:squarederror", 1, base_margin=0.0, base_score=0.0)
    check(device, model, np.arange(-1, 130, 0.5, dtype=np.float32)[:, None])
