"""partition: every split node's rows go to its children; all other rows stay."""

import numpy as np
import pytest

from pyopencl_gbdt.device import choose
from pyopencl_gbdt.dtypes import NO_NODE
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.growth.partition import PartitionByCodes
from pyopencl_gbdt.primitives.checks import run
from tests.compare import assert_same_bits
from tests.reference.partition import goes_left, partition
from tests.steps.builders import (
    level_nodes,
    make_layout,
    make_parts,
    make_room_for_nodes,
    random_codes,
    set_level,
    spoil,
)

WG_SIZES, WG_SIZES_CPU = (1, 16, 64, 256), (1, 64)
CHUNK, DEPTH = 100, 5
BYTE = make_layout([9, 255, 1, 256], [True, True, False, False])
MISSING = make_layout([9, 1, 255], [True] * 3)
WORD = make_layout([300, 2, 1000, 1], [True, True, False, True])


def check(device, rng, wg, layout, counts, *, codes=None, default_left=None, trees=1, last=False):
    """Move the rows of a level; every tree has nodes of these counts, in an order of its own.

    The children of the ``last`` level are leaves.
    """
    n = int(np.sum(counts))
    codes = random_codes(rng, layout, n) if codes is None else codes
    parts = make_parts(
        device, layout, codes, max_depth=DEPTH + 2 - last, work_group_size=wg, outputs=trees
    )
    depth = max(0, parts.nodes.n_levels - 2 + last) if trees == 1 or len(counts) > 1 else 0
    tree_of = np.repeat(np.arange(trees), len(counts))
    counts = np.concatenate([counts, *(rng.permutation(counts) for _ in range(trees - 1))])
    splits = rng.random(len(counts)) < 0.8
    splits[0] = True
    nodes, task_begin = level_nodes(counts, CHUNK, splits)
    nodes["tree"] = tree_of
    nodes["feature"] = rng.integers(0, layout.n_features, len(counts))
    nodes["bin"] = rng.integers(0, layout.feature_bins[nodes["feature"]])
    nodes["default_left"] = rng.integers(0, 2, len(counts))
    if default_left is not None:
        nodes["default_left"] = default_left
    first = trees * (2**depth - 1)
    behind = first + len(counts)
    n_splits = int(splits.sum())
    nodes["left"] = np.where(splits, behind + 2 * (np.cumsum(splits) - 1), NO_NODE)
    # each split makes two nodes of one, so the tree above may hold fewer nodes than planned
    make_room_for_nodes(parts, first + 3 * len(counts))
    fresh = (behind - trees) // 2 + trees
    parts.arena.arrays["pool"] = device.empty((fresh + n_splits + 1, layout.n_codes, 2), np.int64)
    pool = spoil(parts.arena["pool"], rng)
    parts.arena.arrays["child_rows"] = device.zeros(2 * n_splits, np.uint32)
    set_level(parts, depth, nodes, row_tasks=task_begin[-1], first=first)
    levels = parts.arena["levels"].get()
    levels["count"][depth + 1] = 2 * n_splits
    parts.arena["levels"].set(levels)
    parts.arena["row_task_begin"].set(task_begin)
    before, after = ("odd_rows", "even_rows") if depth % 2 else ("even_rows", "odd_rows")
    rows = np.tile(np.arange(n, dtype=np.uint32), (trees, 1))
    rows = (rng.permuted(rows, axis=1) if depth else rows).ravel()
    if depth:  # the root has all rows, in order, unlisted
        parts.arena[before].set(rows)
    rows_before = parts.arena[before].get()
    expected = spoil(parts.arena[after], rng)
    run(PartitionByCodes(parts).move(depth, Batch(0, trees)))
    after_nodes, moved = parts.arena["nodes"].get(), parts.arena[after].get()
    for node in nodes[splits]:
        begin, end = node["begin"], node["begin"] + node["count"]
        mine, feature = rows[begin:end], node["feature"]
        lefts = goes_left(
            codes[mine, feature],
            node["bin"],
            layout.feature_bins[feature],
            node["default_left"] != 0,
        )
        sides = partition(mine, lefts)
        assert list(after_nodes["count"][node["left"] :][:2]) == [side.size for side in sides]
        if node["count"] > CHUNK:  # which task comes first is left to chance
            sides = [np.sort(side) for side in sides]
            middle = begin + sides[0].size
            moved[begin:middle].sort()
            moved[middle:end].sort()
        expected[begin:end] = np.concatenate(sides)
    assert_same_bits(moved, expected, f"rows of {len(counts)} nodes")
    assert_same_bits(parts.arena[before].get(), rows_before, "rows before")
    children = after_nodes["count"][behind : behind + 2 * n_splits]
    assert_same_bits(parts.arena["child_rows"].get(), children, "rows of the children")
    leaves = depth + 1 == parts.nodes.n_levels
    if parts.rows.cells_to_clear and not leaves:  # what one task of the histogram builds, it clears
        several = nodes["count"][splits] // 2 > parts.ways.variant("histogram").params["chunk"]
        pool[fresh : fresh + n_splits][several] = 0
    assert_same_bits(parts.arena["pool"].get(), pool, "pool")


@pytest.fixture(autouse=True)
def small_chunks(device, force):
    force(choose("partition", device.caps), chunk=CHUNK)
    # the histogram variant that has others clear for it
    force(choose("histogram", device.caps, "local_atomic"), chunk=CHUNK)


@pytest.mark.parametrize("layout", [BYTE, WORD], ids=["u8", "u16"])
def test_equals_twin(device, rng, wg, layout):
    if layout is WORD and device.caps.kind == "cpu":
        wg = 1  # a build less
    for counts in (
        [2],
        [CHUNK - 1],
        [CHUNK, CHUNK + 1],
        [3000],
        [2, 3, 2],
        [700, 1, 256, 99, 1200],
        rng.integers(1, 400, 32),
    ):
        check(device, rng, wg, layout, counts)


def test_several_trees_at_a_time(device, rng, wg):
    check(device, rng, wg, BYTE, [500], trees=3)  # roots
    check(device, rng, wg, BYTE, [CHUNK, CHUNK + 1, 700, 2, 30], trees=3)


def test_no_sums_of_leaves_are_cleared(device, rng, wg):
    check(device, rng, wg, BYTE, [500, 3, 1, 200], last=True)


def test_all_missing(device, rng, wg):
    for default_left in (0, 1):
        codes = np.tile(MISSING.feature_bins, (500, 1)).astype(np.uint8)
        check(device, rng, wg, MISSING, [450, 50], codes=codes, default_left=default_left)
