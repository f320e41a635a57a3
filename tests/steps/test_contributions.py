"""contributions: sums of quanta equal those of the walk on the host, which equals the twin."""

from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.device import program as launch_size
from pyopencl_gbdt.errors import MemoryPlanError
from pyopencl_gbdt.prediction.contributions import device_rows, sums
from pyopencl_gbdt.prediction.contributions.device_walk import DeviceWalk
from pyopencl_gbdt.prediction.contributions.explain_rows import finish
from pyopencl_gbdt.prediction.contributions.kinds import Kind
from pyopencl_gbdt.prediction.contributions.path_factors import path_factors
from pyopencl_gbdt.prediction.contributions.quantum import Starts
from pyopencl_gbdt.prediction.walk_rows import trees_of
from tests import explained
from tests.compare import assert_same_bits

KERNEL = "contributions"
#: The second one has 9 points in two walks and a depth that no loops are nested for.
SHAPES = {
    "small": {},
    "deep": {"n_features": 25, "n_trees": 2, "deep": 24},
    "sets": {"sets": True, "n_outputs": 2},
    "lone leaves": {"n_splits": 0},
}


def check(device, model, values, kind, rows=None):
    trees, game = trees_of(model, (0, model.n_rounds)), path_factors(model)
    rows = rows or slice(0, values.shape[0])
    wanted = sums.HostSums(model, values, trees).of(game, kind, rows)
    got = sums.DeviceSums(device, values, trees).of(game, kind, rows)
    assert_same_bits(got, wanted, f"{kind} of {values.shape}")


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("shape", SHAPES)
def test_equals_host(device, variant, force, rng, shape, kind):
    force(variant)
    model = explained.ensemble(rng, **SHAPES[shape])
    check(device, model, explained.rows_of(rng, 37, model.n_features), kind)


@pytest.mark.parametrize("n", [1, 15, 16, 17, 127, 128, 129, 700])
def test_rows(device, variant, force, rng, n):
    force(variant)
    model = explained.ensemble(rng)
    check(device, model, explained.rows_of(rng, n, 5), Kind.FEATURES)
    if n > 20:
        check(device, model, explained.rows_of(rng, n, 5), Kind.PAIRS, slice(3, n - 5))


def test_short_launches_and_shared_trees(device, variant, force, rng, monkeypatch):
    """A tree a launch; work-groups that share trees, and walk several blocks with one stack."""
    force(variant)
    model, values = explained.ensemble(rng, n_trees=9), explained.rows_of(rng, 600, 5)
    monkeypatch.setattr(device_rows, "_GROUPS", 2)
    monkeypatch.setattr(device_rows, "bytes_a_launch", lambda _: 1)
    for kind in Kind:
        check(device, model, values, kind)
    monkeypatch.setattr(device_rows, "bytes_a_launch", launch_size.bytes_a_launch)
    monkeypatch.setattr(device_rows, "_BUSY_ITEMS", 10**6)
    for kind in Kind:
        check(device, model, values, kind)
        check(device, model, values[:20], kind)


def test_sparse_rows(device, variant, force, rng):
    force(variant)
    model, values = explained.ensemble(rng), explained.rows_of(rng, 50, 5)
    there = ~np.isnan(values)
    rows = SparseMatrix(
        values.shape, np.concatenate([[0], np.cumsum(there.sum(axis=1))]),
        np.nonzero(there)[1].astype(np.int32), values[there],
    )  # fmt: skip
    check(device, model, rows, Kind.FEATURES, slice(4, 41))


def test_a_background_row(device, variant, force, rng):
    """Shares of 0 and 1."""
    force(variant)
    model, values = explained.ensemble(rng), explained.rows_of(rng, 20, 5)
    game = path_factors(model)
    game = game.for_row(rng.random(game.inner.size) < 0.5, 2)
    trees = trees_of(model, (0, model.n_rounds))
    for kind in (Kind.FEATURES, Kind.PAIRS):
        wanted = sums.HostSums(model, values, trees).of(game, kind, slice(0, 20))
        got = sums.DeviceSums(device, values, trees).of(game, kind, slice(0, 20))
        assert_same_bits(got, wanted, str(kind))


def test_tiny_and_large_values(device, variant, force, rng):
    """Products that a device may flush to zero do not show."""
    force(variant)
    model, values = explained.ensemble(rng, n_trees=3), explained.rows_of(rng, 40, 5)
    trees = []
    for tree in model.trees:
        cover = np.where(tree.is_leaf, 10.0 ** rng.integers(-30, 30, tree.n_nodes), 0)
        for node in range(tree.n_nodes - 1, 0, -1):
            cover[tree.parent[node]] += cover[node]
        value = tree.value * np.float32(10.0) ** rng.integers(-30, 30, tree.value.shape)
        trees.append(replace(tree, sum_hessian=np.float32(cover), value=np.float32(value)))
    for kind in (Kind.FEATURES, Kind.PAIRS):
        check(device, replace(model, trees=trees), values, kind)


@pytest.mark.parametrize("kind", [Kind.FEATURES, Kind.PAIRS])
@pytest.mark.parametrize("alike", [True, False])
def test_float64(device, variant, force, rng, kind, alike):
    """Sums of all sizes, ties of the largest, rows of zeros, and quanta that are larger."""
    force(variant)
    model = explained.ensemble(rng)
    way = DeviceWalk(device, path_factors(model), kind)
    shape = (300, 2, 6, 6) if kind is Kind.PAIRS else (300, 2, 6)
    quanta = rng.integers(-(2**40), 2**40, shape) >> rng.integers(0, 45, shape)
    quanta[::7] = 0
    quanta[1::7] = np.sign(quanta[1::7]) * 12
    if kind is Kind.FEATURES:
        quanta[2::7] <<= 12  # beyond 53 bits
    if kind is Kind.PAIRS:
        quanta += quanta.swapaxes(2, 3)
        quanta[..., -1, :] = quanta[..., -1] = 0
    size = rng.integers(-12, 12, (2, 1 if alike else 300))
    base = np.float32(rng.normal(size=size.shape) * 2.0**size)
    bits, of_trees = 45, rng.integers(-(2**40), 2**40, 2)
    margins = np.float32(rng.normal(size=(2, 300)) * 2.0 ** rng.integers(-60, 5, (2, 300)))
    wanted, sums_of_rows = np.empty(shape), quanta.reshape(300, 2, -1).copy()
    finish(bits, of_trees, quanta, margins, np.broadcast_to(base, margins.shape), wanted)
    starts = Starts.of(bits, of_trees, base)
    there = device.upload(sums_of_rows)
    totals = way.finish(there, starts).get()
    got = there.get().view(np.float64).reshape(shape)
    starts.add_rest(got, totals, margins)
    assert_same_bits(got, wanted, f"{kind}")


def test_sums_that_do_not_fit_the_device(device, rng, monkeypatch):
    model, values = explained.ensemble(rng), explained.rows_of(rng, 300, 5)
    monkeypatch.setattr(device, "caps", replace(device.caps, max_alloc_bytes=8000))
    own = sums.DeviceSums(device, values, trees_of(model, (0, model.n_rounds)))
    with pytest.raises(MemoryPlanError, match="contributions of 300 rows take an array of "):
        own.of(path_factors(model), Kind.PAIRS, slice(0, 300))
