"""What bad callbacks and evaluation sets get, and what an error leaves behind: nothing."""

import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.callbacks import (
    EarlyStopping,
    EvaluationMonitor,
    LearningRateScheduler,
    TrainingCallback,
    TrainingCheckPoint,
    reset_parameter,
)
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.errors import ParameterError
from tests.callbacks.test_callbacks import DATA, PARAMS, TEST, X, Y, text_of


class Raises(TrainingCallback):
    """Fails in a hook, and keeps the model that it was given."""

    def __init__(self, number, hook="after_iteration"):
        self.number, self.hook = number, hook

    def __getattribute__(self, name):
        if name in ("before_training", "before_iteration", "after_iteration", "after_training"):
            return lambda *given: self.call(name, given)
        return super().__getattribute__(name)

    def call(self, name, given):
        self.kept = given
        if name == self.hook and (len(given) == 1 or given[1] == self.number):
            raise ZeroDivisionError(name)
        return False


@pytest.mark.parametrize(
    "hook", ["before_training", "before_iteration", "after_iteration", "after_training"]
)
def test_an_error_of_a_callback_frees_the_memory(monkeypatch, hook):
    devices = []

    def opened(*arguments, **options):
        devices.append(open_device(*arguments, **options))
        return devices[-1]

    monkeypatch.setattr("pyopencl_gbdt.device.open_device", opened)
    callback, data = Raises(2, hook), Dataset(X, Y)
    with pytest.raises(ZeroDivisionError) as caught:
        train(PARAMS, data, 5, evals=[(TEST, "test")], callbacks=[callback])
    assert devices[-1].peak_bytes > 0
    assert devices[-1].allocated_bytes == 0
    assert callback.kept[0] is not None
    assert caught.value.__traceback__ is not None
    assert text_of(train(PARAMS, data, 3)) == text_of(train(PARAMS, Dataset(X, Y), 3))


BAD = [
    ([print], r"callbacks\[0\]=.*: expected a TrainingCallback; derive its class"),
    ([EvaluationMonitor], r"callbacks\[0\]=.*; write EvaluationMonitor\(\.\.\.\)"),
    (EvaluationMonitor(), "expected a list of TrainingCallback; put it in a list"),
    ([EvaluationMonitor(0)], "period=0: expected an integer >= 1"),
    ([LearningRateScheduler([0.1, 0.1, -1.0, 0.1])], "round 2 is -1.0: expected a finite number"),
    ([LearningRateScheduler([0.1, None, 0.0, 0.1])], "round 1 is None"),
    ([LearningRateScheduler([0.1, 0.2])], "expected a function of the round, or 4 numbers"),
    ([LearningRateScheduler(0.1)], "expected a function of the round, or 4 numbers"),
    ([reset_parameter(learning_rate=[0.1, -1.0, 0.1, 0])], r"reset_parameter: .* round 1 is -1.0"),
    ([reset_parameter(learning_rate=0.1)], "reset_parameter: learning_rate=0.1: expected a func"),
    ([EarlyStopping(3)], "early_stopping_rounds=3: expected an evaluation set to watch"),
    ([TrainingCheckPoint("/dev/null/x")], "directory='/dev/null/x': cannot be made"),
    ([TrainingCheckPoint(".", interval=0)], "interval=0: expected an integer >= 1"),
    ([TrainingCheckPoint(".", keep=0)], "keep=0: expected an integer >= 1, or None"),
    ([TrainingCheckPoint(".", name="a/b")], "name='a/b': expected the beginning of a file name"),
]


@pytest.mark.parametrize(("callbacks", "words"), BAD, ids=[words[:30] for _, words in BAD])
def test_bad_callbacks_are_refused_before_anything_runs(callbacks, words, monkeypatch):
    monkeypatch.setattr("pyopencl_gbdt.device.open_device", None)
    with pytest.raises(ParameterError, match=words):
        train(PARAMS, DATA, 4, callbacks=callbacks)


def test_bad_evaluation_sets_are_refused_before_anything_runs(monkeypatch):
    monkeypatch.setattr("pyopencl_gbdt.device.open_device", None)
    named = Dataset(X, Y, feature_names=["a", "b", "c", "d"])
    other = Dataset(X, Y, feature_names=["a", "c", "b", "d"])
    for evals, data, words in [
        ([TEST], DATA, r"evals\[0\]=Dataset: expected \(Dataset, name\)"),
        ([(TEST, "a"), (TEST, "a")], DATA, r"evals\[1\]: the name 'a' is taken"),
        (
            [(other, "t")],
            named,
            "'t' has 'c' as column 1, .* expected 'b', as in the train",
        ),
        ([(Dataset(X[:, :2], Y), "t")], DATA, "'t' has 2 features, the training data 4"),
    ]:
        with pytest.raises(ValueError, match=words):
            train(PARAMS, data, 2, evals=evals)
    with pytest.raises(ParameterError, match="expected at least one name"):
        train(PARAMS, DATA, 2, eval_metric=[])


@pytest.mark.parametrize("name", ["early_stopping_rounds", "callbacks"])
def test_arguments_of_train_are_no_parameters(name):
    with pytest.raises(ParameterError, match=f"{name}: expected as an argument of train"):
        train({**PARAMS, name: 5}, DATA, 2)
