"""The learning-rate schedule: asked round by round, checked, and the same after a resume."""

from __future__ import annotations

import pytest

from pyopencl_gbdt import cv, train
from pyopencl_gbdt.callbacks import LearningRateScheduler, TrainingCallback, TrainingCheckPoint
from pyopencl_gbdt.errors import ParameterError
from tests.test_callbacks import DATA, PARAMS, Recorder, text_of
from tests.test_checkpoint import DATA as SAVED
from tests.test_checkpoint import crash


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


def test_a_function_is_asked_right_before_each_round():
    asked = Asked()
    notes = Notes(asked)
    train(PARAMS, DATA, 4, callbacks=[LearningRateScheduler(asked), notes])
    assert asked.numbers == [0, 1, 2, 3]
    assert notes.known == [1, 2, 3, 4]
    asked = Asked()
    train(PARAMS, DATA, 50, callbacks=[LearningRateScheduler(asked), Recorder(stop_after=2)])
    assert asked.numbers == [0, 1, 2]


def test_a_function_is_asked_once_for_all_folds():
    asked = Asked()
    cv(PARAMS, DATA, 3, nfold=3, callbacks=[LearningRateScheduler(asked)])
    assert asked.numbers == [0, 1, 2]


def test_a_schedule_serves_several_trainings():
    schedule = LearningRateScheduler(lambda number: 0.5 / (number + 1))
    one, other = (text_of(train(PARAMS, DATA, 3, callbacks=[schedule])) for _ in range(2))
    assert one == other


@pytest.mark.parametrize("number", [1, 4, 6])
def test_a_resumed_training_asks_again_for_the_rounds_that_are_done(tmp_path, number):
    whole = train(PARAMS, SAVED, 9, callbacks=[LearningRateScheduler(Asked())])
    crash(tmp_path, number, LearningRateScheduler(Asked()), n_rounds=9)
    asked = Asked()
    saver = TrainingCheckPoint(tmp_path, interval=2)
    again = train(PARAMS, SAVED, 9, callbacks=[saver, LearningRateScheduler(asked)])
    assert text_of(again) == text_of(whole)
    assert asked.numbers == list(range(9))


def test_another_function_is_refused_before_anything_runs(tmp_path, monkeypatch):
    crash(tmp_path, 7, LearningRateScheduler(lambda number: 0.1))
    monkeypatch.setattr("pyopencl_gbdt.training.opened.open_device", None)
    other = LearningRateScheduler(lambda number: 0.1 if number < 3 else 0.2)
    with pytest.raises(ParameterError, match=r"round 3 is 0\.2: expected 0\.1, as in the checkp"):
        train(PARAMS, SAVED, 12, callbacks=[TrainingCheckPoint(tmp_path, interval=2), other])


def test_a_rate_that_cannot_be_used_ends_the_training_at_its_round():
    asked = []

    def broken(number):
        asked.append(number)
        return float("nan") if number == 2 else 0.1

    with pytest.raises(
        ParameterError, match="round 2 is nan: expected a finite number of at least 0"
    ):
        train(PARAMS, DATA, 4, callbacks=[LearningRateScheduler(broken)])
    assert asked == [0, 1, 2]


@pytest.mark.parametrize("rates", [[0.1, 0.2], [], (0.1,), "0.1 0.1 0.1"])
def test_a_list_that_is_too_short_is_refused_before_anything_runs(rates, monkeypatch):
    monkeypatch.setattr("pyopencl_gbdt.training.opened.open_device", None)
    with pytest.raises(ParameterError, match="expected a function of the round, or 4 numbers"):
        train(PARAMS, DATA, 4, callbacks=[LearningRateScheduler(rates)])
