"""leaf: every row gets its leaf's value, whether it walks the tree or stands in a list."""

import numpy as np
import pytest

from pyopencl_gbdt.device.variants import KERNELS
from pyopencl_gbdt.dtypes import NO_NODE
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.gradients.gradients import Gradients
from pyopencl_gbdt.growth.finalize import Finalize, LocalWalk, UpdateMargins
from pyopencl_gbdt.numerics.weights import normalise
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.primitives.checks import run
from tests.compare import assert_same_bits
from tests.reference.gradients import Scale, choose_scale, exponent_counts, quantize
from tests.reference.partition import goes_left, partition
from tests.reference.update_margins import add_leaves
from tests.steps.builders import (
    RECORD,
    get_nodes,
    make_layout,
    make_parts,
    make_room_for_trees,
    random_codes,
    set_nodes,
    set_scale,
    spoil,
    spoil_nodes,
)

KERNEL = "update_margins"
CHUNK = 50
LARGEST = np.finfo(np.float32).max
BYTE = make_layout([9, 255, 1, 30] * 5, [True, True, False, False] * 5)
FEW = make_layout([256, 3, 255], [False, True, True])
WORD = make_layout([300, 2, 1000, 1], [True, True, False, True])


def random_trees(rng, parts, codes, layout, shape):
    """Return nodes breadth first, their rows, and the number of nodes of each level."""
    nodes, rows = [], []
    for tree in range(parts.nodes.n_trees):
        nodes.append(np.zeros((), RECORD))
        nodes[tree]["begin"], nodes[tree]["count"] = tree * len(codes), len(codes)
        nodes[tree]["tree"], nodes[tree]["in_order"] = tree, 1
        rows.append(np.arange(len(codes), dtype=np.uint32))
    counts, begin = [], 0
    for depth in range(parts.nodes.n_levels + 1):
        level = range(begin, len(nodes))
        counts.append(len(level))
        begin = len(nodes)
        for number in level:
            node, mine = nodes[number], rows[number]
            node["depth"], node["left"], node["value"] = depth, NO_NODE, rng.normal()
            node["lower"], node["upper"] = -LARGEST, LARGEST
            splits = {"full": True, "bushy": rng.random() < 0.8, "stump": False}[shape]
            if depth == parts.nodes.n_levels or not splits:
                continue
            feature = rng.integers(0, layout.n_features)
            node["left"], node["feature"] = len(nodes), feature
            node["bin"] = rng.integers(0, layout.feature_bins[feature])
            node["default_left"] = rng.integers(0, 2)
            n_bins = layout.feature_bins[feature]
            left = goes_left(codes[mine, feature], node["bin"], n_bins, node["default_left"] != 0)
            for side in partition(mine, left):
                child = np.zeros((), RECORD)
                second = len(nodes) > node["left"]
                child["begin"] = node["begin"] + (mine.size - side.size) * second
                child["count"], child["tree"] = side.size, node["tree"]
                nodes.append(child)
                rows.append(side)
            node["value"] = 0
    return np.array(nodes, RECORD), rows, counts


def list_rows(parts, nodes, rows, rng):
    """Write the lists of the rows of nodes whose leaves are found by them; all else is spoilt."""
    lists = {name: spoil(parts.arena[name], rng) for name in ("even_rows", "odd_rows")}
    for node, mine in zip(nodes, rows, strict=True):
        place = slice(node["begin"], node["begin"] + node["count"])
        below = parts.nodes.n_levels - node["depth"]
        if node["depth"] and below and (node["left"] == NO_NODE or below == 1):
            lists["odd_rows" if node["depth"] % 2 else "even_rows"][place] = rng.permutation(mine)
    for name, content in lists.items():
        parts.arena[name].set(content)


def check(
    device, rng, wg, layout, n, shape, max_depth, outputs=1, parallel=1, first=0, loss="",
    weight=None,
):  # fmt: skip
    """Add trees ``first ..`` of a round, as many as are grown at a time, to their outputs.

    With a loss, also compare the counts of exponents of the next gradients. Returns the parts.
    """
    codes = random_codes(rng, layout, n)
    objective, scaled = get_objective(loss or "binary:logistic"), normalise(weight)
    parts = make_parts(
        device, layout, codes, max_depth=max_depth, work_group_size=wg, outputs=outputs,
        parallel=parallel, first=first, weights=scaled, targets=outputs,
        loss=objective.kernel if loss else "",
    )  # fmt: skip
    labels = rng.integers(0, 2, (outputs, n)).astype(np.float32)
    parts.arena["labels"].set(labels.reshape(parts.arena["labels"].shape))
    nodes, rows, counts = random_trees(rng, parts, codes, layout, shape)
    make_room_for_trees(parts, nodes.size, counts)
    nodes["sum_g"] = rng.integers(-(2**26), 2**26, nodes.size)
    nodes["sum_h"] = rng.integers(2**20, 2**26, nodes.size)
    set_scale(parts, Scale(22, 22, wide=False))
    content = spoil_nodes(parts, rng)
    content[: nodes.size] = nodes
    set_nodes(parts, content)
    list_rows(parts, nodes, rows, rng)
    margins = rng.normal(size=(outputs, n)).astype(np.float32)
    parts.arena["margins"].set(margins.reshape(parts.arena["margins"].shape))
    batch = Batch(first, parts.nodes.n_trees)
    run(Finalize(*parts).tree(batch))  # it also gives the last level's leaves their values
    run(UpdateMargins(parts).add(batch))
    finished = get_nodes(parts)[: nodes.size]
    is_leaf = finished["left"] == NO_NODE
    assert len(np.unique(finished["value"][is_leaf])) == is_leaf.sum()
    for tree in range(batch.size):
        own = np.flatnonzero(is_leaf & (finished["tree"] == tree))
        output = (first + tree) // parallel
        leaves = [(rows[i], finished["value"][i]) for i in own]
        margins[output] = add_leaves(margins[output], leaves)
    assert_same_bits(parts.arena["margins"].get().reshape(outputs, n), margins, "margins")
    for tree in range(batch.size if loss else 0):
        gradients = objective.gradient(margins[tree], labels[tree])
        counts = np.concatenate([exponent_counts(x, scaled[0]) for x in gradients])
        found = parts.arena["exponents"].get()[tree].astype(np.int64)
        assert_same_bits(found, counts, f"exponents of tree {tree}")
    return parts


def forced(force, variant, *, local=True):
    """Make a fit take a variant, whose rows walk in local memory or in global memory."""
    walks = {"local_nodes": 1023 * local, "ahead_rows": 1} if variant.name == "walk" else {}
    force(variant, chunk=CHUNK, **walks)


@pytest.mark.parametrize("layout", [BYTE, FEW, WORD], ids=["u8", "few", "u16"])
def test_equals_twin(device, variant, force, rng, layout):
    forced(force, variant)
    sizes = (1,) if layout is WORD or device.caps.kind == "cpu" else (1, 32, 256)
    for wg in sizes:
        for n in (1, 2, 49, 50, 51, 3000):
            for shape in ("full", "bushy", "stump"):
                check(device, rng, wg, layout, n, shape, 5)
        check(device, rng, wg, layout, 500, "full", 1)


@pytest.mark.parametrize("first", [0, 2])
def test_several_trees_at_a_time(device, variant, force, rng, first):
    """Of several outputs, and on rows that walk several trees of an output, one after another."""
    wg = 1 if device.caps.kind == "cpu" else 32
    for shape in ("full", "bushy", "stump"):
        forced(force, variant, local=shape != "bushy")
        check(device, rng, wg, BYTE, 700, shape, 4, outputs=4, first=first)
        if variant.name == "walk":
            check(device, rng, wg, BYTE, 700, shape, 4, outputs=3, parallel=2, first=first)
            check(device, rng, wg, BYTE, 700, shape, 4, parallel=5, first=first)


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_exponents_of_the_next_gradients(device, variant, force, rng, outputs, weighted):
    if variant.name != "walk":
        pytest.skip("rows are not in order, so their gradients are counted before the next round")
    wg = 1 if device.caps.kind == "cpu" else 32
    for n, shape in ((1, "stump"), (3000, "bushy"), (3000, "full")):
        forced(force, variant, local=shape != "full")
        weight = (
            rng.integers(0, 3, n).astype(np.float32) + (np.arange(n) == 0) if weighted else None
        )
        for loss in ("binary:logistic", "reg:squarederror"):
            check(device, rng, wg, BYTE, n, shape, 4, outputs, loss=loss, weight=weight)


@pytest.mark.parametrize("loss", ["binary:logistic", "reg:squarederror"])
@pytest.mark.parametrize("outputs", [1, 3])
def test_quanta_of_the_next_gradients(device, variant, force, rng, outputs, loss):
    """They are computed again if the next trees have other scales, and else kept."""
    if variant.name != "walk":
        pytest.skip("rows are not in order, so their gradients are computed before the next round")
    wg = 1 if device.caps.kind == "cpu" else 32
    for n, shape in ((1, "stump"), (3000, "bushy"), (3000, "full")):
        forced(force, variant, local=shape != "full")
        parts = check(device, rng, wg, BYTE, n, shape, 4, outputs, loss=loss)
        arrays, objective = parts.arena.arrays, get_objective(loss)
        labels = arrays["labels"].get().reshape(-1, n)
        margins = arrays["margins"].get().reshape(outputs, n)
        gradients = [objective.gradient(*own) for own in zip(margins, labels, strict=True)]
        first = [Scale(22, 22, wide=False)] * outputs
        chosen = [choose_scale(g, h, *normalise(None)) for g, h in gradients]
        counts = arrays["exponents"].get()
        made = Gradients(parts.arena, parts.rows, parts.nodes, parts.ways, objective.kernel)
        arrays["exponents"].set(counts)  # that began with none
        next_round = made.launches(Batch(0, outputs))
        for name in ("quanta", "sums"):
            assert_same_bits(*quanta_of(arrays, name, gradients, first), f"{name} ahead")
        run(next_round)
        for name in ("quanta", "sums"):
            assert_same_bits(*quanta_of(arrays, name, gradients, chosen), f"other {name}")
        arrays["scale_ahead"].set(np.array([(one.g, one.h) for one in chosen], np.int32))
        kept = {name: spoil(arrays[name], rng) for name in ("quanta", "sums")}
        run(next_round)
        for name, content in kept.items():
            assert_same_bits(arrays[name].get(), content, f"{name} that are kept")


def quanta_of(arrays, name, gradients, scales):
    """Return an array of quanta, or the sums of each tree's, and the twin's."""
    found = arrays[name].get().reshape(len(scales), -1, 2).astype(np.int64)
    each = [quantize(g, h, None, scale) for (g, h), scale in zip(gradients, scales, strict=True)]
    return (found.sum(1), np.sum(each, 1)) if name == "sums" else (found, np.array(each))


@pytest.mark.parametrize("most", [62, 63])
def test_many_nodes_do_not_go_to_local_memory(device, force, rng, most):
    walk = next(own for own in KERNELS[KERNEL].variants if own.name == "walk")
    force(walk, chunk=CHUNK, local_nodes=most)
    parts = make_parts(device, BYTE, random_codes(rng, BYTE, 100), max_depth=5)
    assert parts.nodes.max_nodes == 63
    assert LocalWalk.of(parts.ways.variant(KERNEL), parts).nodes == (128 if most == 63 else 0)
