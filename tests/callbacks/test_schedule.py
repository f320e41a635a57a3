"""Schedules of the learning rate: asked round by round, checked, and the same after a resume."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, cv, train
from pyopencl_gbdt.callbacks import (
    LearningRateScheduler,
    TrainingCallback,
    TrainingCheckPoint,
    reset_parameter,
)
from pyopencl_gbdt.errors import ParameterError
from tests.callbacks.test_callbacks import DATA, PARAMS, Recorder, X, Y, text_of
from tests.callbacks.test_checkpoint import DATA as SAVED
from tests.callbacks.test_checkpoint import crash


class Asked:
    """A schedule that remembers what it was asked for, and goes by the number of questions."""

    def __init__(self):
        self.numbers, self.rate = [], 0.5

    def __call__(self, number):
        self.numbers.append(number)
        self.rate *= 0.9
        return self.rate


class Notes(TrainingCallback):
    """Writes down how many rounds the schedule knows when a round ends."""

    def __init__(self, asked):
        self.asked, self.known = asked, []

    def after_iteration(self, model, epoch, evals_log):
        self.known.append(len(self.asked.numbers))
        return False


def before_round(rates):
    return reset_parameter(learning_rate=rates)


KINDS = pytest.mark.parametrize("schedule", [LearningRateScheduler, before_round])


def rates_of(*callbacks, n_rounds=3, **options):
    """Train; return the rate of each round."""
    trees = train(PARAMS, DATA, n_rounds, callbacks=callbacks, **options).ensemble.trees[-n_rounds:]
    model, used = options.get("model"), []
    for tree in trees:
        for rate in (0.3, 0.5, 0.1, 0.0):
            one = train({**PARAMS, "learning_rate": rate}, DATA, 1, model=model)
            if one.ensemble.trees[-1] == tree:
                used, model = [*used, rate], one
                break
    return used


def test_a_rate_is_set_after_the_round_as_in_xgboost():
    """Of 0.5, 0.1 and 0 with eta 0.3, rounds use 0.3, 0.5 and 0.1."""
    rates = [0.5, 0.1, 0.0]
    assert rates_of(LearningRateScheduler(rates)) == [0.3, 0.5, 0.1]
    assert rates_of(LearningRateScheduler(lambda number: rates[number])) == [0.3, 0.5, 0.1]
    before = train(PARAMS, DATA, 1)
    assert rates_of(LearningRateScheduler(rates), model=before) == [0.3, 0.5, 0.1]


def test_a_rate_is_set_before_the_round_as_in_lightgbm():
    assert rates_of(reset_parameter(learning_rate=[0.5, 0.1, 0.0])) == [0.5, 0.1, 0.0]
    assert rates_of(reset_parameter(eta=lambda number: 0.5 if number else 0.1)) == [0.1, 0.5, 0.5]


@pytest.mark.thorough
def test_xgboost_uses_the_same_rates():
    xgboost = pytest.importorskip("xgboost", reason="compares with XGBoost")
    rates, params = [0.5, 0.1, 0.0], {"max_depth": 2, "tree_method": "exact"}
    few = np.rint(X * 2)
    theirs = xgboost.train(
        params, xgboost.DMatrix(few, Y), 3,
        callbacks=[xgboost.callback.LearningRateScheduler(rates)],
    )  # fmt: skip
    data = Dataset(few, Y)
    ours = train({**PARAMS, **params}, data, 3, callbacks=[LearningRateScheduler(rates)])
    wanted = theirs.predict(xgboost.DMatrix(few))
    np.testing.assert_allclose(ours.predict(few), wanted, atol=1e-5)
    before = train({**PARAMS, **params}, data, 3, callbacks=[before_round(rates)])
    assert np.abs(before.predict(few) - wanted).max() > 0.01


def test_other_parameters_are_refused():
    words = r"reset_parameter\(learning_rate=..., max_depth=...\): expected learning_rate=... alone"
    with pytest.raises(ParameterError, match=words):
        reset_parameter(learning_rate=[0.1], max_depth=[3])
    with pytest.raises(ParameterError, match=r"expected learning_rate=\.\.\. alone"):
        reset_parameter()


def test_a_function_is_asked_right_before_or_after_each_round():
    asked = Asked()
    notes = Notes(asked)
    train(PARAMS, DATA, 4, callbacks=[notes, before_round(asked)])
    assert asked.numbers == [0, 1, 2, 3]
    assert notes.known == [1, 2, 3, 4]
    asked = Asked()
    notes = Notes(asked)
    train(PARAMS, DATA, 4, callbacks=[notes, LearningRateScheduler(asked)])
    assert asked.numbers == [0, 1, 2, 3]
    assert notes.known == [0, 1, 2, 3]


@KINDS
def test_a_function_is_asked_up_to_the_last_round(schedule):
    asked = Asked()
    train(PARAMS, DATA, 50, callbacks=[schedule(asked), Recorder(stop_after=2)])
    assert asked.numbers == [0, 1, 2]


@KINDS
def test_a_function_is_asked_once_for_all_folds(schedule):
    asked = Asked()
    cv(PARAMS, DATA, 3, nfold=3, callbacks=[schedule(asked)])
    assert asked.numbers == [0, 1, 2]


@KINDS
def test_a_schedule_serves_several_trainings(schedule):
    callback = schedule(lambda number: 0.5 / (number + 1))
    one, other = (text_of(train(PARAMS, DATA, 3, callbacks=[callback])) for _ in range(2))
    assert one == other


@KINDS
@pytest.mark.parametrize("number", [1, 4, 6])
def test_a_resumed_training_asks_again_for_the_rounds_that_are_done(tmp_path, number, schedule):
    whole = train(PARAMS, SAVED, 9, callbacks=[schedule(Asked())])
    crash(tmp_path, number, schedule(Asked()), n_rounds=9)
    asked = Asked()
    saver = TrainingCheckPoint(tmp_path, interval=2)
    again = train(PARAMS, SAVED, 9, callbacks=[saver, schedule(asked)])
    assert text_of(again) == text_of(whole)
    assert asked.numbers == list(range(9))


def test_a_checkpoint_with_the_old_schedule_is_refused(tmp_path, monkeypatch):
    """It has the bare list of rates, each of which was set before its round."""
    with monkeypatch.context() as old:
        old.setattr(LearningRateScheduler, "state", lambda schedule: [0.1, 0.1])
        crash(tmp_path, 3, LearningRateScheduler([0.1] * 12))
    monkeypatch.setattr("pyopencl_gbdt.device.open_device", None)
    saver = TrainingCheckPoint(tmp_path, interval=2)
    with pytest.raises(
        ParameterError, match=r"set a round's rate before the .*resume=False.*reset_"
    ):
        train(PARAMS, SAVED, 12, callbacks=[saver, LearningRateScheduler([0.1] * 12)])
    with pytest.raises(ParameterError, match=r"callbacks are .*Scheduler.*, these are .*Reset"):
        train(PARAMS, SAVED, 12, callbacks=[saver, before_round([0.1] * 12)])


@KINDS
def test_another_function_is_refused_before_anything_runs(tmp_path, monkeypatch, schedule):
    crash(tmp_path, 7, schedule(lambda number: 0.1))
    monkeypatch.setattr("pyopencl_gbdt.device.open_device", None)
    other = schedule(lambda number: 0.1 if number < 3 else 0.2)
    with pytest.raises(ParameterError, match=r"round 3 is 0\.2: expected 0\.1, as in the checkp"):
        train(PARAMS, SAVED, 12, callbacks=[TrainingCheckPoint(tmp_path, interval=2), other])


@KINDS
def test_a_rate_that_cannot_be_used_ends_the_training_at_its_round(schedule):
    asked = []

    def broken(number):
        asked.append(number)
        return float("nan") if number == 2 else 0.1

    with pytest.raises(
        ParameterError, match="round 2 is nan: expected a finite number of at least 0"
    ):
        train(PARAMS, DATA, 4, callbacks=[schedule(broken)])
    assert asked == [0, 1, 2]


@KINDS
@pytest.mark.parametrize("rates", [[0.1, 0.2], [], (0.1,), "0.1 0.1 0.1"])
def test_a_list_that_is_too_short_is_refused_before_anything_runs(rates, monkeypatch, schedule):
    monkeypatch.setattr("pyopencl_gbdt.device.open_device", None)
    with pytest.raises(ParameterError, match="expected a function of the round, or 4 numbers"):
        train(PARAMS, DATA, 4, callbacks=[schedule(rates)])
