"""Tiled codes: made from values, summed to histograms, and read code by code."""

from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt.growth.histogram import Histogram
from pyopencl_gbdt.pages import cuts, tiles
from pyopencl_gbdt.pages.quantize import Quantizer
from pyopencl_gbdt.primitives.tiled_codes import tile_begins
from tests.compare import assert_same_bits
from tests.reference.gradients import Scale
from tests.reference.histogram import histogram as dense_twin
from tests.reference.quantize import encode
from tests.reference.tiles import tile, tiled_histogram
from tests.steps.builders import (
    level_nodes,
    make_layout,
    make_parts,
    random_codes,
    set_level,
    set_quanta,
    set_scale,
    spoil,
)
from tests.steps.test_histogram import quanta_of

KERNEL = "tiled_histogram"
CHUNK, DEPTH = 64, 5
#: Features with and without missing values, without bins, and of more bins than 40 or 256.
LAYOUT = make_layout([7, 0, 30, 16, 300, 1, 9], [True, True, False, True, True, False, True])
MISSING = np.array([True, True, False, True, True, False, True])


def sparse_codes(rng, n, share=0.2):
    """Codes that are mostly missing, where a feature may be."""
    codes = random_codes(rng, LAYOUT, n)
    absent = (rng.random(codes.shape) > share) & MISSING
    return np.where(absent, LAYOUT.feature_bins, codes).astype(codes.dtype)


def check(device, rng, counts, kind, capacity, *, depth=None, **params):
    """Build a level from tiles; compare every byte of the pool with both twins."""
    n, codes = int(np.sum(counts)), sparse_codes(rng, int(np.sum(counts)))
    begins = tile_begins(LAYOUT.feature_offset, capacity)
    parts = make_parts(device, LAYOUT, codes, max_depth=DEPTH + 1, begins=begins, **params)
    depth = parts.nodes.n_levels - 1 if depth is None else depth
    quanta, rows = quanta_of(rng, n, kind), np.arange(n, dtype=np.uint32)
    rows = rng.permuted(rows) if depth else rows
    set_quanta(parts, quanta, wide=kind == "wide", rng=rng)
    set_scale(parts, Scale(0, 0, kind == "wide"))
    nodes, task_begin = level_nodes(counts, CHUNK)
    nodes["slot"] = rng.permutation(parts.nodes.search_capacity)[: len(counts)]
    set_level(parts, depth, nodes, hist_tasks=task_begin[-1])
    parts.arena["hist_task_begin"].set(task_begin)
    parts.arena["odd_rows" if depth % 2 else "even_rows"].set(rows)
    spoil(parts.arena["partial"], rng)
    expected = spoil(parts.arena["pool"], rng)
    if parts.rows.cells_to_clear:  # done by the kernels before, but for nodes of one task
        expected[nodes["slot"]] = 0
        parts.arena["pool"].set(expected)
    for launch in Histogram(parts).level(depth):
        launch()
    cells, row_begin = tile(codes, LAYOUT, begins)
    absent = (LAYOUT.feature_offset[:-1] + LAYOUT.feature_bins)[MISSING]
    for node in nodes:
        mine = rows[node["begin"] : node["begin"] + node["count"]]
        found = tiled_histogram(cells, row_begin, quanta, mine, LAYOUT, begins)
        dense = dense_twin(codes, quanta, mine, LAYOUT)
        dense[absent] = 0
        assert_same_bits(found, dense)
        expected[node["slot"]] = found
    assert_same_bits(parts.arena["pool"].get(), expected, f"pool of {len(counts)} nodes, {kind}")


@pytest.mark.parametrize("kind", ["small", "carry", "wide"])
def test_histograms(device, variant, force, rng, kind):
    """Tiles of a feature and of several; ranges that begin inside a feature; groups that share."""
    force(variant, chunk=CHUNK, groups_per_unit=3, codes=100)
    sizes = [0] if variant.name == "cpu" else [1, 64]
    for wg in sizes:
        params = {"histogram": variant.name, "work_group_size": wg}
        check(device, rng, [300], kind, 65536, depth=0, **params)
        check(device, rng, [90, 1, 64, 200], kind, 40, **params)


def values_of(rng, n):
    """Values that are mostly missing, with a whole column, an empty one and one of ends."""
    values = rng.normal(size=(n, 9)).astype(np.float32)
    values[:, 3] = rng.integers(0, 3, n)
    values[rng.random(values.shape) < 0.75] = np.nan
    values[:, 4], values[:, 5] = rng.normal(size=n), np.nan
    values[::7, 5] = np.inf
    return values


@pytest.mark.parametrize("n_pages", [1, 3])
def test_tiles_of_values_and_of_entries(device, monkeypatch, rng, n_pages):
    """In pages, from pieces of rows: as if dense codes were tiled."""
    monkeypatch.setattr(tiles, "tile_capacity", lambda caps: 100)
    monkeypatch.setattr(tiles, "_PIECE_ENTRIES", 300)
    n, weight = 500, (rng.random(500) < 0.8).astype(np.float32)
    values = values_of(rng, n)
    weight[::7] = 0  # column 5 has no value that counts, and so no bins
    quantizer = Quantizer(device, values, weight, 64, code_bytes=1000)
    quantizer.plan = replace(quantizer.plan, piece_rows=130)
    layout = tiles.suited_layout(cuts.make_layout(quantizer.cuts()))
    assert layout.feature_bins[5] == 0
    maker = tiles.TileMaker(device, layout)
    assert maker.n_tiles > 2
    bounds = tiles.tiled_bounds(device, n, 9, maker.n_tiles, values.size, n_pages)
    assert len(bounds) == n_pages
    present = ~np.isnan(values)
    row_starts = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    entries = tiles.EntryRows(device, row_starts, np.nonzero(present)[1], values[present])
    codes = encode(values, layout)
    for source in (quantizer, entries):
        pages = maker.encode(source, bounds)
        for page, (first, n_rows) in zip(pages, bounds, strict=True):
            want = tile(codes[first : first + n_rows], layout, maker.begins)
            assert (page.first_row, page.n_rows) == (first, n_rows)
            assert_same_bits(page.codes.cells.get(), want[0])
            assert_same_bits(page.codes.row_begin.get(), want[1])


def test_tiles_have_whole_features():
    offset = np.array([0, 8, 8, 9, 39, 340, 350], np.uint32)
    assert tile_begins(offset, 10).tolist() == [0, 3, 4, 5, 6]
    assert tile_begins(offset, 39).tolist() == [0, 4, 5, 6]
    assert tile_begins(offset, 1 << 16).tolist() == [0, 6]
