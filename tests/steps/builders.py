"""Layouts, codes and the parts of a fit, set up by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, replace

import numpy as np

from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.device.paper import PaperDevice
from pyopencl_gbdt.dtypes import BOUNDS, NO_NODE, NODE, PAYLOAD, SUM, VALUE
from pyopencl_gbdt.fit.page import FitFeatures
from pyopencl_gbdt.fit.parts import RowWeights, allocate, assemble
from pyopencl_gbdt.growth.policy import tree_sizes
from pyopencl_gbdt.growth.recipe import choose_recipe
from pyopencl_gbdt.growth.round_kernels import RoundKernels
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.pages.columns import ColumnSizes
from pyopencl_gbdt.pages.page import Layout, Page, SortedColumns
from pyopencl_gbdt.pages.tiles import TileSizes
from pyopencl_gbdt.parameters.constraints import Constraints
from pyopencl_gbdt.parameters.facts import FitFacts, LossFacts
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.primitives.packed_codes import code_dtype, empty_codes
from pyopencl_gbdt.primitives.tiled_codes import CELL, TiledCodes, tiled_features
from tests.reference.gradients import words
from tests.reference.tiles import tile


def make_layout(bins: Sequence[int], missing: Sequence[bool]) -> Layout:
    """Features with so many bins; thresholds 1, 2, 3, ..."""
    codes = np.array(bins) + np.array(missing)
    offset = np.concatenate([[0], np.cumsum(codes)]).astype(np.uint32)
    thresholds = np.concatenate([np.arange(1, n + 1) for n in codes]).astype(np.float32)
    fullest = (np.arange(codes.size) * 7 % codes).astype(np.uint32)
    return Layout(np.array(bins, np.uint32), offset, thresholds, fullest)


def random_codes(rng, layout, n_rows, dtype=None):
    """Uniform codes, the missing one included where a feature has it."""
    n_codes = np.diff(layout.feature_offset.astype(np.int64))
    dtype = code_dtype(layout.most_codes) if dtype is None else dtype
    return rng.integers(0, n_codes, (n_rows, layout.n_features)).astype(dtype)


def make_page(device, codes):
    """Upload codes, shape (n_rows, n_features), as training wants them."""
    n_rows, n_features = codes.shape
    page = empty_codes(device, n_rows, n_features, codes.dtype)
    made, each = np.zeros(page.codes.shape, codes.dtype), page.order.block_features
    for number, block in enumerate(page.order.blocks(made)):
        own = codes[:, number * each : (number + 1) * each]
        block[:, : own.shape[1]] = own
    page.codes.set(made)
    page.by_feature.set(codes.T)
    return page


def entries_of(layout, codes, rows):
    """Rows and places of the present values of some rows, sorted by place."""
    places = layout.feature_offset[:-1] + codes[rows].astype(np.uint32)
    there = codes[rows] < layout.feature_bins
    order = np.argsort(places[there], kind="stable")
    every = np.broadcast_to(np.asarray(rows, np.uint32)[:, None], places.shape)
    return every[there][order], places[there][order].astype(np.uint32)


def make_columns(device, layout, codes):
    """Upload the entries of all rows; return them and their sizes."""
    rows, places = entries_of(layout, codes, np.arange(codes.shape[0]))
    features = np.repeat(np.arange(layout.n_features), np.diff(layout.feature_offset.astype(int)))
    missing = bool((codes == layout.feature_bins).any())
    page = SortedColumns(
        rows=device.upload(rows),
        places=device.upload(places),
        features=device.upload(features.astype(np.uint32)),
        n_rows=codes.shape[0],
        missing=missing,
    )
    return page, ColumnSizes(rows.size, missing)


def make_tiles(device, layout, codes, begins):
    """Upload the present ones of some codes as tiles that begin with these features."""
    cells, row_begin = tile(codes, layout, begins)
    features = tiled_features(layout.feature_offset, layout.feature_bins, begins)
    there = device.empty(max(1, cells.size), CELL)  # no array is empty
    if cells.size:
        there.set(cells)
    return TiledCodes(there, device.upload(row_begin), device.upload(features), begins)


def make_parts(
    device,
    layout,
    codes,
    *,
    weights=(None, 0, 0),
    outputs=1,
    parallel=1,
    first=0,
    targets=1,
    monotone=None,
    begins=None,
    loss="",
    **params,
):
    """Allocate what a fit has; contents but those of its steps, and weights, are set by the tests.

    Weights are as ``normalise`` returns them.

    The trees from the round's ``first`` one on are grown at a time.
    With ``tree_method="exact"`` the page has the entries of the codes in place of them.
    With the first feature of every tile, ``begins``, codes are tiled.
    ``loss`` is an ``Objective.kernel``; empty: no step of these parts knows the loss.
    """
    checked = Parameters.from_dict({"num_parallel_tree": parallel, **params})
    columns = tiled = None
    if checked.search == "exact":
        page, columns = make_columns(device, layout, codes)
    elif begins is not None:
        tiles = make_tiles(device, layout, codes, begins)
        page, tiled = Page(tiles, 0, codes.shape[0]), TileSizes(tiles.cells.size)
    else:
        page = Page(make_page(device, codes), 0, codes.shape[0])
    limits = Constraints(monotone=monotone)
    features = FitFeatures(layout, columns, tiled, limits=limits, sampled=checked.samples_columns)
    facts = FitFacts(
        checked, LossFacts(kernel=loss, n_outputs=outputs), n_rows=codes.shape[0], n_targets=targets
    )
    sizes = tree_sizes(choose_recipe(facts).policy, checked, codes.shape[0])
    weighted = RowWeights(weights[0] is not None, *weights[1:])
    parts = assemble(device, facts, sizes, features, [page], weighted)
    parts.nodes.n_trees = outputs * parallel - first
    parts.rows.has_high = True
    ask_for_arrays(parts)
    allocate(parts)
    if weights[0] is not None:
        parts.arena["weights"].set(weights[0])
    return parts


def ask_for_arrays(parts):
    """Let the steps of a fit ask for their arrays, without kernels."""
    ways = replace(parts.ways, device=PaperDevice.like(parts.arena.device))
    built = parts._replace(ways=ways, rows=replace(parts.rows, ways=ways))
    n_rows, policy = parts.rows.n_rows, choose_recipe(parts.ways.facts).policy
    rows = Dataset(np.zeros((n_rows, 1), np.float32), np.zeros(n_rows, np.float32))
    RoundKernels(built, policy, get_objective("reg:squarederror"), rows)


def allow(parts, allowed):
    """Set the features that each node may split on, a row of truths for each."""
    masks = np.zeros(parts.arena["allowed"].shape, np.uint32)
    bits = np.packbits(allowed, axis=1, bitorder="little")
    rows = masks.reshape(-1, -(-parts.features.layout.n_features // 32)).view(np.uint8)
    rows[: len(bits), : bits.shape[1]] = bits
    parts.arena["allowed"].set(masks)


def spoil(array, rng):
    """Fill a device array with random bytes."""
    junk = rng.integers(0, 256, array.nbytes, dtype=np.uint8).view(array.dtype)
    array.set(junk.reshape(array.shape))
    return array.get()


def set_scale(parts, *scales):
    """Set the scale of every tree, or one for all."""
    scales = scales * parts.nodes.n_trees if len(scales) == 1 else scales
    parts.arena["scale"].set(
        np.array([astuple(scale) for scale in scales], parts.arena["scale"].dtype)
    )


def set_quanta(parts, quanta, *, wide, rng):
    """Set quanta of all trees; high words of those that are not wide must not be read: junk."""
    low, high = words(quanta)
    parts.arena["quanta"].set(low)
    wide = np.repeat(np.broadcast_to(wide, parts.nodes.n_trees), parts.rows.n_rows)
    assert not high[~wide].any()
    parts.arena["high"].set(np.where(wide[:, None], high, spoil(parts.arena["high"], rng)))


#: A node with what it carries, which lies beside it on the device.
RECORD = np.dtype([
    *((name, NODE[name]) for name in NODE.names), ("sum_g", SUM), ("sum_h", SUM), ("weight", VALUE),
    ("value", VALUE), *((name, BOUNDS[name]) for name in BOUNDS.names),
])  # fmt: skip


def payload_of(records):
    """Return the arrays of ``dtypes.PAYLOAD`` of some records."""
    sums = np.stack([records["sum_g"], records["sum_h"]], axis=-1)
    return {
        "node_sums": sums, "node_weights": records["weight"], "node_values": records["value"],
        "node_bounds": records[[*BOUNDS.names]].astype(BOUNDS),
    }  # fmt: skip


def set_nodes(parts, records, first=0):
    """Write records from a node id on."""
    parts.arena["nodes"].set(records[[*NODE.names]].astype(NODE), first)
    for name, values in payload_of(records).items():
        parts.arena[name].set(values, first * values[:1].size)


def get_nodes(parts):
    """Read the records of all nodes."""
    nodes = parts.arena["nodes"].get()
    sums, weights, values, bounds = (parts.arena[name].get() for name in PAYLOAD)
    records = np.zeros(nodes.size, RECORD)
    for name in NODE.names:
        records[name] = nodes[name]
    records["sum_g"], records["sum_h"] = sums.T
    records["weight"], records["value"] = weights, values
    records["lower"], records["upper"] = bounds["lower"], bounds["upper"]
    return records


def spoil_nodes(parts, rng):
    """Fill nodes, and what they carry, with random bytes; return the records."""
    for name in ("nodes", *PAYLOAD):
        spoil(parts.arena[name], rng)
    return get_nodes(parts)


def make_room_for_nodes(parts, n):
    """Make room for so many nodes, all 0."""
    for name in ("nodes", *PAYLOAD):
        _, *shape = parts.arena[name].shape
        parts.arena.arrays[name] = parts.arena.device.zeros((n, *shape), parts.arena[name].dtype)


def make_room_for_trees(parts, n, counts):
    """Make room for so many nodes of trees, also as kernels walk them; set the levels' sizes."""
    room = max(parts.nodes.max_nodes, n + 1)  # children of an empty node count as nodes
    make_room_for_nodes(parts, room)
    for name in ("walk", "steps", "leaf_task_begin"):
        array = parts.arena[name]
        parts.arena.arrays[name] = parts.arena.device.zeros(max(array.size, room), array.dtype)
    levels = parts.arena["levels"].get()
    levels["count"], levels["first"] = counts, np.cumsum(counts) - counts
    parts.arena["levels"].set(levels)


def level_nodes(counts, chunk, from_rows=None, least=0):
    """Nodes of a level whose rows lie one after the other, and the first task of each.

    Parameters
    ----------
    counts : sequence of int
        Rows of each node.
    chunk : int
        Rows in a task.
    from_rows : sequence of bool or None
        Nodes that get tasks; all by default.
    least : int
        Fewest tasks of a node; a root of no rows has one.
    """
    nodes = np.zeros(len(counts), RECORD)
    nodes["count"] = counts
    nodes["begin"] = np.cumsum(counts) - counts
    nodes["sibling_slot"] = -1
    nodes["left"] = NO_NODE
    largest = np.finfo(np.float32).max  # no bounds of weights
    nodes["lower"], nodes["upper"] = -largest, largest
    needed = np.maximum(least, -(-np.asarray(counts) // chunk))
    tasks = needed * (1 if from_rows is None else np.asarray(from_rows))
    return nodes, np.concatenate([[0], np.cumsum(tasks)]).astype(np.uint32)


def set_level(parts, depth, nodes, *, row_tasks=0, hist_tasks=0, first=None, listed=False):
    """Put nodes behind as many others as a complete tree would have; return the first id.

    Roots have all rows, unless those that were drawn are ``listed``.
    """
    first = 2**depth - 1 if first is None else first
    nodes["depth"], nodes["in_order"] = depth, depth == 0 and not listed
    levels = np.zeros(parts.arena["levels"].size, parts.arena["levels"].dtype)
    levels[depth] = (first, len(nodes), row_tasks, hist_tasks)
    levels["first"][depth + 1 :] = first + len(nodes)
    parts.arena["levels"].set(levels)
    set_nodes(parts, nodes, first)
    return first


def fullest_cells(layout):
    """Return where a histogram has each feature's fullest code, which it may leave out."""
    return layout.feature_offset[:-1].astype(np.int64) + layout.fullest
