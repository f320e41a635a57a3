"""interleaved: nodes find their entries in the data's order; splits are those of histograms."""

import numpy as np
import pytest

from pyopencl_gbdt.device import choose
from pyopencl_gbdt.dtypes import NO_NODE, QUANTA
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.growth import recipe
from pyopencl_gbdt.growth.entries import EntrySizes
from pyopencl_gbdt.growth.exact import ExactSearch
from pyopencl_gbdt.primitives.checks import run
from tests.compare import assert_same_bits
from tests.reference.columns import goes_left
from tests.reference.interleaved import entries_by_node, pieces_of_stretches
from tests.steps.builders import (
    entries_of,
    level_nodes,
    make_layout,
    make_parts,
    random_codes,
    set_level,
    spoil,
)
from tests.steps.test_exact import CHUNK, SPARSE, WHOLE, check
from tests.steps.test_split import KINDS, MIXED, RULES

WG_SIZES = (1, 64, 256)
WG_SIZES_CPU = (1, 64, pytest.param(256, marks=pytest.mark.thorough))


@pytest.fixture(autouse=True)
def small_stretches(device, force, monkeypatch):
    monkeypatch.setattr(recipe, "MOST_WALKED_ROWS", 0)  # else CPUs walk whole columns
    force(choose("exact", device.caps), chunk=CHUNK)
    force(choose("interleaved", device.caps), chunk=CHUNK, depth=3)


class Level:
    """Nodes of a level of some trees, by the nodes of rows; some rows are in leaves of before.

    Attributes
    ----------
    nodes : array of NODE, shape (n,)
    row_nodes : uint32 array, shape (n_trees, n_rows)
    first : int
        Id of the first node.
    """

    def __init__(self, device, rng, wg, layout, n_rows, counts, max_depth=4):
        self.codes, trees = random_codes(rng, layout, n_rows), len(counts)
        self.parts = make_parts(
            device, layout, self.codes, work_group_size=wg, outputs=trees, tree_method="exact",
            max_depth=max_depth,
        )  # fmt: skip
        self.layout, self.n_trees, self.interleaved = (
            layout,
            trees,
            ExactSearch(self.parts).interleaved,
        )
        self.rows, self.places = entries_of(layout, self.codes, np.arange(n_rows))
        self.counts, self.begins = counts, np.cumsum([0, *counts])
        self.nodes, _ = level_nodes([0] * sum(counts), CHUNK)
        self.nodes["tree"] = np.repeat(np.arange(trees), counts)
        self.row_nodes = np.empty((trees, n_rows), np.uint32)

    def set(self, depth, left=NO_NODE):
        self.nodes["depth"], self.nodes["left"] = depth, left
        self.first = set_level(self.parts, depth, self.nodes)
        return self.first

    def draw(self, rng):
        """Draw the nodes of rows, where the last node of a tree has few."""
        for tree, n in enumerate(self.counts):
            share = np.append(np.ones(n), 0.3) / (n + 0.3)  # the others are in a leaf
            share = share[[*range(n - 1), n, n - 1]] if n else share
            drawn = rng.choice(n + 1, self.row_nodes.shape[1], p=share)
            own = self.first + self.begins[tree] + drawn
            self.row_nodes[tree] = np.where(drawn == n, tree, own)
        self.parts.arena["row_nodes"].set(self.row_nodes)

    def each(self, chunk=CHUNK):
        """Every tree with the index of its first node, and its pieces by the twin."""
        for tree, n in enumerate(self.counts):
            low = int(self.begins[tree])
            own = (self.row_nodes[tree], self.first + low, n)
            yield tree, low, n, pieces_of_stretches(self.rows, self.places, *own, chunk)


def check_lists(level, rng):
    """List the pieces of a level's nodes; compare with the twin."""
    parts, n = level.parts, level.parts.features.columns.n_entries
    for name in ("entry_ranks", "spans", "first_places", "piece_at", "piece_begin", "node_rough"):
        spoil(parts.arena[name], rng)
    depth = int(level.nodes["depth"][0])
    run(level.interleaved.find(depth, Batch(0, level.n_trees)))
    found = {
        name: parts.arena[name].get()
        for name in ("entry_ranks", "spans", "first_places", "piece_at")
    }
    every = len(level.nodes)
    assert_same_bits(
        parts.arena["piece_begin"].get()[: every + 1],
        np.uint32(np.arange(every + 1) * EntrySizes.of(parts).n_stretches),
        "",
    )
    assert not parts.arena["node_rough"].get()[:every].any()
    counts = parts.arena["nodes"].get()["count"][level.first :]
    for tree, low, n_nodes, wanted in level.each():
        if n_nodes == 0:
            continue
        mine = slice(
            low * EntrySizes.of(parts).n_stretches,
            (low + n_nodes) * EntrySizes.of(parts).n_stretches,
        )
        assert_same_bits(found["entry_ranks"][tree * n : (tree + 1) * n], wanted.ranks, "ranks")
        spans = (wanted.begin | wanted.end << 16).ravel()
        assert_same_bits(found["spans"][mine], spans.astype(np.uint32), "spans")
        assert_same_bits(found["first_places"][mine], wanted.first_places.ravel(), "places")
        assert_same_bits(found["piece_at"][mine], wanted.before.ravel(), "entries before")
        sizes = (wanted.end - wanted.begin).sum(axis=1)
        assert counts[low : low + n_nodes].tolist() == sizes.tolist()


def test_pieces_equal_the_twins(device, rng, wg):
    for layout, n_rows, counts in (
        (MIXED, 150, [6]),
        (WHOLE, CHUNK, [2]),  # a feature fills a stretch
        (SPARSE, 20, [1]),
        (MIXED, 90, [4, 0, 8, 1]),  # a tree is finished
    ):
        level = Level(device, rng, wg, layout, n_rows, counts)
        level.set(3)
        level.draw(rng)
        check_lists(level, rng)


def test_most_nodes(device, rng, wg, force):
    force(choose("interleaved", device.caps), chunk=CHUNK, depth=6)
    level = Level(device, rng, wg, WHOLE, 300, [128, 128], max_depth=8)
    level.set(7)
    level.draw(rng)
    check_lists(level, rng)


def test_entries_move_to_their_nodes(device, rng, wg, force):
    for depth in (2, 3):  # to the list of either parity
        force(choose("interleaved", device.caps), chunk=CHUNK, depth=depth - 1)
        level = Level(device, rng, wg, MIXED, 150, [4, 0, 3])
        level.set(depth)
        level.draw(rng)
        parts, side = level.parts, "odd" if depth % 2 else "even"
        quanta = rng.integers(
            -99, 99, parts.arena[EntrySizes.of(parts).quanta_of_roots].shape
        ).astype(QUANTA)
        parts.arena[EntrySizes.of(parts).quanta_of_roots].set(quanta)
        assert EntrySizes.of(parts).quanta_of_roots != f"{side}_quanta"
        run(level.interleaved.sort(depth, Batch(0, 3)))
        begin, end = parts.arena["entry_begin"].get(), parts.arena["entry_end"].get()
        names, at = ("rows", "places", "quanta"), 0
        moved = [parts.arena[f"{side}_{name}"].get() for name in names]
        for tree, low, n_nodes, _ in level.each():
            own = (level.row_nodes[tree], level.first + low, n_nodes)
            for index, mine in enumerate(entries_by_node(level.rows, *own)):
                to, id_ = slice(at, at + mine.size), level.first + low + index
                assert (begin[id_], end[id_]) == (to.start, to.stop)
                of_tree = quanta[tree * level.rows.size :]
                for values, all_of in zip(moved, (level.rows, level.places, of_tree), strict=True):
                    assert_same_bits(values[to], all_of[mine], "entries")
                at = to.stop


def test_rows_follow_their_splits(device, rng, wg):
    level = Level(device, rng, wg, MIXED, 150, [4, 3])
    nodes, layout = level.nodes, level.layout
    nodes["feature"] = rng.integers(0, layout.n_features, len(nodes))
    nodes["bin"] = rng.integers(0, layout.feature_bins[nodes["feature"]])
    nodes["default_left"] = rng.integers(0, 2, len(nodes))
    splits = np.arange(len(nodes)) != 2
    left = level.set(2) + len(nodes) + 2 * (np.cumsum(splits) - 1)
    level.set(2, np.where(splits, left, NO_NODE))
    level.draw(rng)
    run(level.interleaved.find(2, Batch(0, 2)))
    wanted = level.row_nodes.copy()
    started = level.row_nodes.copy()  # as `follow` leaves them
    for index in np.flatnonzero(splits):
        node, tree = nodes[index], nodes["tree"][index]
        mine = np.flatnonzero(level.row_nodes[tree] == level.first + index).astype(np.uint32)
        own = np.isin(level.rows, mine)
        where = tuple(int(place) for place in layout.feature_offset[node["feature"] :][:2])
        entries = level.rows[own], level.places[own]
        lefts = goes_left(mine, entries, where, node["bin"], bool(node["default_left"]))
        wanted[tree, mine] = np.where(lefts, node["left"], node["left"] + 1)
        started[tree, mine] = node["left"] + (0 if node["default_left"] else 1)
    level.parts.arena["row_nodes"].set(started)
    run([level.interleaved.follow(2)])
    assert_same_bits(level.parts.arena["row_nodes"].get(), wanted, "nodes of rows")


@pytest.mark.parametrize("kind", KINDS)
def test_splits_equal_the_twins(device, rng, wg, kind):
    found = 0
    for params in RULES[::2]:
        counts = [300, 1, 40, 2, 7, 150]
        found += check(device, rng, MIXED, counts, kind, depth=3, work_group_size=wg, **params)
    assert found > 5


def test_splits_of_several_trees(device, rng, wg):
    trees = [0, 0, 1, 1, 2, 2]
    counts = [300, 1, 40, 90, 7, 150]
    assert check(device, rng, MIXED, counts, depth=2, trees=trees, work_group_size=wg)


@pytest.mark.few(1)
def test_constraints_and_masks(device, rng, wg):
    bounds = [(-0.1, 0.2), (-1e30, 1e30), (-3, 0), (0, 0.5)]
    counts, monotone = [300, 40, 90, 150], np.uint32([0, 1, 2, 0, 1])
    assert check(device, rng, MIXED, counts, depth=3, bounds=bounds, monotone=monotone,
                 work_group_size=wg)  # fmt: skip
    layout = make_layout([4] * 40, [True] * 40)
    allowed = rng.random((5, 40)) < 0.2
    allowed[1] = False
    found = check(device, rng, layout, [90, 60, 30, 40, 9], depth=3, allowed=allowed,
                  work_group_size=wg)  # fmt: skip
    assert found == 4


@pytest.mark.few(1)
def test_values_over_many_stretches(device, rng, wg):
    """A value goes on in stretches where a node has no entry of it, or none at all."""
    long = make_layout([2, 2], [False, True])
    assert check(device, rng, long, [20 * CHUNK + 3, 5, 40], depth=3, work_group_size=wg,
                 min_child_weight=0) == 3  # fmt: skip
    tiny = make_layout([2] * 200, [False] * 200)
    assert check(device, rng, tiny, [3] * 8, depth=3, work_group_size=wg, min_child_weight=0) == 8
