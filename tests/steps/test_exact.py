"""exact: along sorted entries, the choice of the histogram's twin, bit by bit."""

from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt.device import choose
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.growth import recipe
from pyopencl_gbdt.growth.entries import EntrySizes
from pyopencl_gbdt.growth.exact import TURNS, ExactSearch
from pyopencl_gbdt.primitives.checks import run
from tests.compare import assert_same_bits
from tests.reference.exact import best_split_of_entries
from tests.reference.gain import make_rule
from tests.reference.gradients import words
from tests.reference.histogram import histogram
from tests.reference.split import best_split
from tests.steps.builders import (
    allow,
    entries_of,
    level_nodes,
    make_layout,
    make_parts,
    random_codes,
    set_level,
    set_quanta,
    set_scale,
    spoil,
)
from tests.steps.test_split import KINDS, MIXED, RULES, SCALES, compare, random_quanta

WG_SIZES = (1, 64, 256)
WG_SIZES_CPU = (1, 64, pytest.param(256, marks=pytest.mark.thorough))
CHUNK = 64
WHOLE = make_layout([9, 1, 70, 16, 300], [False] * 5)
SPARSE = make_layout([3, 40], [True, True])


@pytest.fixture(autouse=True)
def small_chunks(device, force, monkeypatch):
    monkeypatch.setattr(recipe, "MOST_WALKED_ROWS", 0)  # else CPUs walk whole columns
    force(choose("interleaved", device.caps), depth=0)
    force(choose("exact", device.caps), chunk=CHUNK)


def node_rows(counts):
    """The rows of nodes whose rows lie one after the other."""
    ends = np.cumsum(counts)
    return [np.arange(end - count, end) for count, end in zip(counts, ends, strict=True)]


def set_entries(parts, layout, codes, nodes, rows, quanta, first):
    """List every node's entries, those of a tree behind the tree before, and the pieces."""
    n = parts.features.columns.n_entries
    begin, end = np.zeros((2, parts.arena["entry_begin"].size), np.uint32)
    lists = {name: spoil(parts.arena[name], np.random.default_rng(0)) for name in TURNS}
    side, at = "odd" if nodes["depth"][0] % 2 else "even", 0
    for index, (node, mine) in enumerate(zip(nodes, rows, strict=True)):
        own = entries_of(layout, codes, mine)
        at = max(at, n * int(node["tree"]))
        to = slice(at, at + own[0].size)
        begin[first + index], end[first + index] = to.start, to.stop
        if node["depth"]:
            lists[f"{side}_rows"][to], lists[f"{side}_places"][to] = own
            lists[f"{side}_quanta"][to] = words(quanta[node["tree"]])[0][own[0]]
        at = to.stop
    for name, values in {**lists, "entry_begin": begin, "entry_end": end}.items():
        parts.arena[name].set(values)
    parts.arena.device.clear(parts.arena["node_rough"])
    sizes = (end - begin)[first : first + len(nodes)].astype(np.int64)
    pieces = np.zeros(parts.arena["piece_begin"].size, np.uint32)
    pieces[: len(nodes) + 1] = np.concatenate([[0], np.cumsum(-(-sizes // CHUNK))])
    parts.arena["piece_begin"].set(pieces)


def set_data_order(parts, nodes, rows, quanta, first):
    """Say which rows are in which node, and the quanta of all entries, as roots have them."""
    row_nodes = np.zeros(
        parts.arena["row_nodes"].shape, np.uint32
    )  # others are in a leaf of before
    for index, (node, mine) in enumerate(zip(nodes, rows, strict=True)):
        row_nodes[node["tree"], mine] = first + index
    parts.arena["row_nodes"].set(row_nodes)
    low = words(quanta.reshape(-1, 2))[0].reshape(quanta.shape)
    every = low[:, parts.rows.pages[0].columns.rows.get()]
    parts.arena[EntrySizes.of(parts).quanta_of_roots].set(every.reshape(-1, 2))


def check(device, rng, layout, counts, kind="random", *, depth=4, codes=None, trees=None,
          bounds=None, allowed=None, **params):  # fmt: skip
    """Search the nodes of a level; compare with the twin by histograms; return how many split."""
    codes = random_codes(rng, layout, int(np.sum(counts))) if codes is None else codes
    n_trees = 1 if trees is None else max(trees) + 1
    rows, quanta = node_rows(counts), random_quanta(rng, len(codes), kind)
    if allowed is not None:
        params["colsample_bynode"] = 0.5
    parts = make_parts(device, layout, codes, max_depth=depth + 1, outputs=n_trees,
                        tree_method="exact", **params)  # fmt: skip
    wide = [kind == "large" or scale.wide for scale in SCALES[:n_trees]]
    set_scale(parts, *(replace(scale, wide=w) for scale, w in zip(SCALES, wide, strict=False)))
    nodes, _ = level_nodes(counts, CHUNK)
    nodes["tree"] = 0 if trees is None else trees
    if bounds is not None:
        nodes["lower"], nodes["upper"] = np.array(bounds).T
    own = rng.integers(-(2**25), 2**25, (n_trees, len(codes), 2))  # rows of no node here: junk
    for node, mine in zip(nodes, rows, strict=True):
        own[node["tree"], mine] = quanta[mine]
        node["sum_g"], node["sum_h"] = quanta[mine].sum(axis=0)
    set_quanta(parts, own.reshape(-1, 2), wide=wide, rng=rng)
    depth = min(depth, parts.nodes.n_levels - 1)
    first = set_level(parts, depth, nodes)
    search = ExactSearch(parts)
    actions = search.search(depth, Batch(0, n_trees))
    if allowed is not None:  # in place of those that are drawn
        actions = actions[1:]
        allow(parts, allowed)
    if search.interleaved is None or not search.interleaved.covers(depth):
        set_entries(parts, layout, codes, nodes, rows, own, first)
    else:
        set_data_order(parts, nodes, rows, own, first)
        actions = [*search.interleaved.find(depth, Batch(0, n_trees)), *actions]
    spoil(parts.arena["chosen"], rng)
    run(actions)
    chosen = parts.arena["chosen"].get()[: len(nodes)]
    hists = [histogram(codes, quanta, mine, layout) for mine in rows]
    sums = [quanta[mine].sum(axis=0) for mine in rows]
    rules = {k: v for k, v in params.items() if k not in ("work_group_size", "colsample_bynode")}
    return compare(rules, layout, hists, sums, chosen, trees, bounds, allowed)


@pytest.mark.parametrize("kind", KINDS)
def test_equals_twin(device, rng, wg, kind):
    found = 0
    for depth, params in zip((4, 3, 4, 3, 4, 3, 4), RULES, strict=True):
        found += check(
            device, rng, MIXED, [300, 1, 40, 2, 7, 150], kind, depth=depth, work_group_size=wg,
            **params,
        )  # fmt: skip
    assert found > 10


def test_several_trees_at_a_time(device, rng, wg):
    """Every node is searched in its own tree's units and quanta; roots by the data's own list."""
    trees = [0, 0, 1, 1, 2, 2]
    for params in RULES[::3]:
        assert check(
            device, rng, MIXED, [300, 1, 40, 90, 7, 150], trees=trees, work_group_size=wg, **params
        ) or params.get("min_child_weight")
    assert check(device, rng, MIXED, [300], depth=0, work_group_size=wg) == 1


@pytest.mark.few(1)
def test_nothing_is_missing(device, rng, wg):
    assert check(device, rng, WHOLE, [300, 1, 40, 2, 7, 150], work_group_size=wg) >= 4


@pytest.mark.few(1)
def test_monotone_constraints_and_bounded_weights(device, rng, wg):
    counts, found = [300, 40, 90, 150, 60, 120], 0
    for params in RULES[:3]:
        low = np.float32(rng.normal(size=6) * [1e-3, 0.1, 0.5, 1, 3, 1e30])
        width = np.float32(rng.random(6) * [1, 1e-3, 1, 0, 2, 1e30])
        found += check(
            device, rng, MIXED, counts, bounds=list(zip(low, low + width, strict=True)),
            monotone=rng.integers(0, 3, 5).astype(np.uint32), work_group_size=wg, **params,
        )  # fmt: skip
    assert found > 2


@pytest.mark.few(1)
def test_masks(device, rng, wg):
    layout = make_layout([4] * 40, [True] * 40)  # more than a word of bits
    allowed = rng.random((5, 40)) < 0.2
    allowed[1] = False
    found = check(device, rng, layout, [90, 60, 30, 40, 9], allowed=allowed, work_group_size=wg)
    assert found == 4


def test_edges_of_pieces(device, rng, wg):
    """Segments of a whole piece, a bit shorter and longer; one over many; many in one."""
    for n in (1, 2, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK):
        check(device, rng, WHOLE, [n, n, 40], work_group_size=wg)
    long = make_layout([500], [False])
    assert check(device, rng, long, [20 * CHUNK + 3, 40], work_group_size=wg) == 2
    tiny = make_layout([2] * 200, [False] * 200)
    assert check(device, rng, tiny, [3] * 8, work_group_size=wg, min_child_weight=0) == 8
    one_bin = make_layout([1], [False])
    assert check(device, rng, one_bin, [50, 1], work_group_size=wg) == 0


def test_all_or_most_values_are_missing(device, rng, wg):
    codes = np.tile(SPARSE.feature_bins, (200, 1)).astype(np.uint8)
    assert check(device, rng, SPARSE, [150, 50], codes=codes, work_group_size=wg) == 0
    codes[::20, 1] = 7
    found = check(
        device, rng, SPARSE, [150, 50], codes=codes, work_group_size=wg, min_child_weight=0
    )
    assert found == 2


def test_equal_features_take_the_lowest(device, rng, wg):
    """The split of every feature is the same, in different pieces."""
    codes = np.repeat(random_codes(rng, make_layout([12], [True]), 300), 5, axis=1)
    codes[:, 0] = 3  # no split there
    layout = make_layout([12] * 5, [True] * 5)
    assert check(device, rng, layout, [300], codes=codes, work_group_size=wg) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_law_entries_give_the_splits_of_histograms(rng, kind):
    for params in ({}, {"monotone": np.uint32([0, 1, 2, 1, 2])}):
        codes, quanta = random_codes(rng, MIXED, 120), random_quanta(rng, 120, kind)
        g, h = (int(total) for total in quanta.sum(axis=0))
        rule = make_rule(SCALES[0], 1, 0, 0)
        by_bins = histogram(codes, quanta, np.arange(120), MIXED)
        wanted = best_split(by_bins, g, h, MIXED, rule, 1, **params)
        rows, places = entries_of(MIXED, codes, np.arange(120))
        found = best_split_of_entries(rows, places, quanta, g, h, MIXED, rule, 1, **params)
        assert (found is None) == (wanted is None)
        if found is not None:
            assert replace(found, score=()) == replace(wanted, score=())
            assert_same_bits(np.concatenate(found.score), np.concatenate(wanted.score), "score")
