"""gradients: quanta, scale and sums equal the twin's, bit by bit."""

from dataclasses import astuple
from itertools import pairwise

import numpy as np
import pytest

from pyopencl_gbdt.fit.nodes import Batch
from pyopencl_gbdt.gradients.gradients import Gradients
from pyopencl_gbdt.numerics.portable_math import finite
from pyopencl_gbdt.numerics.weights import normalise
from pyopencl_gbdt.objectives import get_objective
from tests.compare import assert_same_bits
from tests.objectives.samples import PER_ROW, label_of, name_of
from tests.reference import gradients as twin
from tests.steps.builders import make_layout, make_parts, spoil

SQUARED, LOGISTIC = "reg:squarederror", "binary:logistic"
#: (work-group size, loss, weighted): every loss, few builds
BUILDS = [
    *((1, loss, weighted) for loss in (SQUARED, LOGISTIC) for weighted in (0, 1)),
    (64, SQUARED, 0),
    (64, SQUARED, 1),
    (64, LOGISTIC, 1),
    (256, SQUARED, 1),
]


def check(device, rng, wg, loss, margin, label, weight, params=None, *, parallel=1, batch=None):
    """Compare some trees of a round; margins of shape (n_rows,) or (n_outputs, n_rows)."""
    objective, n = get_objective(loss, params), label.shape[-1]
    margins, labels = np.atleast_2d(margin), np.atleast_2d(label)
    normalised = normalise(weight)
    scaled, bits, shift = normalised
    parts = make_parts(
        device, make_layout([2], [False]), np.zeros((n, 1), np.uint8),
        weights=normalised, work_group_size=wg, outputs=len(margins), parallel=parallel,
        targets=len(labels),
    )  # fmt: skip
    batch = batch or Batch(0, parts.nodes.round_trees)
    before = {name: spoil(parts.arena[name], rng) for name in ("quanta", "sums", "pool", "high")}
    parts.arena["margins"].set(margin)
    parts.arena["labels"].set(label)
    launches = Gradients(
        parts.arena, parts.rows, parts.nodes, parts.ways, objective.kernel
    ).launches(batch)
    launches[0]()
    exponents = parts.arena["exponents"].get().astype(np.int64)
    for launch in launches[1:]:
        launch()
    found = {name: parts.arena[name].get() for name in before}
    scales = parts.arena["scale"].get()
    bounds = n * np.arange(parts.rows.row_groups + 1) // parts.rows.row_groups
    for tree in range(batch.size):
        output = (batch.first + tree) // parallel
        with np.errstate(over="ignore", under="ignore"):
            g, h = objective.gradient(margins[output], labels[output if len(labels) > 1 else 0])
        counts = np.concatenate([twin.exponent_counts(finite(x), scaled) for x in (g, h)])
        ignored = np.isin(np.arange(512), (0, 256))  # zeros and subnormals
        own = np.where(ignored, 0, exponents[tree])
        assert_same_bits(own, np.where(ignored, 0, counts), f"exponents of tree {tree}")
        scale = twin.choose_scale(g, h, scaled, bits, shift)
        assert scales[tree].item() == astuple(scale)
        quanta = twin.quantize(g, h, scaled, scale)
        low, high = twin.words(quanta)
        rows = slice(tree * n, (tree + 1) * n)
        assert_same_bits(found["quanta"][rows], low, "low words")
        high_words = high if scale.wide else before["high"][rows]
        assert_same_bits(found["high"][rows], high_words, "high words")
        assert scale.wide or not high.any()
        assert not found["pool"][tree].any() or not parts.rows.cells_to_clear
        sums = [quanta[a:b].sum(axis=0) for a, b in pairwise(bounds)]
        groups = slice(tree * parts.rows.row_groups, (tree + 1) * parts.rows.row_groups)
        assert_same_bits(found["sums"][groups], np.array(sums), "sums")
        assert np.abs(quanta.astype(np.float64)).sum(axis=0).max() < 2.0**61
        if weight is not None:
            assert not quanta[weight == 0].any()
            assert (quanta[weight > 0, 1] >= 1).all()
    for name, part in (("quanta", n), ("high", n), ("sums", parts.rows.row_groups), ("pool", 1)):
        others = slice(part * batch.size, None)
        assert_same_bits(found[name][others], before[name][others], f"{name} of other trees")


def weights(rng, n, kind):
    if kind == "mixed":
        weight = rng.uniform(0, 3, n) * (rng.random(n) < 0.8)
    elif kind == "whole":
        weight = rng.integers(0, 6, n)
    else:
        weight = np.exp(rng.normal(0, 4, n))
    weight = weight.astype(np.float32)
    weight[n // 2] = 1.5
    return weight


def labels(rng, n, kind):
    y = rng.normal(3, 2, n)
    if kind == "heavy":
        y[n // 3] = 1e9
    elif kind == "heavier":
        y[n // 3] = -1e16
    elif kind == "huge":
        y *= 1e38
    elif kind == "subnormal":
        y *= 1e-40
    elif kind == "tiny":
        y *= 1e-30
    elif kind == "spread":
        y = np.exp(rng.normal(0, 20, n))
    elif kind == "zero":
        y[:] = 0.5
    return np.clip(y, -3e38, 3e38).astype(np.float32)


@pytest.mark.parametrize(("wg", "loss", "weighted"), BUILDS)
def test_equals_twin_at_edges(device, rng, wg, loss, weighted):
    for n in sorted({1, max(1, wg - 1), wg, wg + 1, 1000}):
        weight = weights(rng, n, "mixed") if weighted else None
        if loss == SQUARED:
            margin, label = rng.normal(size=n).astype(np.float32), labels(rng, n, "normal")
        else:
            margin = rng.normal(0, 3, n).astype(np.float32)
            label = rng.integers(0, 2, n).astype(np.float32)
        check(device, rng, wg, loss, margin, label, weight)


@pytest.mark.parametrize(
    "kind", ["heavy", "heavier", "huge", "subnormal", "tiny", "spread", "zero"]
)
@pytest.mark.parametrize("wg", [1, 64])
def test_unusual_targets(device, rng, wg, kind):
    n = 2100 if kind.startswith("heav") else 700  # two of 2048 rows may be beyond 24 bits
    margin = np.full(n, 0.5 if kind != "subnormal" else 0, np.float32)
    for weight in (None, *(weights(rng, n, k) for k in ("mixed", "whole", "heavy"))):
        check(device, rng, wg, SQUARED, margin, labels(rng, n, kind), weight)


@pytest.mark.parametrize("wg", [1, 64])
def test_several_trees_at_a_time(device, rng, wg):
    """Every tree has its own scale, and margins and labels of its output."""
    n = 700
    margins = rng.normal(size=(3, n)).astype(np.float32) * np.float32([[1], [1000], [1e-3]])
    targets = np.stack([labels(rng, n, kind) for kind in ("normal", "heavy", "tiny")])
    for batch in (Batch(0, 6), Batch(0, 1), Batch(2, 3), Batch(5, 1)):
        for label in (targets, targets[0]):
            for weight in (None, weights(rng, n, "mixed")):
                check(device, rng, wg, SQUARED, margins, label, weight, parallel=2, batch=batch)


def test_saturated_probabilities(device, rng):
    margin = np.float32([-1000, -200, -80, -40, -17, 0, 17, 40, 80, 200, 1000] * 40)
    label = rng.integers(0, 2, margin.size).astype(np.float32)
    check(device, rng, 1, LOGISTIC, margin, label, None)
    for wg in (1, 64):
        check(device, rng, wg, LOGISTIC, margin, label, weights(rng, margin.size, "heavy"))


#: Far out, where exponentials and powers are clamped.
FAR = np.float32([0, 1e-30, 1e-3, 1, 16, 49, 51, 79, 81, 120, 1e6, 1e12, 1e30, 1.5e38])


def far(loss):
    """Every pair of extreme margins and of extreme labels that a loss takes."""
    margin, label = (a.ravel() for a in np.meshgrid(np.r_[-FAR, FAR], np.r_[-FAR, FAR]))
    if loss == "reg:squaredlogerror":
        ok = label > -1
    elif loss.startswith("binary"):
        ok = (label == 0) | (label == 1)
    elif loss in ("reg:logistic", "cross_entropy"):
        ok = (label >= 0) & (label <= 1)
    else:
        ok = label >= 0 if loss in ("count:poisson", "reg:gamma", "reg:tweedie") else label < 2e38
    return margin[ok], label[ok]


@pytest.mark.few(3)
@pytest.mark.parametrize("case", PER_ROW, ids=name_of)
def test_every_loss_has_the_twins_bits(device, rng, case):
    loss, params = case
    wg = 64 if device.caps.kind != "cpu" or params else 1
    margin = rng.uniform(-4, 4, 1000).astype(np.float32)
    margin[::3] = rng.normal(0, 40, margin[::3].size)
    label = label_of(loss, rng.normal(size=margin.size), rng)
    for weight in (None, weights(rng, margin.size, "mixed")):
        check(device, rng, wg, loss, margin, label, weight, params)
        check(device, rng, wg, loss, *far(loss), None if weight is None else
              weights(rng, far(loss)[0].size, "heavy"), params)  # fmt: skip


def test_law_a_heavy_tail_costs_the_others_nothing(rng):
    g = rng.normal(size=4000).astype(np.float32)
    h = np.ones_like(g)
    alone = twin.choose_scale(g, h, None, 0)
    g[[5, 17, 1999]] = 1e9, -3e8, 2e9
    scale = twin.choose_scale(g, h, None, 0)
    assert scale.g >= alone.g - 1
    assert scale.wide
    quanta = twin.quantize(g, h, None, scale)[:, 0]
    error = np.abs(np.ldexp(quanta.astype(np.float64), -scale.g) - g)
    assert error.max() <= 2.0 ** (-scale.g - 1)
    assert error.max() < 1e-6


def test_law_a_weight_counts_as_rows(rng):
    g = rng.normal(size=50).astype(np.float32)
    h, times = np.ones_like(g), rng.integers(0, 9, 50)
    scale = twin.choose_scale(g, h, times.astype(np.float32), 4)
    weighted = twin.quantize(g, h, times.astype(np.float32), scale)
    assert_same_bits(weighted, twin.quantize(g, h, None, scale) * times[:, None])


def test_words_hold_every_integer(rng):
    quanta = rng.integers(-(2**61), 2**61, 1000) >> rng.integers(0, 61, 1000)
    low, high = twin.words(quanta)
    assert_same_bits(high.astype(np.int64) * 2**32 + low, quanta)
    assert not high[np.abs(quanta) < 2**31 - 1].any()
