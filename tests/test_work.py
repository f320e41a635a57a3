"""A guard that counts work, not seconds: launches, waits and bytes of a fit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pyopencl_gbdt import Dataset
from pyopencl_gbdt.booster import Boosting
from pyopencl_gbdt.device import Launch, open_device, runnable
from pyopencl_gbdt.memory_estimate import estimate_memory
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters import Parameters
from tests.conftest import TEST_DEVICE

#: At depth 6. XGBoost launches several times as many.
MOST_LAUNCHES = 60
#: Share by which the estimate before a fit may miss what was then taken.
MISS = 0.1


def boosting(device, n_rows=3000, n_features=5, *, weighted=False, evaluation_rows=0, **params):
    rng = np.random.default_rng(6)
    X = rng.standard_normal((n_rows, n_features)).astype(np.float32)
    y = (X[:, 0] + rng.standard_normal(n_rows) > 0).astype(np.float32)
    weight = rng.integers(1, 4, n_rows) if weighted else None
    p = Parameters.from_dict({"objective": "binary:logistic", "max_depth": 6, **params})
    fit = Boosting(device, p, get_objective(p.objective), Dataset(X, y, weight), 0.0)
    if evaluation_rows:
        fit.watch(rng.standard_normal((evaluation_rows, n_features)).astype(np.float32))
    return fit, p


def round_launches(fit):
    """Return what a round takes."""
    return [*fit._before, *itertools.chain(*fit._batches)]


@pytest.fixture
def at_launches(monkeypatch):
    """(waits, pauses) of the host before each launch."""
    seen = []

    def call(launch):
        device = seen_device[0]
        seen.append((device.n_waits, device.n_pauses))
        launch.enqueue()

    seen_device = []
    monkeypatch.setattr(Launch, "__call__", call)
    return seen, seen_device


@pytest.mark.parametrize("weighted", [False, True])
def test_launches_of_a_round(device, weighted):
    for row in runnable("histogram", device.caps):
        opened = open_device(TEST_DEVICE)
        fit, _ = boosting(opened, weighted=weighted, histogram=row.name)
        before = opened.n_launches
        fit.run(3)
        assert opened.n_launches - before == 3 * len(round_launches(fit))
        assert len(round_launches(fit)) <= MOST_LAUNCHES, row.name


def test_the_host_does_not_wait_inside_a_tree(at_launches):
    seen, devices = at_launches
    opened = open_device(TEST_DEVICE)
    devices.append(opened)
    fit, _ = boosting(opened, n_estimators=20)
    before = opened.n_waits
    seen.clear()
    fit.run(20)
    per_tree = len(round_launches(fit))
    assert len(seen) == 20 * per_tree
    for tree in range(20):  # neither for everything nor for an earlier round
        assert len(set(seen[tree * per_tree : (tree + 1) * per_tree])) == 1
    # whether high words are needed, after the first tree and at the end; then all trees at once
    assert [waits for waits, _ in seen[::per_tree]] == [before] + [before + 1] * 19
    assert opened.n_waits - before == 4


def test_reading_trees_waits_once_a_block(monkeypatch):
    opened = open_device(TEST_DEVICE)
    fit, _ = boosting(opened, n_estimators=50)
    assert fit.ws.forest_block == 50
    monkeypatch.setattr("pyopencl_gbdt.workspace.FOREST_BYTES", 10 * fit.ws["nodes"].nbytes)
    fit, _ = boosting(opened, n_estimators=50)
    assert fit.ws.forest_block == 10
    before = opened.n_waits
    fit.run(50)
    assert opened.n_waits - before == 1 + 3 * 5


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((20_000, 10), {}),
        ((20_000, 10), {"weighted": True}),
        ((20_000, 40), {"max_depth": 8}),
        ((20_000, 7), {"max_bin": 1000}),
        ((3000, 3), {"max_bin": 16}),
        ((20_000, 10), {"objective": "reg:absoluteerror"}),
        ((20_000, 10), {"objective": "mape", "max_depth": 9}),
        ((300, 5), {"max_depth": 3}),
        ((5000, 12), {"evaluation_rows": 5000}),
    ],
    ids=str,
)
def test_the_estimate_before_a_fit_is_what_it_takes(shape, options):
    opened = open_device(TEST_DEVICE)
    fit, p = boosting(opened, *shape, **options)
    known = {k: v for k, v in options.items() if k in ("weighted", "evaluation_rows")}
    taken = opened.allocated_bytes
    peak = opened.peak_bytes
    fit.run(2)
    assert opened.peak_bytes == max(peak, taken)  # trees take nothing beside the plan
    fresh = open_device(TEST_DEVICE)
    estimate = estimate_memory(fresh, p, *shape, **known)
    assert fresh.peak_bytes == 0
    assert estimate.training_bytes == pytest.approx(taken, rel=MISS)
    assert estimate.peak_bytes == pytest.approx(peak, rel=MISS)


def test_the_plan_before_allocating_is_what_is_taken():
    opened = open_device(TEST_DEVICE)
    fit, _ = boosting(opened, 20_000, 10)
    page = fit.ws.page
    codes = page.codes.nbytes + (page.by_feature.nbytes if page.by_feature is not None else 0)
    planned = fit.ws.plan().total_bytes + codes
    assert planned <= opened.allocated_bytes < planned + 1024  # tables of code ranges
