"""renew_leaves: quantiles of residuals, found digit by digit, are those of a sort."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset
from pyopencl_gbdt.dtypes import NO_NODE
from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.growth.finalize import Finalize
from pyopencl_gbdt.growth.renew_leaves import COUNTS, RenewLeaves
from pyopencl_gbdt.numerics.portable_math import as_margin
from pyopencl_gbdt.numerics.quantiles import quantile
from pyopencl_gbdt.numerics.weights import whole
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.primitives.checks import run
from tests.compare import assert_same_bits
from tests.reference.gradients import Scale
from tests.reference.renew_leaves import residuals
from tests.steps.builders import (
    get_nodes,
    make_layout,
    make_parts,
    make_room_for_trees,
    random_codes,
    set_nodes,
    set_scale,
    spoil,
)
from tests.steps.test_update_margins import list_rows, random_trees

KERNEL = "renew_leaves"
BATCH = Batch(0, 1)
WG_SIZES, WG_SIZES_CPU = (1, 32, 64, 256, 1024), (1, 64)
#: The size of the work-group is given: rows differ in nothing else.
THOROUGH = {
    "test_equals_twin": lambda variant, wg, layout, weights: (
        (wg == 1) != (variant.params["wg_size"] == 1) or (layout is WORD and weights != "spread")
    )
}
BYTE = make_layout([9, 255, 1, 30] * 5, [True, True, False, False] * 5)
WORD = make_layout([300, 2, 1000, 1], [True, True, False, True])
ALPHAS = (0, 1e-12, 0.1, 0.5, 0.7, 0.999, 1)
F32_MAX = np.finfo(np.float32).max


def labels_of(kind, rng, n):
    """Return labels whose residuals are of one kind."""
    draw = {
        "normal": lambda: rng.normal(size=n),
        "ties": lambda: rng.integers(-2, 3, n) * 0.5,
        "equal": lambda: np.full(n, 7.25),
        "zeros": lambda: rng.choice([0.0, -0.0, 1e-40, -1e-40, 1e-30], n),
        "huge": lambda: rng.choice([-F32_MAX, F32_MAX, 1e38, 0], n),
        "spread": lambda: rng.normal(size=n) * np.exp(rng.normal(0, 20, n)),
    }[kind]
    return draw().astype(np.float32)


def weights_of(kind, rng, n):
    if kind is None:
        return None
    weight = rng.integers(0, 4, n) if kind == "whole" else np.exp(rng.normal(0, 12, n))
    weight[0] = 1
    return weight.astype(np.float32)


def prepare(device, rng, wg, layout, n, shape, depth):
    """Return the parts of a fit with a finished tree, its nodes, and the rows of each."""
    codes = random_codes(rng, layout, n)
    parts = make_parts(device, layout, codes, max_depth=depth, work_group_size=wg)
    nodes, rows, counts = random_trees(rng, parts, codes, layout, shape)
    make_room_for_trees(parts, nodes.size, counts)
    nodes["sum_g"] = rng.integers(-(2**26), 2**26, nodes.size)
    nodes["sum_h"] = rng.integers(2**20, 2**26, nodes.size)
    set_scale(parts, Scale(22, 22, wide=False))
    set_nodes(parts, nodes)
    list_rows(parts, nodes, rows, rng)
    run(Finalize(*parts).tree(BATCH))
    return parts, get_nodes(parts), rows


def check(device, rng, wg, layout, n, shape, depth, *, alpha, labels, weights):
    parts, before, rows = prepare(device, rng, wg, layout, n, shape, depth)
    objective = get_objective("reg:quantileerror", {"quantile_alpha": alpha})
    label, weight = labels_of(labels, rng, n), weights_of(weights, rng, n)
    data = Dataset(np.zeros((n, 1), np.float32), label, weight)
    step = RenewLeaves(parts, objective, data)
    counts = ("renew_counts", "renew_leaf")  # where leaves are not selected
    assert all((name in parts.arena.arrays) != step.selects for name in counts)
    if not step.selects:
        parts.arena.arrays["renew_counts"] = device.zeros((len(before), COUNTS), np.uint32)
        spoil(parts.arena["renew_leaf"], rng)
    spoil(parts.arena["renew_key"], rng)
    for name in ("renew_prefix", "renew_rank", "renew_fraction"):
        array = parts.arena[name]
        parts.arena.arrays[name] = device.empty((len(before), *array.shape[1:]), array.dtype)
        spoil(parts.arena[name], rng)
    parts.arena["labels"].set(label)
    walk, steps = parts.arena["walk"].get(), parts.arena["steps"].get()
    for margins in (np.zeros(n, np.float32), rng.normal(size=n).astype(np.float32)):
        parts.arena["margins"].set(margins)
        for launch in step.launches(BATCH):
            launch()
        values = before["value"].copy()
        residual, own = residuals(label, margins), objective.leaf_weights(label, weight)
        for i in np.flatnonzero(before["left"][: len(rows)] == NO_NODE):
            found = quantile(residual[rows[i]], None if own is None else own[rows[i]], alpha)
            if found is not None:
                values[i] = as_margin(np.array([found * np.float32(0.3)]))[0]
        after = get_nodes(parts)
        assert_same_bits(after["value"], values, "values")
        before["value"] = values  # a node whose rows do not count keeps it
        leaf = before["left"][: len(rows)] == NO_NODE
        changed = leaf & (np.array([r.size for r in rows]) > 0)
        if own is not None:
            changed &= np.array([own[r].sum() for r in rows]) > 0
        walk["number"][: len(rows)][changed] = values[: len(rows)][changed]
        steps["value"][: len(rows)][changed] = values[: len(rows)][changed]
        assert_same_bits(after, before, "nodes")
        assert_same_bits(parts.arena["walk"].get(), walk, "walk")
        assert_same_bits(parts.arena["steps"].get(), steps, "steps")
    assert step.selects or not parts.arena["renew_counts"].get().any()


@pytest.mark.more(5)
@pytest.mark.parametrize("weights", [None, "whole", "spread"])
@pytest.mark.parametrize("layout", [BYTE, WORD], ids=["u8", "u16"])
def test_equals_twin(device, variant, force, rng, wg, layout, weights):
    force(variant)
    for alpha in ALPHAS:
        given = {"alpha": alpha, "weights": weights}
        check(device, rng, wg, layout, 700, "bushy", 5, labels="normal", **given)
    for labels in ("ties", "equal", "zeros", "huge", "spread"):
        for alpha in (0.3, 0.5):
            given = {"alpha": alpha, "labels": labels, "weights": weights}
            check(device, rng, wg, layout, 300, "full", 3, **given)
    for n in (1, 2, 3, 255, 257, 1000):
        for shape, depth in (("stump", 3), ("full", 1), ("full", 7)):
            given = {"alpha": 0.5, "labels": "normal", "weights": weights}
            check(device, rng, wg, layout, n, shape, depth, **given)


def test_quantiles_by_hand():
    x = np.float32([3, 1, 2, 10])
    assert quantile(x, None, 0.5) == 2.5
    assert quantile(x, None, 0.25) == np.float32(1.25)  # place 1.25
    assert [quantile(x, None, a) for a in (0, 0.2, 0.8, 1)] == [1, 1, 10, 10]
    assert [quantile(x[:1], None, a) for a in (0, 0.5, 1)] == [3, 3, 3]
    assert quantile(x[:0], None, 0.5) is None
    ones = np.ones(4, np.int64)
    assert [quantile(x, ones, a) for a in (0, 0.25, 0.26, 0.5, 0.75, 1)] == [1, 1, 2, 2, 3, 10]
    assert quantile(x, np.array([0, 0, 5, 0]), 0.9) == 2
    assert quantile(x, 0 * ones, 0.5) is None


@pytest.mark.parametrize("weighted", [False, True])
def test_quantiles_are_xgboosts(rng, weighted):
    """Whole weights: many sums of them are equal to the threshold."""
    xgboost = pytest.importorskip("xgboost")
    for n in (1, 2, 3, 10, 99, 100, 1000):
        y = rng.normal(size=n).astype(np.float32)
        weight = rng.integers(1, 3, n).astype(np.float32) if weighted else None
        matrix = xgboost.DMatrix(np.zeros((n, 1)), y, weight=weight)
        for alpha in (0.01, 0.1, 0.25, 0.3, 0.5, 0.9, 0.99):
            params = {"objective": "reg:quantileerror", "quantile_alpha": alpha, "eta": 1e-9}
            theirs = xgboost.train(params, matrix, 1).predict(matrix)[0]
            own = whole(weight.astype(np.float64)) if weighted else None
            assert quantile(y, own, alpha) == pytest.approx(theirs, rel=3e-7, abs=2e-7)
