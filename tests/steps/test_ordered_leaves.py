"""ordered_leaves: what a finished tree adds to the models of prefixes, as the twin does."""

from types import SimpleNamespace

import numpy as np
import pytest

from pyopencl_gbdt import Dataset
from pyopencl_gbdt.device import variants
from pyopencl_gbdt.dtypes import NO_NODE
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.growth.finalize import Finalize
from pyopencl_gbdt.growth.ordered_leaves import OrderedLeaves
from pyopencl_gbdt.numerics.weights import normalise
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.primitives.checks import run
from tests.compare import assert_same_bits
from tests.reference.gradients import Scale
from tests.reference.ordered_leaves import OrderedLeaves as Twin
from tests.steps.builders import (
    get_nodes,
    make_layout,
    make_parts,
    random_codes,
    set_nodes,
    set_scale,
    spoil,
)
from tests.steps.test_update_margins import random_trees

KERNEL = "ordered_leaves"
WG_SIZES, WG_SIZES_CPU = (1, 64, 256), (1, 64)
#: The size of the work-group is given: rows differ in nothing else.
THOROUGH = {
    "test_equals_twin": lambda variant, wg, sampled, weighted, cells_and_leaf: (
        (wg == 1) != (variant.params["wg_size"] == 1)
        or (cells_and_leaf == (512, "walk") and sampled != weighted)
    )
}
LAYOUT = make_layout([9, 255, 1, 30] * 3, [True, True, False, False] * 3)
OBJECTIVES = ("binary:logistic", "reg:squarederror")
SCALE = Scale(20, 22, wide=False)


def prepare(device, rng, wg, n, weights, **params):
    """Return the parts of a fit with a finished tree, its nodes, and the rows of each."""
    codes = random_codes(rng, LAYOUT, n)
    parts = make_parts(
        device, LAYOUT, codes, max_depth=4, work_group_size=wg, weights=weights, **params
    )
    nodes, rows, counts = random_trees(rng, parts, codes, LAYOUT, "bushy")
    nodes = nodes[: parts.nodes.max_nodes]
    nodes["sum_h"] = 2**22
    bounded = rng.random(nodes.size) < 0.3
    nodes["lower"][bounded], nodes["upper"][bounded] = -0.01, 0.02
    set_scale(parts, SCALE)
    set_nodes(parts, np.resize(nodes, parts.nodes.max_nodes))
    levels = parts.arena["levels"].get()
    levels["count"], levels["first"] = counts, np.cumsum(counts) - counts
    parts.arena["levels"].set(levels)
    lists = {name: spoil(parts.arena[name], rng) for name in ("even_rows", "odd_rows")}
    for node, mine in zip(nodes, rows, strict=True):
        if node["depth"]:
            place = slice(node["begin"], node["begin"] + node["count"])
            lists["odd_rows" if node["depth"] % 2 else "even_rows"][place] = mine
    for name, content in lists.items():
        parts.arena[name].set(content)
    run(Finalize(*parts).tree(Batch(0, 1)))
    return parts, get_nodes(parts), rows


def check(device, rng, wg, n, name, *, weighted, sampled):
    weight = None
    if weighted:
        weight = (np.exp(rng.normal(0, 2, n)) * (rng.random(n) < 0.8)).astype(np.float32)
        weight[0] = 1
    scaled, *powers = normalise(weight)
    params = {"subsample": 0.5} if sampled else {}
    params |= {"reg_alpha": 0.1, "max_delta_step": 0.7, "objective": name}
    parts, before, rows = prepare(device, rng, wg, n, (scaled, *powers), **params)
    label = rng.integers(0, 2, n).astype(np.float32)
    objective, data = get_objective(name), Dataset(np.zeros((n, 1), np.float32), label, weight)
    OrderedLeaves(parts, objective, data)
    for array in parts.arena.arrays:
        if array.startswith("ordered_"):
            spoil(parts.arena[array], rng)
    step = OrderedLeaves(parts, objective, data)  # sets what the first tree expects
    start = rng.normal(size=(1, n)).astype(np.float32)
    twin = Twin(parts.nodes.params, objective, data, scaled, powers, start)
    drawn = rng.choice(np.array([0, 1, 2.5], np.float32), n) if sampled else None
    if drawn is not None:
        parts.arena["factors"].set(drawn)
    step.start(start, {})
    leaves = [
        SimpleNamespace(id=i, rows=rows[i], lower=before["lower"][i], upper=before["upper"][i])
        for i in np.flatnonzero(before["left"][: len(rows)] == NO_NODE)
    ]
    walk, steps = parts.arena["walk"].get(), parts.arena["steps"].get()
    for number in range(2):
        twin.begin_round(number)
        twin.finish(0, leaves, SCALE, drawn)
        run(step.launches(Batch(0, 1)))
        for leaf in leaves:
            before["value"][leaf.id] = walk["number"][leaf.id] = leaf.value
            steps["value"][leaf.id] = leaf.value
        assert_same_bits(step.state()["ordered margins"], twin.margins.ravel(), "margins")
        assert_same_bits(get_nodes(parts)[: len(rows)], before[: len(rows)], "nodes")
        assert_same_bits(parts.arena["walk"].get()[: len(rows)], walk[: len(rows)], "walk")
        assert_same_bits(parts.arena["steps"].get()[: len(rows)], steps[: len(rows)], "steps")
    assert not parts.arena["ordered_sums"].get().any()
    assert not parts.arena["ordered_exponents"].get().any()


@pytest.mark.more(4)
@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cells_and_leaf", [(512, "walk"), (512, "by_rows"), (4, "walk")])
def test_equals_twin(device, variant, force, rng, wg, sampled, weighted, cells_and_leaf):
    cells, leaf = cells_and_leaf
    force(variant, cells=cells)
    (how,) = (v for v in variants.KERNELS["update_margins"].variants if v.name == leaf)
    force(how)
    for n, name in ((700, OBJECTIVES[0]), (700, OBJECTIVES[1]), (20, OBJECTIVES[1])):
        check(device, rng, wg, n, name, weighted=weighted, sampled=sampled)
