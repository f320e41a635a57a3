"""columns and row_nodes: rows and entries of split nodes go to their children, in order."""

import numpy as np
import pytest

from pyopencl_gbdt.device import choose
from pyopencl_gbdt.dtypes import NO_NODE
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.growth import recipe
from pyopencl_gbdt.growth.columns import PartitionByColumns, UpdateMarginsByNode
from pyopencl_gbdt.growth.exact import TURNS, ExactSearch
from pyopencl_gbdt.primitives.checks import run
from tests.compare import assert_same_bits
from tests.reference.columns import goes_left, move_entries
from tests.steps.builders import (
    entries_of,
    level_nodes,
    make_layout,
    make_parts,
    make_room_for_nodes,
    random_codes,
    set_level,
    set_nodes,
    spoil,
)

WG_SIZES = (1, 64, 256)
WG_SIZES_CPU = (1, 64, pytest.param(256, marks=pytest.mark.thorough))
CHUNK, SEARCH_CHUNK, OTHERS = 96, 64, 7
MIXED = make_layout([9, 255, 1, 300], [True, True, False, False])
MISSING = make_layout([9, 1, 255], [True] * 3)


@pytest.fixture(autouse=True)
def small_chunks(device, force, monkeypatch):
    monkeypatch.setattr(recipe, "MOST_WALKED_ROWS", 0)  # else CPUs walk whole columns
    force(choose("interleaved", device.caps), depth=0)
    force(choose("columns", device.caps), chunk=CHUNK)
    force(choose("exact", device.caps), chunk=SEARCH_CHUNK)


def partition_of(parts):
    search = ExactSearch(parts)
    search.interleaved = None
    return PartitionByColumns(parts, search)


class Trees:
    """Nodes of a depth in some trees, with their rows and entries; some rows are in other leaves.

    Attributes
    ----------
    nodes : array of NODE, shape (n,)
    rows : list of uint32 array
    first : int
        Id of the first node.
    begin, end : int array, shape (n,)
        Positions of the nodes' entries in a list of all trees.
    """

    def __init__(self, device, rng, wg, layout, counts, *, codes=None, depth=3, trees=1, **params):
        counts = list(counts)
        n = sum(counts) + (OTHERS if depth else 0)
        self.codes = random_codes(rng, layout, n) if codes is None else codes
        self.layout, self.depth, self.n_trees = layout, depth, trees
        self.parts = make_parts(
            device, layout, self.codes, work_group_size=wg, outputs=trees, tree_method="exact",
            **{"max_depth": 5, **params},
        )  # fmt: skip
        orders = [rng.permutation(counts) for _ in range(trees)]
        self.nodes, _ = level_nodes(np.concatenate(orders), CHUNK)
        self.nodes["tree"] = np.repeat(np.arange(trees), len(counts))
        self.nodes["feature"] = rng.integers(0, layout.n_features, len(self.nodes))
        self.nodes["bin"] = rng.integers(0, layout.feature_bins[self.nodes["feature"]])
        self.nodes["default_left"] = rng.integers(0, 2, len(self.nodes))
        self.rows, self.row_nodes = [], np.zeros((trees, n), np.uint32)
        self.first = trees * (2**depth - 1)
        for tree, order in enumerate(orders):
            shuffled = rng.permutation(n).astype(np.uint32) if depth else np.arange(n)
            ends = np.cumsum(order)
            self.rows += [np.sort(shuffled[e - c : e]) for c, e in zip(order, ends, strict=True)]
            self.row_nodes[tree] = tree  # a leaf of before
        for index, (node, mine) in enumerate(zip(self.nodes, self.rows, strict=True)):
            self.row_nodes[node["tree"], mine] = self.first + index
        self._place(device, rng)

    def _place(self, device, rng):
        """Set the arrays that say where nodes and entries are."""
        parts, behind = self.parts, self.first + len(self.nodes)
        n = parts.features.columns.n_entries
        make_room_for_nodes(parts, behind + 2 * len(self.nodes))
        for name in ("entry_begin", "entry_end"):
            parts.arena.arrays[name] = device.empty(behind + 2 * len(self.nodes), np.uint32)
        self.lists = {name: spoil(parts.arena[name], rng) for name in TURNS}
        self.source, self.target = ("odd", "even") if self.depth % 2 else ("even", "odd")
        self.entries, self.begin, at = [], [], 0
        for node, mine in zip(self.nodes, self.rows, strict=True):
            own = entries_of(self.layout, self.codes, mine)
            at = max(at, n * int(node["tree"]))
            if self.depth:
                for name, values in zip(("rows", "places"), own, strict=True):
                    self.lists[f"{self.source}_{name}"][at : at + own[0].size] = values
            to = slice(at, at + own[0].size)  # quanta are whatever is there
            own = (*own, self.lists[f"{self.source}_quanta"][to])
            self.entries.append(own)
            self.begin.append(at)
            at += own[0].size
        for name, values in self.lists.items():
            parts.arena[name].set(values)
        self.end = [a + own[0].size for a, own in zip(self.begin, self.entries, strict=True)]

    def check(self, rng, step=None, splits=None):
        """Move; compare everything that changes with the twin."""
        parts, depth, first = self.parts, self.depth, self.first
        picked, step = parts.nodes.policy.picks_leaves, depth if step is None else step
        splits = rng.random(len(self.nodes)) < 0.8 if splits is None else np.array(splits)
        behind = first + len(self.nodes)
        self.nodes["left"] = np.where(splits, behind + 2 * (np.cumsum(splits) - 1), NO_NODE)
        leaves = np.zeros(self.n_trees if depth else 0, self.nodes.dtype)
        leaves["left"] = NO_NODE
        set_nodes(parts, leaves)
        set_level(parts, depth, self.nodes, first=first)
        levels = np.zeros(parts.arena["levels"].size, parts.arena["levels"].dtype)
        levels[step] = (first, len(self.nodes), 0, 0)
        levels[step + 1] = (behind, 2 * int(splits.sum()), 0, 0)
        parts.arena["levels"].set(levels)
        if picked:
            picks = np.full(self.n_trees, NO_NODE)
            picks[self.nodes["tree"][splits]] = first + np.flatnonzero(splits)
            parts.arena["picked"].set(picks)
        for name, values in (("entry_begin", self.begin), ("entry_end", self.end)):
            parts.arena[name].set(np.uint32(values), first)
        parts.arena["row_nodes"].set(self.row_nodes)
        run(partition_of(parts).move(step, Batch(0, self.n_trees)))
        self.compare(np.flatnonzero(splits), behind, step)

    def compare(self, splits, behind, step):
        parts, offset = self.parts, self.layout.feature_offset
        row_nodes, moved = self.row_nodes.copy(), dict(self.lists)
        for name in ("rows", "places", "quanta"):
            moved[f"{self.target}_{name}"] = self.lists[f"{self.target}_{name}"].copy()
        pieces = [0]
        names = ("entry_begin", "entry_end", "nodes")
        begins, ends, nodes = (parts.arena[name].get() for name in names)
        for number, index in enumerate(splits):
            node, rows, entries = self.nodes[index], self.rows[index], self.entries[index]
            own = tuple(int(place) for place in offset[node["feature"] :][:2])
            left = goes_left(rows, entries[:2], own, node["bin"], bool(node["default_left"]))
            row_nodes[node["tree"], rows] = np.where(left, node["left"], node["left"] + 1)
            sides, at = move_entries(entries, rows[left]), self.begin[index]
            for child, side in enumerate(sides):
                to = slice(at, at + side[0].size)
                for name, values in zip(("rows", "places", "quanta"), side, strict=True):
                    moved[f"{self.target}_{name}"][to] = values
                at = to.stop
                found = behind + 2 * number + child
                assert (begins[found], ends[found]) == (to.start, to.stop), f"node {found}"
                assert nodes["count"][found] == side[0].size
                pieces.append(pieces[-1] - -side[0].size // SEARCH_CHUNK)
        assert_same_bits(parts.arena["row_nodes"].get(), row_nodes, "nodes of rows")
        for name, values in moved.items():
            assert_same_bits(parts.arena[name].get(), values, name)
        listed = parts.arena["piece_begin"].get()[: len(pieces)]
        assert_same_bits(listed, np.uint32(pieces), "pieces of the children")


def test_equals_twin(device, rng, wg):
    for counts, depth in (
        ([2, 5], 1),
        ([CHUNK // 4, CHUNK // 4 + 1], 2),  # features without missing values fill a piece
        ([1000, 3], 3),
        ([700, 1, 256, 99, 300, 2], 3),
        (rng.integers(1, 60, 14), 4),
    ):
        trees = Trees(device, rng, wg, MIXED, counts, depth=depth)
        trees.check(rng, splits=[True] + [bool(i % 4) for i in range(1, len(counts))])


def test_several_trees_at_a_time(device, rng, wg):
    Trees(device, rng, wg, MIXED, [300], depth=0, trees=3).check(rng, splits=[True, False, True])
    Trees(device, rng, wg, MIXED, [CHUNK, 101, 300, 2], depth=2, trees=3).check(rng)


@pytest.mark.few(1)
def test_picked_leaves(device, rng, wg):
    """One leaf of a tree splits, at any depth; a tree may have none."""
    trees = Trees(device, rng, wg, MIXED, [150, 80], depth=2, trees=3,
                  grow_policy="lossguide", max_leaves=8)  # fmt: skip
    trees.check(rng, step=3, splits=[False, True, False, False, True, False])


def test_all_missing(device, rng, wg):
    codes = np.tile(MISSING.feature_bins, (450 + OTHERS, 1)).astype(np.uint8)
    for default_left in (0, 1):
        trees = Trees(device, rng, wg, MISSING, [400, 50], codes=codes, depth=2)
        trees.nodes["default_left"] = default_left
        trees.check(rng, splits=[True, True])


def test_begin_gives_roots_all_entries(device, rng, wg):
    parts = Trees(device, rng, wg, MIXED, [300], depth=0, trees=3).parts
    run(partition_of(parts).begin(Batch(0, 3)))
    n = parts.features.columns.n_entries
    tasks = -(-n // SEARCH_CHUNK)
    assert parts.arena["entry_begin"].get()[:3].tolist() == [0, n, 2 * n]
    assert parts.arena["entry_end"].get()[:3].tolist() == [n, 2 * n, 3 * n]
    assert parts.arena["piece_begin"].get()[:4].tolist() == [0, tasks, 2 * tasks, 3 * tasks]


def test_leaves_are_added_by_the_rows_nodes(device, rng, wg):
    """Trees of an output one after the other, as the sum of floats depends on it."""
    codes = random_codes(rng, MIXED, 500)
    parts = make_parts(device, MIXED, codes, outputs=2, parallel=3, work_group_size=wg,
                        tree_method="exact", max_depth=2)  # fmt: skip
    leaf_values = rng.normal(size=parts.arena["nodes"].size).astype(np.float32)
    row_nodes = rng.integers(0, leaf_values.size, parts.arena["row_nodes"].shape).astype(np.uint32)
    margins = rng.normal(size=(2, 500)).astype(np.float32)
    for name, values in (
        ("node_values", leaf_values),
        ("row_nodes", row_nodes),
        ("margins", margins),
    ):
        parts.arena[name].set(values)
    run(UpdateMarginsByNode(parts, partition_of(parts)).add(Batch(0, 6)))
    for tree in range(6):
        margins[tree // 3] += leaf_values[row_nodes[tree]]
    assert_same_bits(parts.arena["margins"].get(), margins, "margins")


def test_law_a_stable_permutation(rng):
    codes = random_codes(rng, MIXED, 300)
    rows, places = entries_of(MIXED, codes, np.arange(300))
    lefts = np.flatnonzero(rng.random(300) < 0.3).astype(np.uint32)
    left, right = move_entries((rows, places), lefts)
    whole = np.concatenate([np.stack(left), np.stack(right)], axis=1)
    for side in (left, right):
        assert (np.diff(side[1].astype(np.int64)) >= 0).all()  # sorted by place still
    order, expected = np.lexsort(whole), np.lexsort((rows, places))
    assert_same_bits(whole[:, order], np.stack([rows, places])[:, expected], "entries")
