"""leaves_by_next_order: values of leaves from rows that other codes bring there, as the twin."""

import numpy as np
import pytest

from pyopencl_gbdt.dtypes import NO_NODE
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.growth.finalize import Finalize
from pyopencl_gbdt.growth.leaves_by_next_order import LeavesByNextOrder
from pyopencl_gbdt.numerics.portable_math import finite
from pyopencl_gbdt.primitives.checks import run
from tests.compare import assert_same_bits
from tests.reference.gradients import Scale
from tests.reference.leaves_by_next_order import leaves_of, walked_weights
from tests.steps.builders import (
    get_nodes,
    make_layout,
    make_parts,
    make_room_for_trees,
    random_codes,
    set_nodes,
    set_quanta,
    set_scale,
    spoil,
)
from tests.steps.test_update_margins import random_trees

KERNEL = "leaves_by_next_order"
WG_SIZES, WG_SIZES_CPU = (1, 64, 256), (1, 64)
#: The size of the work-group is given: rows differ in nothing else.
THOROUGH = {
    "test_equals_twin": lambda variant, wg, wide, cells: (
        (wg == 1) != (variant.params["wg_size"] == 1)
    )
}
LAYOUT = make_layout([9, 255, 1, 30] * 3, [True, True, False, False] * 3)
RULES = {"reg_alpha": 0.01, "max_delta_step": 0.7, "reg_lambda": 0.5, "max_depth": 4}


def finished_trees(device, rng, wg, n, *, wide=False, **params):
    """Return a fit's parts with trees made by other codes than it has, their nodes and scales."""
    parts = make_parts(
        device, LAYOUT, random_codes(rng, LAYOUT, n), work_group_size=wg, **RULES, **params
    )
    nodes, _, counts = random_trees(rng, parts, random_codes(rng, LAYOUT, n), LAYOUT, "bushy")
    make_room_for_trees(parts, nodes.size, counts)
    nodes["sum_h"] = 2**22
    nodes["weight"] = rng.normal(0, 0.5, nodes.size)
    bounded = rng.random(nodes.size) < 0.3
    nodes["lower"][bounded], nodes["upper"][bounded] = -0.01, 0.02
    scales = [Scale(20 + tree, 22, wide=wide) for tree in range(parts.nodes.n_trees)]
    set_scale(parts, *scales)
    set_nodes(parts, nodes)
    run(Finalize(*parts).tree(Batch(0, parts.nodes.n_trees)))
    return parts, nodes.size, scales


def check(device, rng, wg, n, *, wide, outputs=1, parallel=1):
    parts, n_nodes, scales = finished_trees(
        device, rng, wg, n, wide=wide, outputs=outputs, parallel=parallel
    )
    quanta = rng.integers(-(2**24), 2**24, (parts.nodes.n_trees, n, 2))
    quanta[..., 1] = np.abs(quanta[..., 1]) * (rng.random(quanta.shape[:2]) < 0.9)
    quanta[quanta[..., 1] == 0] = 0  # rows that were not drawn
    quanta *= 2**20 if wide else 1
    set_quanta(parts, quanta.reshape(-1, 2), wide=wide, rng=rng)
    step = LeavesByNextOrder(parts)
    spoil(parts.arena["walked_leaf"], rng)
    parts.arena.arrays["walked_sums"] = device.zeros(
        (max(parts.nodes.max_nodes, n_nodes), 4), np.uint32
    )
    nodes, walk, steps = get_nodes(parts), parts.arena["walk"].get(), parts.arena["steps"].get()
    codes = parts.rows.codes.by_feature.get().T
    margins = rng.normal(size=(outputs, n)).astype(np.float32)
    parts.arena["margins"].set(margins.reshape(parts.arena["margins"].shape))
    batch, rate = Batch(0, parts.nodes.n_trees), parts.nodes.leaf_rate(0.3)
    for _ in range(2):  # sums are cleared
        run([*step.launches(batch), *step.add(batch)])
    for tree in range(parts.nodes.n_trees):
        own = nodes[:n_nodes]
        leaves = np.flatnonzero((own["tree"] == tree) & (own["left"] == NO_NODE))
        there = leaves_of(own, codes, LAYOUT.feature_bins, tree)
        bounds = [(own["lower"][i], own["upper"][i]) for i in leaves]
        weights = walked_weights(
            leaves, there, quanta[tree], bounds, scales[tree], parts.nodes.params
        )
        values = finite(weights * rate)
        nodes["weight"][leaves], nodes["value"][leaves] = weights, values
        walk["number"][leaves], steps["value"][leaves] = values, values
        assert_same_bits(parts.arena["walked_leaf"].get()[tree], there.astype(np.uint32), "leaves")
    assert_same_bits(get_nodes(parts), nodes, "nodes")
    for name, wanted in (("walk", walk), ("steps", steps)):
        assert_same_bits(parts.arena[name].get(), wanted, name)
    leaf_of = parts.arena["walked_leaf"].get()
    for _ in range(2):
        for tree in range(parts.nodes.n_trees):
            margins[tree // parallel] += nodes["value"][leaf_of[tree]]
    assert_same_bits(parts.arena["margins"].get().reshape(outputs, n), margins, "margins")
    assert not parts.arena["walked_sums"].get().any()


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("cells", [512, 4])
def test_equals_twin(device, variant, force, rng, wg, wide, cells):
    force(variant, cells=cells)
    for n in (1, 700):
        check(device, rng, wg, n, wide=wide)
    check(device, rng, wg, 300, wide=wide, outputs=2, parallel=2)
