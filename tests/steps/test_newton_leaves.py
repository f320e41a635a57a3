"""newton_leaves: weights of leaves after further Newton steps, as the twin."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset
from pyopencl_gbdt.dtypes import NO_NODE
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.growth.finalize import LeafValues
from pyopencl_gbdt.growth.leaves_by_next_order import LeavesByNextOrder
from pyopencl_gbdt.growth.newton_leaves import NewtonLeaves
from pyopencl_gbdt.numerics.portable_math import as_margin, finite
from pyopencl_gbdt.numerics.weights import normalise
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.primitives.checks import run
from tests.compare import assert_same_bits
from tests.reference.grow import Node
from tests.reference.leaves_by_next_order import leaves_of
from tests.reference.newton_leaves import newton_steps
from tests.steps.builders import get_nodes, spoil
from tests.steps.test_leaves_by_next_order import LAYOUT, finished_trees

KERNEL = "newton_leaves"
WG_SIZES, WG_SIZES_CPU = (1, 64, 256), (1, 64)
#: The size of the work-group is given: rows differ in nothing else.
THOROUGH = {
    "test_equals_twin": lambda variant, wg, loss, cells: (
        (wg == 1) != (variant.params["wg_size"] == 1)
    )
}


def check(device, rng, wg, n, *, loss, weighted, outputs=1, parallel=1):
    weight = rng.integers(0, 4, n).astype(np.float32) if weighted else None
    if weighted:
        weight[0] = 1
    parts, n_nodes, scales = finished_trees(
        device, rng, wg, n, weights=normalise(weight), leaf_estimation_iterations=4,
        outputs=outputs, parallel=parallel,
    )  # fmt: skip
    objective, arena = get_objective(loss), parts.arena
    label = rng.integers(0, 2, n).astype(np.float32)
    margins = rng.normal(0, 2, (outputs, n)).astype(np.float32)
    step = NewtonLeaves(parts, objective, LeafValues(parts, objective, None))
    spoil(arena["newton_leaf"], rng)
    room = max(parts.nodes.max_nodes, n_nodes)
    arena.arrays["newton_sums"] = device.zeros((room, 4), np.uint32)
    for name in ("newton_nearest", "newton_weights"):
        arena.arrays[name] = device.empty(room, arena[name].dtype)
        spoil(arena[name], rng)
    arena["labels"].set(label)
    arena["margins"].set(margins.reshape(arena["margins"].shape))
    scaled, *powers = normalise(weight)
    nodes, walk, steps = get_nodes(parts), arena["walk"].get(), arena["steps"].get()
    codes = parts.rows.codes.by_feature.get().T
    rate, data = parts.nodes.leaf_rate(0.3), Dataset(np.zeros((n, 1), np.float32), label)
    for _ in range(2):  # sums and counts are cleared
        run(step.launches(Batch(0, parts.nodes.n_trees)))
        for tree in range(parts.nodes.n_trees):
            own = nodes[:n_nodes]
            numbers = np.flatnonzero((own["tree"] == tree) & (own["left"] == NO_NODE))
            there = leaves_of(own, codes, LAYOUT.feature_bins, tree)
            assert_same_bits(arena["newton_leaf"].get()[tree], there.astype(np.uint32), "leaves")
            leaves = [
                Node(
                    np.flatnonzero(there == i), np.zeros((1, 2), np.int64),
                    lower=own["lower"][i], upper=own["upper"][i], weights=own["weight"][[i]],
                    values=own["value"][[i]],
                )
                for i in numbers
            ]  # fmt: skip

            def gradients_at(added, output=tree // parallel):
                g, h = objective.gradients((margins[output] + added)[None], data)
                return finite(g[0]), finite(h[0])

            newton_steps(parts.nodes.params, leaves, gradients_at, scaled, powers, scales[tree])
            for i, leaf in zip(numbers, leaves, strict=True):
                if (scaled is None and leaf.rows.size) or (
                    scaled is not None and scaled[leaf.rows].any()
                ):
                    value = as_margin(leaf.weights * rate)[0]
                    own["weight"][i], own["value"][i] = leaf.weights[0], value
                    walk["number"][i], steps["value"][i] = value, value
        assert_same_bits(get_nodes(parts), nodes, "nodes")
        for name, wanted in (("walk", walk), ("steps", steps)):
            assert_same_bits(arena[name].get(), wanted, name)
    for name in ("newton_sums", "newton_exponents"):
        assert not arena[name].get().any()


@pytest.mark.few(1)
@pytest.mark.parametrize("loss", ["binary:logistic", "count:poisson"])
@pytest.mark.parametrize("cells", [512, 4])
def test_equals_twin(device, variant, force, rng, wg, loss, cells):
    force(variant, cells=cells)
    for n in (1, 700):
        check(device, rng, wg, n, loss=loss, weighted=n > 1)
    check(device, rng, wg, 300, loss=loss, weighted=False, outputs=2, parallel=2)


def test_leaves_of_the_next_order_are_not_sought_again(device, rng):
    parts, *_ = finished_trees(device, rng, 1, 50, leaf_estimation_iterations=4)
    objective = get_objective("binary:logistic")
    step = NewtonLeaves(parts, objective, LeavesByNextOrder(parts))
    names = [launch.name for launch in step.launches(Batch(0, 1))]
    assert step.takes_next_order
    assert "find_leaves" not in names
    assert names.count("sum_rows") == 3
