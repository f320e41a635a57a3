"""``train``: memory planned before it is taken, no waits inside a tree, odd shapes of data."""

from __future__ import annotations

import dataclasses
import gc

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, Model, train
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.run_ahead import Pace
from pyopencl_gbdt.device.variants import KERNELS
from pyopencl_gbdt.errors import DataError, MemoryPlanError, ModelFormatError, ParameterError
from pyopencl_gbdt.evaluation.watched import EvaluationSet
from pyopencl_gbdt.fit.nodes import Nodes
from pyopencl_gbdt.gradients.gradients import are_counted_ahead
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.fit import Fit
from tests.conftest import TEST_DEVICE
from tests.reference.train import train_reference
from tests.teams import at_once

RNG = np.random.default_rng(0)
X = RNG.standard_normal((500, 3)).astype(np.float32)
Y = (X[:, 0] * 2 + RNG.standard_normal(500)).astype(np.float32)


def boosting(device, params=None, data=None) -> Fit:
    parameters = Parameters.from_dict({"n_estimators": 4, **(params or {})})
    objective = get_objective(parameters.objective)
    return Fit(device, parameters, objective, data or Dataset(X, Y), 0.0)


def test_a_fit_that_starts_over_trains_every_round_at_its_own_rate():
    def trees(starts_over):
        fit = boosting(open_device(TEST_DEVICE))
        for rate in (0.3, 0.05, 0.2):
            fit.learning_rate = rate
            fit.step(Pace(fit.parts.arena.device))
        if starts_over:
            fit.parts.arena["needs_high"].set([1])
        return fit.finished_trees()

    assert trees(starts_over=True) == trees(starts_over=False)


@pytest.mark.parametrize("field", ["global_bytes", "max_alloc_bytes"])
def test_what_cannot_fit_is_refused_with_numbers(field):
    device = open_device(TEST_DEVICE)
    device.caps = dataclasses.replace(device.caps, **{field: 20_000})
    with pytest.raises(MemoryPlanError, match=r"\d+ bytes .*20000"):
        boosting(device)
    gc.collect()
    assert device.allocated_bytes == 0


def test_deep_trees_ask_for_pool_memory_they_need():
    device = open_device(TEST_DEVICE)
    device.caps = dataclasses.replace(device.caps, max_alloc_bytes=400_000)
    with pytest.raises(MemoryPlanError, match="'pool'"):
        boosting(device, {"max_depth": 12})


@pytest.mark.parametrize("shape", [(1, 1), (2, 1), (3, 5), (17, 1), (257, 2)])
@pytest.mark.parametrize("depth", [1, 3, 32])
def test_small_shapes(shape, depth):
    rng = np.random.default_rng(1)
    small, target = rng.standard_normal(shape), rng.standard_normal(shape[0])
    params = {"max_depth": depth, "reg_lambda": 0.0, "learning_rate": 1.0, "device": TEST_DEVICE}
    model = train(params, Dataset(small, target), 2)
    predicted = model.predict(small, device=TEST_DEVICE)
    if depth == 32:  # a leaf a row
        np.testing.assert_allclose(predicted, target, atol=1e-5)
    assert predicted.shape == (shape[0],)


def test_constant_target_and_constant_features():
    model = train({"device": TEST_DEVICE}, Dataset(np.ones((20, 2)), np.full(20, 3.0)), 3)
    assert {tree.n_nodes for tree in model.ensemble.trees} == {1}
    np.testing.assert_array_equal(model.predict(np.ones((2, 2)), device=TEST_DEVICE), 3.0)


def test_all_missing_feature_and_missing_only_at_predict():
    data = np.column_stack([np.full(500, np.nan), X[:, 0]])
    model = train({"device": TEST_DEVICE}, Dataset(data, Y), 3)
    assert all((tree.feature == 1)[~tree.is_leaf].all() for tree in model.ensemble.trees)
    assert np.isfinite(model.predict(np.full((3, 2), np.nan), device=TEST_DEVICE)).all()


def test_missing_alone_is_a_side_of_a_split():
    data = np.where(np.arange(100) < 50, np.nan, 1.0)[:, None]
    target = np.where(np.arange(100) < 50, 5.0, -5.0)
    params = {"device": TEST_DEVICE, "learning_rate": 1.0, "reg_lambda": 0.0}
    model = train(params, Dataset(data, target), 1)
    np.testing.assert_allclose(model.predict(data, device=TEST_DEVICE), target, atol=1e-5)


@pytest.mark.parametrize("n_rows", [700, 2000])
def test_heavy_tails_do_not_cost_the_others_precision(n_rows):
    rng = np.random.default_rng(2)
    data = rng.standard_normal((n_rows, 3))
    clean = data[:, 0] * 3
    target = clean.copy()
    target[0], data[0] = 1e9, 50.0  # one enormous row, far from the others
    params = {"device": TEST_DEVICE, "base_score": 0.0, "learning_rate": 0.5}
    model = train(params, Dataset(data, target), 30)
    error = model.predict(data[1:], device=TEST_DEVICE) - clean[1:]
    assert np.median(np.abs(error)) < 0.2


def test_two_threads_fit_at_once():
    def fit(number: int) -> str:
        model = train({"device": TEST_DEVICE}, Dataset(X, Y), 5)
        return to_xgboost_json(model.ensemble)

    one, other = at_once(fit, range(2))
    assert one == other == fit(2)


def test_no_rounds_predicts_the_mean():
    model = train({"device": TEST_DEVICE}, Dataset(X, Y), 0)
    assert model.predict(X[:1], device=TEST_DEVICE)[0] == pytest.approx(Y.mean(), abs=1e-6)


def test_bad_training_calls(tmp_path):
    data = Dataset(X, Y)
    with pytest.raises(ParameterError, match="did you mean 'max_depth'"):
        train({"max_dept": 3}, data)
    with pytest.raises(DataError, match=r"0 and 1|0 or 1"):
        train({"objective": "binary:logistic", "device": TEST_DEVICE}, data)
    labels = Dataset(X, Y > 0)
    with pytest.raises(ParameterError, match="base_score"):
        train({"objective": "binary:logistic", "base_score": 1.5, "device": TEST_DEVICE}, labels)
    with pytest.raises(DataError, match="'test' has 2 features"):
        train({"device": TEST_DEVICE}, data, evals=[(Dataset(X[:, :2], Y), "test")])
    (tmp_path / "broken.json").write_text('{"learner": {')
    with pytest.raises(ModelFormatError, match=r"broken\.json"):
        Model.load_model(tmp_path / "broken.json")


def test_rounds_may_be_run_in_parts(device):
    whole = boosting(device).run(10)
    parts = boosting(device)
    for n in (3, 1, 4):  # four trees wait at a time
        parts.run(n)
    assert parts.run(2) == whole


HEAVY = np.where(np.arange(500) == 7, np.float32(1e9), Y)


def test_high_words_have_room_where_they_are_needed():
    """Nothing but memory shows that trees were void: watchers, parts and models are as ever."""
    small = boosting(open_device(TEST_DEVICE))
    small.run(3)
    assert small.parts.arena["high"].shape == (1, 2)
    device = open_device(TEST_DEVICE)
    heavy = boosting(device, data=Dataset(X, HEAVY))
    heavy.watch(EvaluationSet.of(heavy.parts.rows, X, 0.0))
    trees = heavy.run(3)
    assert heavy.parts.arena["high"].shape == (500, 2)
    (rows,) = heavy.evaluation
    assert np.array_equal(rows.margins.get(), heavy.parts.arena["margins"].get())
    params = Parameters.from_dict({"n_estimators": 3})
    wanted = train_reference(dataclasses.replace(params, base_score=0.0), X, HEAVY)
    assert trees == wanted.trees


def test_high_words_may_be_needed_late():
    """The host learns of it when trees wait, and trains all of them anew."""
    fit = boosting(open_device(TEST_DEVICE), {"n_estimators": 2})
    first = fit.run(3)
    assert len(first) == 3
    fit.parts.arena["labels"].set(HEAVY)
    fit.run(4)
    assert fit.parts.rows.has_high
    late = boosting(open_device(TEST_DEVICE), {"n_estimators": 2}, Dataset(X, HEAVY))
    assert len(fit.finished_trees()) == 7
    assert fit.finished_trees() == late.run(7)


def test_high_words_may_be_needed_while_trees_are_copied(monkeypatch):
    """Trees that no high words were kept for are copied, and never read."""
    monkeypatch.setattr(Nodes, "forest_block", property(lambda nodes: 2))
    fit = boosting(open_device(TEST_DEVICE), {"n_estimators": 9})
    pace = Pace(fit.parts.arena.device)
    ahead = are_counted_ahead(fit.parts.rows, fit.parts.nodes, fit.parts.ways)
    for number in range(9):
        if number == 5 - ahead:  # the labels that the counts for round 5 read
            assert fit.grown.is_ordered
            fit.parts.arena["labels"].set(HEAVY)
        assert fit.parts.rows.has_high == (number == 8)  # the rounds 4 and 5 are read after 7
        fit.step(pace)
    late = boosting(open_device(TEST_DEVICE), {"n_estimators": 9}, Dataset(X, HEAVY))
    assert fit.finished_trees() == late.run(9)


@pytest.mark.parametrize("objective", ["binary:logistic", "count:poisson", "reg:squarederror"])
def test_gradients_that_are_rounded_ahead_give_the_same_trees(force, objective):
    """Some scales change: then gradients are rounded again. High words begin all rounds again."""
    walk = next(own for own in KERNELS["update_margins"].variants if own.name == "walk")
    labels = {"binary:logistic": Y > 0, "count:poisson": np.exp(Y), "reg:squarederror": Y}
    data = Dataset(X, labels[objective].astype(np.float32))
    found = []
    for least in (1, len(X) + 1):
        force(walk, ahead_rows=least)
        fit = boosting(open_device(TEST_DEVICE), {"objective": objective}, data)
        found.append(fit.run(12))
        assert ("scale_ahead" in fit.parts.arena.arrays) == (least == 1)
        fit.parts.arena["needs_high"].set([1])
        fit.run(1)
        found.append(fit.finished_trees()[:12])
    assert found[1:] == found[:-1]


def test_more_rows_than_kernels_can_number():
    column = np.broadcast_to(np.zeros((1, 1), np.float32), (2**31, 1))  # takes no memory
    with pytest.raises(DataError, match="2147483648 rows: expected 2147483647 at most"):
        Dataset(column, np.zeros(1, np.float32))
