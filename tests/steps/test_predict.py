"""predict: margins equal those of a walk row by row, bit by bit."""

from __future__ import annotations

import numpy as np
import pytest

from pyopencl_gbdt import prediction
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.tree import NO_NODE, Tree
from pyopencl_gbdt.reference import predict as twin
from tests.compare import assert_same_bits

KERNEL = "predict"
#: Thresholds and values that break careless comparisons.
SPECIAL = np.float32(
    [0.0, -0.0, 1e-40, -1e-40, 1.1754944e-38, 1.0, 1.0000001, -1.0, 3.4e38, -3.4e38]
)


def random_tree(rng, n_features, n_splits, thresholds):
    """A tree whose nodes split in breadth-first order, at random."""
    left, parent, ends = [NO_NODE], [NO_NODE], [0]
    inner = []
    for _ in range(n_splits):
        node = ends.pop(rng.integers(0, max(1, len(ends) // 2)))
        inner.append(node)
        ends += [len(left), len(left) + 1]
        left += [NO_NODE, NO_NODE]
        parent += [node, node]
        left[node] = len(left) - 2
    order = breadth_first(left)
    rank = np.argsort(order)
    left, parent = np.array(left)[order], np.array(parent)[order]
    leaf = left == NO_NODE
    left = np.where(leaf, NO_NODE, rank[left]).astype(np.int32)
    n = left.size
    zero = np.float32(0)
    return Tree(
        left=left,
        right=np.where(leaf, NO_NODE, left + 1).astype(np.int32),
        parent=np.where(parent == NO_NODE, NO_NODE, rank[parent]).astype(np.int32),
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


def ensemble(rng, n_trees, n_features, thresholds, n_splits=15):
    trees = [
        random_tree(rng, n_features, int(rng.integers(0, n_splits + 1)), thresholds)
        for _ in range(n_trees)
    ]
    return Ensemble(trees, "reg:squarederror", n_features, base_margin=0.25, base_score=0.25)


def check(device, model, values):
    got = prediction.predict_margins(model, values, device)
    assert_same_bits(got, twin.predict(model, values), f"margins of {values.shape}")


@pytest.mark.parametrize("n", [1, 63, 64, 65, 255, 256, 257, 700])
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
    monkeypatch.setattr(prediction, "_TREES_A_LAUNCH", 3)
    monkeypatch.setattr(prediction, "_PIECE_BYTES", 2 * 4 * 17)
    check(device, ensemble(rng, 10, 2, SPECIAL), values)


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
