"""histogram: exact integer sums in every variant, wherever nodes and groups begin."""

from itertools import product

import numpy as np
import pytest

from pyopencl_gbdt.device import runnable
from pyopencl_gbdt.growth.histogram import Histogram
from pyopencl_gbdt.primitives.histogram_kernel import ANY_CODES, block_ranges
from pyopencl_gbdt.primitives.histogram_local import code_ranges
from tests.compare import assert_same_bits
from tests.reference.gradients import Scale
from tests.reference.histogram import histogram as twin
from tests.steps.builders import (
    fullest_cells,
    level_nodes,
    make_layout,
    make_parts,
    random_codes,
    set_level,
    set_quanta,
    set_scale,
    spoil,
)

KERNEL = "histogram"
CHUNK, DEPTH = 64, 5
SMALL = make_layout([7, 1, 30, 16], [True, False, True, False])
ONE_CODE = make_layout([1, 0, 1], [False, True, False])
#: More features than a load of 16 bytes has codes, of one byte and of two.
MANY = make_layout([3, 7, 1, 12] * 9, [True, False, False] * 12)
WIDE = make_layout([300, 257, 299, *[9] * 16], [True, False] * 9 + [True])
BIG = 2**30 - 1


def quanta_of(rng, n, kind):
    """Random quanta; those of ``wide`` need their high words."""
    if kind == "small":
        return rng.integers(-1000, 1000, (n, 2))
    if kind == "carry":  # every row's quanta have the same sign and overflow 32 bits at once
        return np.stack([np.full(n, -BIG), np.full(n, BIG)], axis=1)
    quanta = rng.integers(-(2**50), 2**50, (n, 2)) >> rng.integers(0, 50, (n, 1))
    quanta[: min(n, 4), 0] = [2**31 - 1, 2**31, -(2**31), -(2**31) - 1][: min(n, 4)]
    return quanta


def without_fullest(parts, hist):
    """Leave out what the variant leaves out."""
    if parts.ways.variant(KERNEL).name not in ("cpu", "own_banks"):
        hist[fullest_cells(parts.features.layout)] = 0
    return hist


def check(
    device,
    rng,
    layout,
    counts,
    kind,
    *,
    from_rows=None,
    codes=None,
    kinds=(),
    depth=None,
    listed=False,
    least=0,
    **params,
):
    """Build a level by hand, and compare every byte of the pool.

    Several trees have quanta of several ``kinds``, and nodes of these counts, in an order of its
    own each.
    """
    n, kinds = int(np.sum(counts)), kinds or (kind,)
    trees = len(kinds)
    codes = random_codes(rng, layout, n) if codes is None else codes
    parts = make_parts(device, layout, codes, max_depth=DEPTH + 1, outputs=trees, **params)
    depth = parts.nodes.n_levels - 1 if depth is None else depth  # 0 where there is one row
    quanta = np.concatenate([quanta_of(rng, n, k) for k in kinds])
    rows = np.tile(np.arange(n, dtype=np.uint32), (trees, 1))
    if parts.nodes.params.samples_rows and not listed:
        quanta[rng.random(len(quanta)) < 0.5] = 0  # not drawn, yet in the lists
    if depth or listed:  # else the root has all rows, in order, unlisted
        rows = rng.permuted(rows, axis=1)
    rows = rows.ravel()
    set_quanta(parts, quanta, wide=[k == "wide" for k in kinds], rng=rng)
    set_scale(parts, *(Scale(0, 0, k == "wide") for k in kinds))
    tree_of = np.repeat(np.arange(trees), len(counts))
    counts = np.concatenate([counts, *(rng.permutation(counts) for _ in kinds[1:])])
    nodes, task_begin = level_nodes(counts, CHUNK, from_rows, least)
    nodes["slot"] = rng.permutation(parts.nodes.search_capacity)[: len(counts)]
    nodes["tree"] = tree_of
    set_level(parts, depth, nodes, hist_tasks=task_begin[-1], listed=listed)
    parts.arena["hist_task_begin"].set(task_begin)
    parts.arena["odd_rows" if depth % 2 else "even_rows"].set(rows)
    spoil(parts.arena["partial"], rng)
    expected = spoil(parts.arena["pool"], rng)
    built = nodes["slot"][np.diff(task_begin.astype(np.int64)) > 1]
    if parts.rows.cells_to_clear:  # done by the kernels before, but for nodes of one task
        expected[built] = 0
        parts.arena["pool"].set(expected)
    step = Histogram(parts)
    for launch in step.level(depth):
        launch()
    for node, tasks in zip(nodes, np.diff(task_begin.astype(np.int64)), strict=True):
        if tasks:
            mine = rows[node["begin"] : node["begin"] + node["count"]]
            own = quanta[node["tree"] * n : (node["tree"] + 1) * n]
            expected[node["slot"]] = without_fullest(parts, twin(codes, own, mine, layout))
    assert_same_bits(parts.arena["pool"].get(), expected, f"pool of {len(counts)} nodes, {kind}")
    return parts, nodes


def sizes(variant):
    """Work-group sizes to build for: few, as each is a build."""
    return [0] if variant.name == "cpu" else [16, 256]


@pytest.fixture
def setup(force, variant):
    """Small chunks, several groups and several ranges of codes, so that all edges are met."""
    force(variant, chunk=CHUNK, groups_per_unit=3, codes=40)
    return {"histogram": variant.name}


@pytest.mark.few(6)
@pytest.mark.parametrize("kind", ["small", "carry", "wide"])
def test_one_node(device, variant, setup, rng, kind):
    for wg in sizes(variant):
        for n in (1, CHUNK - 1, CHUNK, CHUNK + 1, 1500):
            check(device, rng, SMALL, [n], kind, work_group_size=wg, **setup)


def test_a_node_without_rows(device, variant, setup, rng):
    """A member of a team, or a page, may have none of a node's rows: no row is read then."""
    for wg in sizes(variant):
        check(device, rng, SMALL, [0, 700, 0, 64], "small", least=1, work_group_size=wg, **setup)


@pytest.mark.parametrize("kind", ["small", "wide"])
def test_nodes_that_straddle_groups(device, variant, setup, rng, kind):
    for wg in sizes(variant):
        check(device, rng, SMALL, [700, 1, 64, 900], kind, work_group_size=wg, **setup)
        check(device, rng, SMALL, rng.integers(1, 200, 32), kind, work_group_size=wg, **setup)
        check(device, rng, SMALL, [1] * 32, kind, work_group_size=wg, **setup)


def test_several_trees_at_a_time(device, variant, setup, rng):
    """Each has quanta of its own; those of one alone have high words."""
    wg, kinds = sizes(variant)[-1], ("small", "wide", "carry")
    for counts, depth in (([500], 0), ([300, 1, 64, 90], None)):
        check(device, rng, SMALL, counts, "", kinds=kinds, depth=depth, work_group_size=wg, **setup)


def test_rows_that_were_not_drawn_add_nothing(device, variant, force, rng):
    """A CPU's row picks out the others, 1024 listed rows at a time."""
    force(variant, chunk=CHUNK, groups_per_unit=1, codes=40)
    params = {"histogram": variant.name, "subsample": 0.5, "work_group_size": sizes(variant)[-1]}
    for kind in ("small", "wide"):
        for counts, depth in (([1], 0), ([1024], 0), ([9001], 0), ([1023, 1025, 4000, 2049], None)):
            check(device, rng, SMALL, counts, kind, depth=depth, **params)


def test_roots_with_lists(device, variant, setup, rng):
    wg = sizes(variant)[-1]
    check(device, rng, SMALL, [700], "small", depth=0, listed=True, work_group_size=wg, **setup)


def test_nodes_without_tasks_are_left_alone(device, variant, setup, rng):
    wg = sizes(variant)[-1]
    counts = rng.integers(1, 300, 20)
    for from_rows in (rng.random(20) < 0.5, np.arange(20) == 19, np.zeros(20, bool)):
        check(device, rng, SMALL, counts, "small", from_rows=from_rows, work_group_size=wg, **setup)


@pytest.mark.parametrize("kind", ["carry", "wide"])
def test_all_rows_in_one_code(device, variant, setup, rng, kind):
    for layout in (ONE_CODE, SMALL):
        codes = np.zeros((1000, layout.n_features), np.uint8)
        wg = sizes(variant)[-1]
        check(device, rng, layout, [600, 400], kind, codes=codes, work_group_size=wg, **setup)


@pytest.mark.parametrize("codes", [40, 1000])
def test_many_features(device, variant, force, rng, codes):
    """A group's features lie in one block of 16, or in several."""
    force(variant, chunk=CHUNK, groups_per_unit=3, codes=codes)
    params = {"histogram": variant.name, "work_group_size": sizes(variant)[0]}
    for kind in ("small", "wide"):
        check(device, rng, MANY, [500, 3, 700], kind, **params)


def test_all_missing(device, variant, setup, rng):
    layout = make_layout([5, 0, 9], [True, True, True])
    codes = np.tile(layout.feature_bins, (500, 1)).astype(np.uint8)
    wg = sizes(variant)[-1]
    check(device, rng, layout, [499, 1], "small", codes=codes, work_group_size=wg, **setup)


def test_codes_of_two_bytes(device, variant, force, rng):
    codes = 100 if variant.name == ANY_CODES else 310  # where a feature must fit
    force(variant, chunk=CHUNK, groups_per_unit=3, codes=codes)
    for kind in ("small", "wide"):
        wg = sizes(variant)[0]
        params = {"histogram": variant.name, "work_group_size": wg}
        parts, _ = check(device, rng, WIDE, [1000, 37, 400], kind, **params)
        assert parts.rows.pages[0].codes.codes.dtype == np.uint16


def test_law_parent_is_left_plus_right(device, variant, setup, rng):
    wg = sizes(variant)[-1]
    counts = [300, 5, 800, 64]
    parts, nodes = check(device, rng, SMALL, counts, "wide", work_group_size=wg, **setup)
    children = parts.arena["pool"].get()[nodes["slot"]].sum(axis=0)
    parent, task_begin = level_nodes([sum(counts)], CHUNK)
    set_level(parts, 0, parent, hist_tasks=task_begin[-1])
    parts.arena["hist_task_begin"].set(task_begin)
    parts.arena.device.clear(parts.arena["pool"])
    for launch in Histogram(parts).level(0):
        launch()
    assert_same_bits(parts.arena["pool"].get()[0], children)


def test_as_in_the_table(device, variant, rng):
    """With the chunk, groups and capacity that fits get."""
    layout = make_layout([256] * 30, [False] * 29 + [True])
    n = 300 if device.caps.is_simulator else 9_000
    codes = random_codes(rng, layout, n)
    for kind in ("small", "carry"):
        parts = make_parts(device, layout, codes, max_depth=1, histogram=variant.name)
        quanta, rows = quanta_of(rng, n, kind), np.arange(n, dtype=np.uint32)
        set_quanta(parts, quanta, wide=False, rng=rng)
        set_scale(parts, Scale(0, 0, wide=False))
        nodes, task_begin = level_nodes([n], variant.params["chunk"])
        set_level(parts, 0, nodes, hist_tasks=task_begin[-1])
        parts.arena["hist_task_begin"].set(task_begin)
        parts.arena.device.clear(parts.arena["pool"])
        for launch in Histogram(parts).level(0):
            launch()
        want = without_fullest(parts, twin(codes, quanta, rows, layout))
        assert_same_bits(parts.arena["pool"].get()[0], want)


def test_a_feature_beyond_local_memory_is_built_in_ranges(device):
    """Asked for a variant whose accumulators are too small, a fit takes ``bin_range_passes``."""
    wished = next(v.name for v in runnable(KERNEL, device.caps) if v.name.startswith("local"))
    layout = make_layout([6000], [False])
    parts = make_parts(device, layout, np.zeros((50, 1), np.uint16), histogram=wished)
    assert parts.ways.variant(KERNEL).name == "bin_range_passes"
    assert parts.arena["partial"].shape == (1, 2, 1, 2)  # groups add to the pool


def test_ranges_cover_all_codes_once():
    sizes = ((1, True), (7, True), (301, True), (301, False), (5000, False))
    for layout, per_block in product((SMALL, ONE_CODE, MANY, WIDE), (16, 13)):
        features = np.arange(layout.n_features)
        places = features // per_block * 16 + features % per_block
        for (capacity, ranged), whole in product(sizes, (False, True)):
            where = (layout, capacity, places, 16)
            found = block_ranges(*where) if whole else code_ranges(*where, ranged=ranged)
            ranges = found.astype(np.int64)
            assert ranges[0, 2] == 0
            assert ranges[-1, 3] == layout.n_codes
            assert_same_bits(ranges[1:, 2], ranges[:-1, 3])
            size, n_blocks = ranges[:, 3] - ranges[:, 2], (ranges[:, 1] - 1) // 16 + 1
            n_blocks -= ranges[:, 0] // 16
            assert ((size <= capacity) | (whole & (n_blocks == 1))).all()
            offset = layout.feature_offset.astype(np.int64)
            for place, place_behind, begin, end in ranges:
                first = int(np.searchsorted(places, place))
                behind = int(np.searchsorted(places, place_behind))
                assert place == places[first]
                assert place_behind == places[behind - 1] + 1
                if whole:
                    assert place % 16 == 0
                    assert behind == layout.n_features or places[behind] % 16 == 0
                else:
                    assert place // 16 == (place_behind - 1) // 16
                assert offset[first] <= begin < offset[first + 1]
                assert offset[behind - 1] < end <= offset[behind]
                assert ranged or whole or (offset[first], offset[behind]) == (begin, end)
    with pytest.raises(ValueError, match="more than 300 codes"):
        code_ranges(WIDE, 300, np.arange(WIDE.n_features), 16, ranged=False)
