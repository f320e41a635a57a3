"""A guard that counts work, not seconds: launches, waits and bytes of a fit."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt import Dataset
from pyopencl_gbdt.device import Launch, open_device, runnable
from pyopencl_gbdt.evaluation.watched import EvaluationSet
from pyopencl_gbdt.growth.grown_trees import GrownTrees
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.fit import Fit
from pyopencl_gbdt.training.memory_estimate import estimate_memory
from tests.conftest import TEST_DEVICE

#: At depth 6. XGBoost launches several times as many.
MOST_LAUNCHES = 60
#: What a fit on paper allocates beside ``Booster``.
LABELS = "labels of rows to evaluate"


def boosting(
    device, n_rows=3000, n_features=5, *, weighted=False, n_targets=1, n_queries=1,
    evaluation_rows=0, n_missing=0, **params,
):  # fmt: skip
    rng = np.random.default_rng(6)
    X = rng.standard_normal((n_rows, n_features)).astype(np.float32)
    y = (X[:, 0] + rng.standard_normal(n_rows) > 0).astype(np.float32)
    X = X.argsort(axis=0).argsort(axis=0).astype(np.float32)  # no value twice in a column
    X[:n_missing] = np.nan
    weight = rng.integers(1, 4, n_rows) if weighted else None
    if params.get("objective") == "survival:cox":
        y = 2 * y - 1
    label = y if n_targets == 1 else np.stack([y] * n_targets, 1)
    sizes = [len(rows) for rows in np.array_split(y, n_queries)] if n_queries > 1 else None
    if sizes is not None and weighted:
        weight = np.repeat(rng.integers(1, 4, n_queries), sizes)
    p = Parameters.from_dict({"objective": "binary:logistic", "max_depth": 6, **params})
    data = Dataset(X, label, weight, group=sizes)
    fit = Fit(device, p, get_objective(p.objective, p), data, 0.0)
    if evaluation_rows:
        values = rng.standard_normal((evaluation_rows, n_features)).astype(np.float32)
        fit.watch(EvaluationSet.of(fit.parts.rows, values, 0.0))
    return fit, p


def round_launches(fit):
    """Return what a round takes."""
    return [*fit.kernels.begin_round(0), *itertools.chain(*fit.kernels.batches(joined=False))]


@pytest.fixture
def at_launches(monkeypatch):
    """(waits, pauses) of the host before each launch."""
    seen = []

    def call(launch):
        device = seen_device[0]
        of_run = getattr(launch.enqueue, "launches", [launch])
        seen.extend([(device.n_waits, device.n_pauses)] * len(of_run))
        launch.enqueue()

    seen_device = []
    monkeypatch.setattr(Launch, "__call__", call)
    return seen, seen_device


@pytest.mark.parametrize("weighted", [False, True])
def test_launches_of_a_round(device, weighted):
    if device.caps.api == "cuda":
        pytest.skip("CUDA joins launches to graphs")
    for variant in runnable("histogram", device.caps):
        opened = open_device(TEST_DEVICE)
        fit, _ = boosting(opened, weighted=weighted, histogram=variant.name)
        before = opened.n_launches
        fit.run(3)
        assert opened.n_launches - before == 3 * len(round_launches(fit))
        assert len(round_launches(fit)) <= MOST_LAUNCHES, variant.name


def test_the_host_does_not_wait_inside_a_tree(at_launches):
    seen, devices = at_launches
    opened = open_device(TEST_DEVICE)
    if opened.caps.api == "cuda":
        pytest.skip("CUDA joins launches to graphs")
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


def test_a_set_up_enqueues_few_copies():
    """Features, values, cut points (read), borders, the histogram's tables, small arrays."""
    opened = open_device(TEST_DEVICE)
    fit, _ = boosting(opened, n_estimators=1)
    assert opened.unsent is None  # a user's loss may launch kernels that nobody sees
    assert opened.n_copies <= 5 + (not opened.borrows)
    assert opened.n_waits <= 2 + (not opened.borrows)  # for the cuts, and for the codes
    # one a digit, eight more, and a GPU's count of exponents; CPUs sort columns by one
    assert opened.n_launches <= 12
    assert fit.parts.arena["needs_high"].get().tolist() == [0]
    assert np.array_equal(fit.parts.arena["thresholds"].get(), fit.parts.features.layout.thresholds)


def test_a_fit_of_one_round_reads_three_times():
    opened = open_device(TEST_DEVICE)
    fit, _ = boosting(opened, n_estimators=1)
    before = opened.n_waits
    fit.run(1)
    assert opened.n_waits - before == 3  # whether high words are needed; nodes and levels


def test_the_device_works_while_trees_are_read(monkeypatch):
    """A block is read when the next one is enqueued; a fit of one block reads it at the end."""
    opened = open_device(TEST_DEVICE)
    fit, _ = boosting(opened, n_estimators=50)
    assert fit.parts.nodes.forest_block == 50
    whole = fit.run(50)
    monkeypatch.setattr(
        "pyopencl_gbdt.fit.nodes.FOREST_BYTES", fit.parts.arena["forest_nodes"].nbytes // 5
    )
    fit, _ = boosting(opened, n_estimators=50)
    assert fit.parts.nodes.forest_block == 10
    behind, read = [], GrownTrees.read

    def noted(self, at, leaf_rates):
        behind.append(self.n_waiting)
        return read(self, at, leaf_rates)

    monkeypatch.setattr(GrownTrees, "read", noted)
    before = opened.n_waits
    assert fit.run(50) == whole
    assert behind == [10, 10, 10, 10, 0]
    assert opened.n_waits - before == 1  # whether high words are needed, after the first tree


SOFTPROB = {"objective": "multi:softprob", "num_class": 7}
CLICKS = {
    "lambdarank_pair_method": "mean", "lambdarank_num_pair_per_sample": 5,
    "lambdarank_unbiased": True,
}  # fmt: skip
#: What is known of the data beside their shape.
KNOWN = ("weighted", "evaluation_rows", "n_targets", "n_queries")


@pytest.mark.usefixtures("cut_by_kernels")
@pytest.mark.few(6)
@pytest.mark.more(10)
@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((20_000, 10), {}),
        ((20_000, 10), {"weighted": True}),
        ((20_000, 40), {"max_depth": 8}),
        ((20_000, 7), {"max_bin": 1000}),
        ((20_000, 7), {"cut_rule": "xgboost", "n_missing": 1}),
        ((3000, 3), {"max_bin": 16}),
        ((20_000, 10), {"objective": "reg:absoluteerror"}),
        ((20_000, 10), {"objective": "mape", "max_depth": 9}),
        ((300, 5), {"max_depth": 3}),
        ((5000, 12), {"evaluation_rows": 5000}),
        ((10_000, 6), SOFTPROB),
        ((5000, 12), {**SOFTPROB, "evaluation_rows": 5000, "weighted": True}),
        ((10_000, 6), {"objective": "reg:squarederror", "n_targets": 3}),
        ((10_000, 6), {"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.5, 0.9]}),
        ((10_000, 6), {"objective": "mape", "weighted": True, "n_targets": 2}),
        ((10_000, 6), {"num_parallel_tree": 5, "subsample": 0.5}),
        ((10_000, 6), {**SOFTPROB, "num_parallel_tree": 3}),
        ((3000, 3), {"sampling_method": "gradient_based", "subsample": 0.2}),
        ((10_000, 6), {"sampling_method": "goss", "num_parallel_tree": 4}),
        ((300, 700), {"colsample_bynode": 0.5, "max_depth": 9}),
        ((300, 40), {"interaction_constraints": "[[0, 1], [1, 2]]", "max_bin": 16}),
        ((3000, 5), {"monotone_constraints": "(1, -1)"}),
        ((10_000, 6), {"grow_policy": "lossguide", "max_leaves": 200, "max_depth": 0}),
        ((10_000, 6), {**SOFTPROB, "grow_policy": "lossguide", "max_leaves": 31}),
        ((10_000, 6), {"max_leaves": 40, "max_depth": 10}),
        ((300, 6), {**SOFTPROB, "grow_policy": "symmetric", "max_depth": 10}),
        ((10_000, 3), {"objective": "rank:ndcg", "n_queries": 500}),
        ((10_000, 3), {"objective": "rank:pairwise", "n_queries": 100, "weighted": True}),
        ((10_000, 3), {"objective": "rank:map", "n_queries": 40, **CLICKS}),
        ((10_000, 3), {"objective": "survival:cox", "weighted": True}),
        ((10_000, 3), {"objective": "survival:aft"}),
        ((5000, 6), {**SOFTPROB, "booster": "dart", "evaluation_rows": 500, "n_estimators": 5}),
        ((10_000, 6), {"tree_method": "exact"}),
        ((5000, 3), {"tree_method": "exact", **SOFTPROB, "max_depth": 2}),
        ((5000, 3), {"tree_method": "exact", "grow_policy": "lossguide", "max_leaves": 31}),
    ],
    ids=str,
)
def test_the_estimate_before_a_fit_is_what_it_takes(shape, options, asked):
    opened = open_device(TEST_DEVICE)
    fit, p = boosting(opened, *shape, **options)
    known = {k: v for k, v in options.items() if k in KNOWN}
    taken = opened.allocated_bytes
    peak = opened.peak_bytes
    fit.run(2)
    assert opened.peak_bytes == max(peak, taken)  # trees take nothing beside the plan
    fresh = open_device(TEST_DEVICE)
    estimate = estimate_memory(fresh, p, *shape, **known)
    assert fresh.peak_bytes == 0
    own = asked[opened]
    assert [one for one in estimate.allocations if one.name != LABELS] == own
    assert estimate.training_bytes == taken + sum(
        one.nbytes for one in estimate.allocations if one.name == LABELS
    )
    wanted = max(peak, estimate.training_bytes)
    assert estimate.peak_bytes == wanted


def test_the_plan_before_allocating_is_what_is_taken():
    opened = open_device(TEST_DEVICE)
    fit, _ = boosting(opened, 20_000, 10)
    packed = fit.parts.rows.pages[0].codes
    codes = packed.codes.nbytes + packed.by_feature.nbytes
    planned = fit.parts.arena.plan.total_bytes + codes
    beside = 1024 + 64 * opened.alignment  # tables of code ranges; gaps between small arrays
    assert planned <= opened.allocated_bytes < planned + beside


@pytest.mark.usefixtures("cut_by_kernels")
@pytest.mark.parametrize(
    "options", [SOFTPROB, {"num_parallel_tree": 8, "subsample": 0.5}, {**SOFTPROB, "max_bin": 999}]
)
def test_where_memory_is_scarce_fewer_trees_are_grown_at_a_time(options, asked):
    shape = (20_000, 6)
    opened = open_device(TEST_DEVICE)
    usual, _ = boosting(opened, *shape, **options)
    n_bytes, n_trees = opened.allocated_bytes, usual.parts.nodes.n_trees
    del usual
    scarce = {"global_bytes": int(0.7 * n_bytes), "max_alloc_bytes": n_bytes}
    opened, fresh = open_device(TEST_DEVICE), open_device(TEST_DEVICE)
    for each in (opened, fresh):
        each.caps = replace(each.caps, **scarce)
    fit, p = boosting(opened, *shape, **options)
    assert 1 <= fit.parts.nodes.n_trees < n_trees
    assert opened.peak_bytes <= opened.caps.global_bytes
    estimate = estimate_memory(fresh, p, *shape)
    assert list(estimate.allocations) == asked[opened]
    assert estimate.training_bytes == opened.allocated_bytes


def test_constraints_may_name_columns():
    opened = open_device(TEST_DEVICE)
    p = Parameters.from_dict({"interaction_constraints": '[["a", "b"]]'})
    named = estimate_memory(opened, p, 5000, 3, feature_names=["a", "b", "c"])
    numbered = Parameters.from_dict({"interaction_constraints": "[[0, 1]]"})
    assert named == estimate_memory(opened, numbered, 5000, 3)
