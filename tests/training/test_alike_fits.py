"""Fits that differ in the places of arrays alone: the launches of one tell those of the others."""

from contextlib import ExitStack
from itertools import chain

import numpy as np
import pytest

from pyopencl_gbdt import Dataset
from pyopencl_gbdt.device import Capabilities, DeviceArray, discovery
from pyopencl_gbdt.growth.round_kernels import RoundKernels
from pyopencl_gbdt.training import joined_fits
from pyopencl_gbdt.training.concurrent_fits import ConcurrentFits
from pyopencl_gbdt.training.joined_fits import (
    JoinedFits,
    Joining,
    enqueued_together,
    steps_between,
)
from pyopencl_gbdt.training.preparing import prepare
from pyopencl_gbdt.training.train import opened_fit
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(7)
X = RNG.standard_normal((300, 4)).astype(np.float32)
Y = (X[:, 0] * X[:, 1] + RNG.standard_normal(300) > 0).astype(np.float32)
PARAMS = {"device": TEST_DEVICE, "verbosity": 0, "max_depth": 3, "objective": "binary:logistic"}
PARTS = [np.arange(300) % 3 != part for part in range(3)]


def opened(stack, monkeypatch, given, X=X, weight=None):
    """Return fits of three folds that share a queue."""
    monkeypatch.setattr(joined_fits, "joins", lambda *_: True)  # on every device
    tasks = []
    for some in PARTS:
        weights = [None if weight is None else weight[rows] for rows in (some, ~some)]
        own, test = (
            Dataset(X[rows], Y[rows], weight=one)
            for rows, one in zip((some, ~some), weights, strict=True)
        )
        tasks.append(
            prepare({**PARAMS, **given}, own, [(own, "train"), (test, "test")], None, None)
        )
    joining = Joining(tasks)
    return [stack.enter_context(opened_fit(task, opens=joining)) for task in tasks]


def launches(fit):
    return list(chain.from_iterable(fit.fit.kernels.batches(joined=False)))


def shown(value):
    """Return a number's type and bytes, or an array's allocation and place."""
    if isinstance(value, DeviceArray):
        whole, begin = value.place
        return id(whole), begin
    return type(value), np.asarray(value).tobytes()


def moved(value, fit, steps):
    if not isinstance(value, DeviceArray):
        return shown(value)
    whole, begin = value.place
    return id(whole), begin + fit * steps[id(whole)][1]


@pytest.mark.few(3)
@pytest.mark.parametrize(
    "given",
    [
        {"eval_metric": ["logloss", "auc"]},
        {"num_parallel_tree": 3, "subsample": 0.5},
        {"colsample_bytree": 0.5, "colsample_bylevel": 0.7, "min_child_weight": 2},
        {"grow_policy": "lossguide", "max_leaves": 6, "max_depth": 0},
        {"grow_policy": "symmetric"},
        {"objective": "reg:squarederror", "monotone_constraints": "(1,0,-1,0)"},
        {"objective": "reg:absoluteerror"},
        {"interaction_constraints": "[[0, 1], [2, 3]]", "path_smooth": 1.0},
        {"linear_tree": True},
    ],
    ids=lambda given: ", ".join(f"{k}={v}" for k, v in given.items()),
)
def test_launches_that_are_not_bound(given, monkeypatch):
    """They have the kernels, the work-groups, the numbers and the places of those that are."""
    with ExitStack() as stack:
        fits = opened(stack, monkeypatch, given)
        steps = steps_between(fits)
        assert steps is not None
        bound = [launches(fit) for fit in fits]
        assert len({len(own) for own in bound}) == 1
        for number, own in enumerate(bound[1:], 1):
            for one, other in zip(bound[0], own, strict=True):
                assert type(one) is type(other)
                first, then = getattr(one, "enqueue", None), getattr(other, "enqueue", None)
                if not hasattr(first, "args"):
                    continue
                assert then.program.source == first.program.source
                assert (then.name, then.grid) == (first.name, first.grid)
                wanted = [moved(value, number, steps) for value in first.args]
                assert [shown(value) for value in then.args] == wanted, one.name


@pytest.mark.parametrize("other", ["bins", "weights", "dropout"])
def test_fits_that_differ(other, monkeypatch):
    """Bins of a feature, and what weights are scaled by, are numbers that launches take.

    Dropped trees change the rows that the binding has told of.
    """
    weight, values = np.ones(300, np.float32), X.copy()
    if other == "bins":
        values[PARTS[0], 2] = 1
    elif other == "weights":
        weight[~PARTS[0]] = 2**20
    given = {"booster": "dart"} if other == "dropout" else {}
    with ExitStack() as stack:
        fits = opened(stack, monkeypatch, given, values, weight)
        assert steps_between(fits) is None
        ConcurrentFits(enqueued_together(fits)).run(2)
        assert [len(fit.fit.finished_trees()) for fit in fits] == [2, 2, 2]


def test_the_device_of_folds_is_looked_up_once(monkeypatch):
    found, find = [], discovery.find
    monkeypatch.setattr(discovery, "find", lambda name: found.append(name) or find(name))
    with ExitStack() as stack:
        fits = opened(stack, monkeypatch, {})
        assert found == [TEST_DEVICE]
        assert len({id(fit.device) for fit in fits}) == len(fits)


def test_trees_that_nobody_asks_for_are_not_read(monkeypatch):
    """Folds have metrics alone; trees of the last rounds are read when somebody asks."""
    with ExitStack() as stack:
        fits = opened(stack, monkeypatch, {"n_estimators": 3})
        ConcurrentFits(enqueued_together(fits)).run(3)
        assert [fit.fit.grown.n_waiting for fit in fits] == [3, 3, 3]
        assert [len(fit.fit.finished_trees()) for fit in fits] == [3, 3, 3]


@pytest.mark.thorough  # builds the kernels of GPUs for several fits
def test_the_first_fit_alone_binds_launches(monkeypatch):
    monkeypatch.setenv("PYOPENCL_GBDT_PRETEND", "gpu")
    bind, binding = RoundKernels.trees, []
    monkeypatch.setattr(
        RoundKernels, "trees", lambda self, *args: binding.append(self) or bind(self, *args)
    )
    with ExitStack() as stack:
        fits = opened(stack, monkeypatch, {"max_depth": 2})
        ConcurrentFits(enqueued_together(fits)).run(2)
        assert binding == [fits[0].fit.kernels]
        assert [len(fit.fit.finished_trees()) for fit in fits] == [2, 2, 2]


@pytest.mark.thorough  # builds the kernels of GPUs for several fits
def test_metrics_of_all_sets_are_one(monkeypatch):
    """Sets of different sizes have equally many work-groups, and so the launches of one."""
    monkeypatch.setenv("PYOPENCL_GBDT_PRETEND", "gpu")
    monkeypatch.setattr(Capabilities, "row_groups", lambda caps, n_rows: max(1, n_rows // 50))
    with ExitStack() as stack:
        fits = opened(stack, monkeypatch, {"max_depth": 2, "eval_metric": ["logloss", "auc"]})
        ConcurrentFits([together := JoinedFits(fits)]).run(1)
        actions, _ = together._all_metrics(moves_words=False)
        names = [action.name for action in actions]
        losses = "largest_loss", "sum_losses", "total_losses"
        assert [names.count(name) for name in losses] == [1, 1, 1]
        curves = sum(len(own) for own in fits[0].evaluation.launches) - 2 * len(losses)
        assert len(names) == len(losses) + curves + len(fits)  # and the words of each fit
