"""Checkpoints: exact resume wherever a training ends, and what of another training gets."""

from __future__ import annotations

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, Model, train
from pyopencl_gbdt.callbacks import (
    EarlyStopping,
    LearningRateScheduler,
    TrainingCallback,
    TrainingCheckPoint,
)
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.model import to_xgboost_json
from tests.conftest import TEST_DEVICE
from tests.kill_and_resume import KINDS, kill_and_resume

#: All combinations are ``thorough``, see tests/conftest.py.
ONCE_EACH = True
RNG = np.random.default_rng(9)
X = RNG.standard_normal((300, 4)).astype(np.float32)
Y = (X[:, 0] * X[:, 1] + RNG.standard_normal(300) / 2).astype(np.float32)
DATA, TEST = Dataset(X[:200], Y[:200]), Dataset(X[200:], Y[200:])
PARAMS = {"device": TEST_DEVICE, "max_depth": 3}


class Crash(TrainingCallback):
    def __init__(self, number):
        self.number = number

    def after_iteration(self, model, epoch, evals_log):
        if epoch == self.number:
            raise KeyboardInterrupt


def names(directory):
    return sorted(path.name for path in directory.iterdir())


def text_of(model):
    return to_xgboost_json(model.ensemble)


def crash(directory, number, *callbacks, params=PARAMS, data=DATA, n_rounds=12, **options):
    saver = TrainingCheckPoint(directory, interval=options.pop("interval", 2))
    with pytest.raises(KeyboardInterrupt):
        train(params, data, n_rounds, callbacks=[saver, *callbacks, Crash(number)], **options)


@pytest.mark.parametrize("number", [0, 1, 2, 5, 10, 11])
@pytest.mark.parametrize("stopping", [2, 4, 30])
def test_a_training_goes_on_as_if_it_had_never_stopped(tmp_path, number, stopping):
    def callbacks():
        schedule = LearningRateScheduler(lambda n: 1.0 / (n + 1))
        return [schedule, EarlyStopping(stopping, min_delta=1e-4)]

    evals = [(DATA, "train"), (TEST, "test")]
    whole = train(PARAMS, DATA, 12, evals=evals, callbacks=callbacks())
    stopped = len(whole.history["test"]["rmse"])
    if number < stopped:
        crash(tmp_path, number, *callbacks(), evals=evals)
    saver = TrainingCheckPoint(tmp_path, interval=2)
    model = train(PARAMS, DATA, 12, evals=evals, callbacks=[saver, *callbacks()])
    assert text_of(model) == text_of(whole)
    assert model.history == whole.history
    assert (model.best_iteration, model.best_score) == (whole.best_iteration, whole.best_score)
    again = train(PARAMS, DATA, 12, evals=evals, callbacks=[saver, *callbacks()])
    assert text_of(again) == text_of(whole)


def test_files(tmp_path):
    folder = tmp_path / "new" / "folder"
    saver = TrainingCheckPoint(folder, name="m", interval=3)
    model = train(PARAMS, DATA, 10, callbacks=[saver])
    assert names(folder) == ["m_6.json", "m_9.json"]
    nine = Model.load_model(folder / "m_9.json")
    assert nine.ensemble.trees == model.ensemble.trees[:9]
    train(PARAMS, DATA, 10, callbacks=[TrainingCheckPoint(folder, name="n", interval=3, keep=None)])
    assert names(folder) == [f"{a}_{n}.json" for a, n in ("m6", "m9", "n3", "n6", "n9")]


def test_more_rounds_and_fewer(tmp_path):
    def saver():
        return TrainingCheckPoint(tmp_path, interval=4, keep=None)

    train(PARAMS, DATA, 8, callbacks=[saver()])
    assert text_of(train(PARAMS, DATA, 11, callbacks=[saver()])) == text_of(train(PARAMS, DATA, 11))
    assert text_of(train(PARAMS, DATA, 6, callbacks=[saver()])) == text_of(train(PARAMS, DATA, 6))


def test_resuming_trains_no_round_twice(tmp_path):
    class Counts(TrainingCallback):
        def before_iteration(self, model, epoch, evals_log):
            epochs.append(epoch)
            return False

    epochs: list[int] = []
    crash(tmp_path, 7)
    train(PARAMS, DATA, 12, callbacks=[TrainingCheckPoint(tmp_path, interval=2), Counts()])
    assert epochs == [6, 7, 8, 9, 10, 11]  # the crash came before the checkpoint of its round


def test_damaged_checkpoints_are_passed_over(tmp_path):
    crash(tmp_path, 7)
    assert names(tmp_path) == ["model_4.json", "model_6.json"]
    newest = tmp_path / "model_6.json"
    newest.write_bytes(newest.read_bytes()[:-100])
    (tmp_path / ".model.partial").write_text("{")
    (tmp_path / "model_x.json").write_text("")
    with pytest.warns(UserWarning, match=r"model_6\.json is damaged"):
        model = train(PARAMS, DATA, 12, callbacks=[TrainingCheckPoint(tmp_path, interval=2)])
    assert text_of(model) == text_of(train(PARAMS, DATA, 12))


def test_a_learning_rate_that_a_callback_has_set_stays(tmp_path):
    class Once(TrainingCallback):
        def before_iteration(self, model, epoch, evals_log):
            if epoch == 2:
                model.learning_rate = 0.05
            return False

    whole = train(PARAMS, DATA, 12, callbacks=[Once()])
    crash(tmp_path, 7, Once())
    model = train(PARAMS, DATA, 12, callbacks=[TrainingCheckPoint(tmp_path, interval=2), Once()])
    assert text_of(model) == text_of(whole)


def test_a_continued_model_is_resumed(tmp_path):
    first = train(PARAMS, DATA, 5)
    crash(tmp_path, 7, model=first)
    saver = TrainingCheckPoint(tmp_path, interval=2)
    model = train(PARAMS, DATA, 12, model=first, callbacks=[saver])
    assert text_of(model) == text_of(train(PARAMS, DATA, 17))
    with pytest.raises(ParameterError, match="model to continue differs"):
        train(PARAMS, DATA, 12, model=train(PARAMS, DATA, 4), callbacks=[saver])


def test_margins_of_rows_are_resumed(tmp_path):
    data = Dataset(X, Y, base_margin=Y / 3)
    crash(tmp_path, 7, data=data)
    model = train(PARAMS, data, 12, callbacks=[TrainingCheckPoint(tmp_path, interval=2)])
    assert text_of(model) == text_of(train(PARAMS, data, 12))


OTHERS = [
    ({"params": {**PARAMS, "max_depth": 5}}, "parameters.max_depth is 5 now and was 3"),
    ({"params": {**PARAMS, "eta": 0.1}}, "parameters.learning_rate is 0.1 now and was 0.3"),
    ({"data": Dataset(X[:200], Y[:200] + 1)}, r"training: data.label differs"),
    ({"data": Dataset(X[:200] + 1, Y[:200])}, "training: data.values differs"),
    ({"data": Dataset(X[:200], Y[:200], np.ones(200))}, "training: data.weight differs"),
    ({"data": Dataset(X[:200], Y[:200], base_margin=Y[:200])}, "data.base_margin differs"),
    ({"data": Dataset(X, Y)}, r"data.shape is \(300, 4\) now and was \(200, 4\)"),
    ({"evals": [(DATA, "test")]}, "evals.test.values is absent now, but was given"),
    ({"eval_metric": "mae"}, r"eval_metric is \['mae'\] now and was \['rmse'\]"),
    ({"callbacks": [LearningRateScheduler(lambda n: 0.2)]}, r"callbacks are \['EarlyStopping'\]"),
    ({"callbacks": [EarlyStopping(5)]}, "rounds=5: expected 9, as in the checkpoint"),
    ({"callbacks": [EarlyStopping(9, save_best=True)]}, "save_best=True: expected False"),
    ({"callbacks": [EarlyStopping(9, min_delta=0.1)]}, "min_delta=0.1: expected 0.0"),
]


@pytest.mark.parametrize(("changes", "words"), OTHERS, ids=[words for _, words in OTHERS])
def test_another_training_is_refused(tmp_path, monkeypatch, changes, words):
    crash(tmp_path, 7, EarlyStopping(9), evals=[(TEST, "test")])
    monkeypatch.setattr("pyopencl_gbdt.device.open_device", None)
    saver = TrainingCheckPoint(tmp_path, interval=2)
    given = {"params": PARAMS, "data": DATA, "evals": [(TEST, "test")], **changes}
    callbacks = [saver, *given.pop("callbacks", [EarlyStopping(9)])]
    with pytest.raises(ParameterError, match=words):
        train(given.pop("params"), given.pop("data"), 12, callbacks=callbacks, **given)


def test_another_schedule_is_refused(tmp_path):
    crash(tmp_path, 7, LearningRateScheduler([0.1] * 12))
    saver = TrainingCheckPoint(tmp_path, interval=2)
    schedule = LearningRateScheduler([0.1] * 3 + [0.2] * 9)
    with pytest.raises(ParameterError, match=r"round 3 is 0\.2: expected 0\.1, as in the checkp"):
        train(PARAMS, DATA, 12, callbacks=[saver, schedule])


def test_another_training_may_begin_in_the_folder(tmp_path):
    crash(tmp_path, 7)
    other = {**PARAMS, "max_depth": 5}
    saver = TrainingCheckPoint(tmp_path, interval=2, resume=False)
    with pytest.raises(KeyboardInterrupt):
        train(other, DATA, 12, callbacks=[saver, Crash(2)])
    assert names(tmp_path) == ["model_2.json"]  # what was behind it is gone
    model = train(other, DATA, 12, callbacks=[TrainingCheckPoint(tmp_path, interval=2)])
    assert text_of(model) == text_of(train(other, DATA, 12))


@pytest.mark.thorough
@pytest.mark.more(1)
@pytest.mark.parametrize("kind", KINDS)
def test_killed_at_random_moments(kind):
    """``python -m tests.kill_and_resume 200`` does more of it."""
    assert kill_and_resume(2, kind) >= 1
