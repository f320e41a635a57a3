"""column_search: along whole columns, the choice of the histogram's twin, bit by bit."""

from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt.device.variants import choose
from pyopencl_gbdt.dtypes import NO_NODE
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.growth import recipe
from pyopencl_gbdt.growth.column_search import ColumnSearch, PartitionOfRows, most_nodes
from pyopencl_gbdt.numerics.portable_math import to_quanta
from pyopencl_gbdt.primitives.checks import run
from tests.compare import assert_same_bits
from tests.reference.histogram import histogram
from tests.steps.builders import (
    allow,
    level_nodes,
    make_layout,
    make_parts,
    random_codes,
    set_level,
    set_nodes,
    set_quanta,
    set_scale,
    spoil,
)
from tests.steps.test_exact import node_rows
from tests.steps.test_split import KINDS, MIXED, RULES, SCALES, compare, random_quanta

SPARSE = make_layout([3, 40, 5, 2, 11, 1], [True] * 6)
#: No term of these rules cancels.
PLAIN = [rule for rule in RULES if "reg_alpha" not in rule]


@pytest.fixture(autouse=True)
def walks_are_chosen(device, force, monkeypatch):
    monkeypatch.setattr(recipe, "COLUMNS_PER_UNIT", 0)
    force(choose("column_search", device.caps), chunk=64, groups_per_unit=3)


def searched(device, rng, layout, counts, kind="random", *, depth=4, trees=None, codes=None,
             allowed=None, **params):  # fmt: skip
    """Search the nodes of a level; return the parts of the fit, and what tells the twin."""
    codes = random_codes(rng, layout, int(np.sum(counts))) if codes is None else codes
    n_trees = 1 if trees is None else max(trees) + 1
    rows, quanta = node_rows(counts), random_quanta(rng, len(codes), kind)
    if allowed is not None:
        params["colsample_bynode"] = 0.5
    parts = make_parts(device, layout, codes, max_depth=depth + 1, outputs=n_trees,
                        tree_method="exact", work_group_size=1, **params)  # fmt: skip
    assert recipe.choose_recipe(parts.ways.facts).search is ColumnSearch
    wide = [kind == "large" or scale.wide for scale in SCALES[:n_trees]]
    set_scale(parts, *(replace(scale, wide=w) for scale, w in zip(SCALES, wide, strict=False)))
    nodes, _ = level_nodes(counts, 64)
    nodes["tree"] = 0 if trees is None else trees
    own = rng.integers(-(2**25), 2**25, (n_trees, len(codes), 2))  # rows of no node here: junk
    row_nodes = np.zeros((n_trees, len(codes)), np.uint32)
    first = 2**depth - 1
    for index, (node, mine) in enumerate(zip(nodes, rows, strict=True)):
        own[node["tree"], mine], row_nodes[node["tree"], mine] = quanta[mine], first + index
        node["sum_g"], node["sum_h"] = quanta[mine].sum(axis=0)
    set_quanta(parts, own.reshape(-1, 2), wide=wide, rng=rng)
    set_level(parts, depth, nodes)
    parts.arena["row_nodes"].set(row_nodes)
    search = ColumnSearch(parts)
    for name in ("chosen", "column_found", "border_sums", "border_places"):
        spoil(parts.arena[name], rng)
    if depth:
        parts.arena.device.clear(parts.arena["closed_columns"])
    else:
        spoil(parts.arena["closed_columns"], rng)
    actions = search.search(depth, Batch(0, n_trees))
    if allowed is not None:  # in place of those that are drawn
        actions = actions[1:]
        allow(parts, allowed)
    run(actions)
    return parts, codes, rows, quanta


def check(device, rng, layout, counts, kind="random", *, trees=None, allowed=None, **params):
    """Compare the choice with the twin by histograms; return how many nodes split."""
    parts, codes, rows, quanta = searched(
        device, rng, layout, counts, kind, trees=trees, allowed=allowed, **params
    )
    hists = [histogram(codes, quanta, mine, layout) for mine in rows]
    sums = [quanta[mine].sum(axis=0) for mine in rows]
    own = ("depth", "codes", "colsample_bynode")
    rules = {k: v for k, v in params.items() if k not in own}
    chosen = parts.arena["chosen"].get()[: len(rows)]
    assert (
        not parts.arena["column_sums"].get()[..., :2].any()
    )  # the next column's walk adds to them
    assert not parts.arena["node_spots"].get()[:, : 4 * most_nodes(parts.nodes) : 4].any()
    assert not parts.arena["node_rough"].get().any()
    return compare(rules, layout, hists, sums, chosen, trees, None, allowed)


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", KINDS)
def test_equals_twin(device, rng, kind):
    found = 0
    for params in PLAIN:
        found += check(device, rng, MIXED, [300, 1, 40, 2, 7, 150], kind, **params)
    assert found > 0


def test_roots(device, rng):
    assert check(device, rng, SPARSE, [200], depth=0) == 1


def test_several_nodes_of_several_trees(device, rng):
    layout = make_layout([300, 4, 90, 6], [True, False, True, True])
    assert check(device, rng, layout, [9, 80, 3, 200, 64, 1], trees=[0, 0, 0, 1, 1, 2]) > 3


def test_nothing_is_missing(device, rng):
    whole = make_layout([9, 1, 70, 16, 300], [False] * 5)
    assert check(device, rng, whole, [300, 1, 100], "ties") == 2


def test_masks(device, rng):
    allowed = np.array([[1, 0, 1, 0, 0], [0, 0, 0, 0, 0], [0, 1, 0, 0, 1]], np.bool_)
    check(device, rng, MIXED, [200, 90, 130], allowed=allowed)


def test_equal_columns_take_the_lowest(device, rng):
    layout = make_layout([12] * 8, [True] * 8)
    codes = np.repeat(random_codes(rng, make_layout([12], [True]), 400), 8, axis=1)
    parts, *_ = searched(device, rng, layout, [250, 150], codes=codes)
    assert parts.arena["chosen"].get()["feature"][:2].tolist() == [0, 0]


def test_columns_that_cannot_split_are_closed(device, rng):
    codes = random_codes(rng, SPARSE, 150)
    codes[rng.random(codes.shape) < 0.9] = 255
    codes = np.minimum(codes, SPARSE.feature_bins).astype(codes.dtype)
    params = {"min_child_weight": 2.0}
    parts, codes, rows, quanta = searched(device, rng, SPARSE, [90, 60], codes=codes, **params)
    least = to_quanta(np.float32(2), SCALES[0].h - SCALES[0].weight_shift)
    open_columns = np.zeros(SPARSE.n_features, bool)
    for mine in rows:
        there = codes[mine] < SPARSE.feature_bins
        sums = (quanta[mine, 1:] * there).sum(axis=0)
        open_columns |= (sums > 0) & (sums >= least) & (quanta[mine, 1].sum() >= 2 * least)
    assert_same_bits(parts.arena["closed_columns"].get()[0], (~open_columns).astype(np.uint8))
    assert open_columns.any()
    assert not open_columns.all()


def test_rows_go_where_their_place_does(device, rng):
    codes = random_codes(rng, SPARSE, 200)
    parts = make_parts(device, SPARSE, codes, max_depth=4, outputs=2, tree_method="exact",
                        work_group_size=1)  # fmt: skip
    nodes, _ = level_nodes([200] * 6, 64)
    nodes["tree"] = np.repeat([0, 1], 3)
    nodes["feature"] = rng.permutation(6)
    nodes["bin"] = rng.integers(0, SPARSE.feature_bins[nodes["feature"]])
    nodes["default_left"] = rng.permutation([0, 1, 0, 1, 0, 1])
    nodes["left"] = [9, 11, NO_NODE, 13, NO_NODE, 15]
    first = set_level(parts, 2, nodes)
    row_nodes = first + rng.integers(0, 3, (2, 200)) + np.array([[0], [3]])
    row_nodes[:, :20] = 1  # a leaf of before
    parts.arena["row_nodes"].set(row_nodes.astype(np.uint32))
    leaf = np.zeros(1, nodes.dtype)
    leaf["left"] = NO_NODE
    set_nodes(parts, leaf, 1)
    search = ColumnSearch(parts)
    run(PartitionOfRows(parts, search).move(2, Batch(0, 2)))
    expected = row_nodes.copy()
    for tree, row in np.argwhere(row_nodes >= first):
        node = nodes[row_nodes[tree, row] - first]
        if node["left"] != NO_NODE:
            code = codes[row, node["feature"]]
            missing = code == SPARSE.feature_bins[node["feature"]]
            left = node["default_left"] if missing else code <= node["bin"]
            expected[tree, row] = node["left"] + (not left)
    assert_same_bits(parts.arena["row_nodes"].get(), expected.astype(np.uint32))
