"""partition: a stable permutation of every split node's rows; all other rows stay."""

from __future__ import annotations

import numpy as np
import pytest

from pyopencl_gbdt.device import choose
from pyopencl_gbdt.dtypes import NO_NODE
from pyopencl_gbdt.reference.partition import goes_left, partition
from pyopencl_gbdt.steps.partition import Partition
from tests.compare import assert_same_bits
from tests.steps.builders import (
    level_nodes,
    make_layout,
    make_workspace,
    random_codes,
    set_level,
    spoil,
)

WG_SIZES, WG_SIZES_CPU = (1, 16, 64, 256), (1, 64)
CHUNK, DEPTH = 100, 5
BYTE = make_layout([9, 255, 1, 256], [True, True, False, False])
MISSING = make_layout([9, 1, 255], [True] * 3)
WORD = make_layout([300, 2, 1000, 1], [True, True, False, True])


def place(ws, splitting, task_begin):
    """Do what ``grow.place`` does for rows: lefts before tasks, children's places."""
    task_left = ws["task_left"].get()
    before = np.concatenate([[0], np.cumsum(task_left, dtype=np.int64)])[: task_left.size]
    ws["task_left"].set(before)
    nodes = ws["nodes"].get()
    ends = np.append(task_begin[1:], ws["levels"].get()["row_tasks"].max())
    for node, begin, end in zip(splitting, task_begin, ends, strict=True):
        nodes["begin"][node["left"]] = node["begin"]
        nodes["begin"][node["left"] + 1] = node["begin"] + before[end] - before[begin]
    ws["nodes"].set(nodes)


def check(device, rng, wg, layout, counts, *, codes=None, default_left=None):
    n = int(np.sum(counts))
    codes = random_codes(rng, layout, n) if codes is None else codes
    ws = make_workspace(device, layout, codes, max_depth=DEPTH + 1, work_group_size=wg)
    depth = ws.max_depth - 1
    splits = rng.random(len(counts)) < 0.8
    splits[0] = True
    nodes, task_begin = level_nodes(counts, CHUNK, splits)
    nodes["feature"] = rng.integers(0, layout.n_features, len(counts))
    nodes["bin"] = rng.integers(0, layout.feature_bins[nodes["feature"]])
    nodes["default_left"] = rng.integers(0, 2, len(counts))
    if default_left is not None:
        nodes["default_left"] = default_left
    first = 2**depth - 1
    behind = first + len(counts)
    nodes["left"] = np.where(splits, behind + 2 * (np.cumsum(splits) - 1), NO_NODE)
    # each split makes two nodes of one, so the tree above may hold fewer nodes than planned
    ws.arrays["nodes"] = device.zeros(first + 3 * len(counts), ws["nodes"].dtype)
    set_level(ws, depth, nodes, row_tasks=task_begin[-1], first=first)
    ws["row_task_begin"].set(task_begin)
    before, after = ("odd_rows", "even_rows") if depth % 2 else ("even_rows", "odd_rows")
    rows = rng.permutation(n).astype(np.uint32)
    ws[before].set(rows)
    expected = spoil(ws[after], rng)
    step = Partition(ws)
    step.count(depth)()
    place(ws, nodes[splits], task_begin[:-1][splits])
    step.scatter(depth)()
    for node in nodes[splits]:
        begin, end = node["begin"], node["begin"] + node["count"]
        mine, feature = rows[begin:end], node["feature"]
        lefts = goes_left(
            codes[mine, feature],
            node["bin"],
            layout.feature_bins[feature],
            node["default_left"] != 0,
        )
        expected[begin:end] = np.concatenate(partition(mine, lefts))
    assert_same_bits(ws[after].get(), expected, f"rows of {len(counts)} nodes")
    assert_same_bits(ws[before].get(), rows, "rows before")


@pytest.fixture(autouse=True)
def small_chunks(device, force):
    force(choose("partition", device.caps), chunk=CHUNK)


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


def test_all_missing(device, rng, wg):
    for default_left in (0, 1):
        codes = np.tile(MISSING.feature_bins, (500, 1)).astype(np.uint8)
        check(device, rng, wg, MISSING, [450, 50], codes=codes, default_left=default_left)


def test_law_a_stable_permutation(rng):
    rows, lefts = rng.permutation(1000).astype(np.uint32), rng.random(1000) < 0.3
    left, right = partition(rows, lefts)
    assert_same_bits(np.sort(np.concatenate([left, right])), np.sort(rows))
    place = np.argsort(rows)
    assert (np.diff(place[left]) > 0).all()
    assert (np.diff(place[right]) > 0).all()
