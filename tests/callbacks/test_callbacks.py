"""Callbacks: hooks in order, learning rates, lines and bars."""

from __future__ import annotations

import io
import sys
from functools import partial
from typing import ClassVar

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, cv, train
from pyopencl_gbdt.callbacks import (
    EvaluationMonitor,
    LearningRateScheduler,
    ProgressBar,
    TrainingCallback,
    reset_parameter,
)
from pyopencl_gbdt.device import Launch, open_device
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.training.running_task import RunningTask
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(2)
X = RNG.standard_normal((300, 4)).astype(np.float32)
Y = (X[:, 0] * X[:, 1] + RNG.standard_normal(300) / 2).astype(np.float32)
DATA, TEST = Dataset(X[:200], Y[:200]), Dataset(X[200:], Y[200:])
PARAMS = {"device": TEST_DEVICE, "max_depth": 3}


def text_of(model):
    return to_xgboost_json(model.ensemble)


class Recorder(TrainingCallback):
    """Writes down what is called, and stops after a round."""

    def __init__(self, stop_after=-1, stop_before=-1):
        self.calls, self.stop_after, self.stop_before = [], stop_after, stop_before

    def before_training(self, model):
        self.calls.append("before_training")
        self.model = model

    def before_iteration(self, model, epoch, evals_log):
        self.calls.append(f"before {epoch}")
        return epoch == self.stop_before

    def after_iteration(self, model, epoch, evals_log):
        self.calls.append(f"after {epoch}")
        self.n_values = len(evals_log["test"]["rmse"]) if evals_log else 0
        return epoch == self.stop_after

    def after_training(self, model):
        self.calls.append("after_training")

    def close(self):
        self.calls.append("close")


def test_hooks_are_called_in_order():
    callback = Recorder()
    model = train(PARAMS, DATA, 2, evals=[(TEST, "test")], callbacks=[callback])
    assert callback.calls == [
        "before_training", "before 0", "after 0", "before 1", "after 1", "after_training", "close",
    ]  # fmt: skip
    assert callback.n_values == 2
    assert text_of(model) == text_of(train(PARAMS, DATA, 2))
    with pytest.raises(ParameterError, match="training is over"):
        callback.model.current()
    assert callback.model.num_boosted_rounds() == 2


@pytest.mark.parametrize("where", ["stop_after", "stop_before"])
def test_a_callback_stops_training(where):
    number = 3
    others = Recorder()
    model = train(PARAMS, DATA, 9, callbacks=[Recorder(**{where: number}), others])
    done = number + (where == "stop_after")
    assert text_of(model) == text_of(train(PARAMS, DATA, done))
    assert others.calls[-3].endswith(str(number))  # it was asked too


def test_the_model_so_far():
    class Looks(TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            seen.append(text_of(model.current()))
            assert model.num_boosted_rounds() == epoch + 1

    seen = []
    train(PARAMS, DATA, 4, callbacks=[Looks()])
    assert seen == [text_of(train(PARAMS, DATA, n)) for n in (1, 2, 3, 4)]


@pytest.mark.parametrize("fit", [train, partial(cv, nfold=2)], ids=["train", "cv"])
def test_callbacks_can_wait_for_the_device(fit, monkeypatch):
    class Waits(TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            model.wait()

    n_waits, wait = [], RunningTask.wait
    monkeypatch.setattr(RunningTask, "wait", lambda task: (n_waits.append(1), wait(task)))
    fit(PARAMS, DATA, 4, callbacks=[Waits()])
    assert len(n_waits) == (4 if fit is train else 8)  # each fold's fit


@pytest.mark.parametrize("evals", [(), [(TEST, "test")]], ids=["no evals", "evals"])
def test_learning_rates(evals):
    rates = [0.5, 0.5, 0.25, 0.1, 0.3]
    by_list = train(PARAMS, DATA, 5, evals=evals, callbacks=[reset_parameter(learning_rate=rates)])
    by_function = reset_parameter(learning_rate=lambda number: rates[number])
    assert text_of(train(PARAMS, DATA, 5, evals=evals, callbacks=[by_function])) == text_of(by_list)
    model = None
    for rate in rates:
        model = train({**PARAMS, "learning_rate": rate}, DATA, 1, model=model)
    assert model.ensemble.trees == by_list.ensemble.trees
    for tree in by_list.ensemble.trees:  # leaves keep their weight times the round's rate
        leaf = tree.is_leaf
        np.testing.assert_array_equal(tree.value[leaf], tree.weight[leaf])


def test_learning_rates_where_trees_are_trained_anew():
    heavy = Dataset(X, np.where(np.arange(300) == 7, np.float32(1e9), Y))
    rates = [0.5, 0.1, 0.3]
    whole = train(PARAMS, heavy, 3, callbacks=[reset_parameter(learning_rate=rates)])
    model = None
    for rate in rates:
        model = train({**PARAMS, "learning_rate": rate}, heavy, 1, model=model)
    assert model.ensemble.trees == whole.ensemble.trees


def test_callbacks_without_metrics_wait_for_nothing(monkeypatch):
    """The host waits as often as without a callback; another rate is one more launch."""
    devices, names = [], []

    def opened(*arguments, **options):
        devices.append(open_device(*arguments, **options))
        return devices[-1]

    train(PARAMS, DATA, 1)  # the first fit of a data set waits for its cuts
    monkeypatch.setattr("pyopencl_gbdt.device.open_device", opened)
    train(PARAMS, DATA, 20)
    train(PARAMS, DATA, 20, callbacks=[LearningRateScheduler(lambda n: 0.3 / (n + 1)), Recorder()])
    assert devices[0].n_waits == devices[1].n_waits
    monkeypatch.setattr(
        Launch, "__call__", lambda launch: (names.append(launch.name), launch.enqueue())
    )
    # CUDA would record them, and then enqueue them as one
    monkeypatch.setattr(type(devices[0]), "together", lambda device, actions: list(actions))
    train(PARAMS, DATA, 2, callbacks=[LearningRateScheduler([0.2, 0.1])])
    first = names[: len(names) // 2]
    assert names[len(first) :] == ["set_leaf_rate", *first]


def test_the_learning_rate_alone_can_be_set():
    class Sets(TrainingCallback):
        def before_iteration(self, model, epoch, evals_log):
            model.set_param(name, value)
            return False

    name, value = "eta", 0.1
    slow = train({**PARAMS, "learning_rate": 0.1}, DATA, 3)
    assert train(PARAMS, DATA, 3, callbacks=[Sets()]).ensemble.trees == slow.ensemble.trees
    name = "max_depth"
    with pytest.raises(ParameterError, match=r"set_param\('max_depth'\): expected 'learning_rate'"):
        train(PARAMS, DATA, 3, callbacks=[Sets()])
    name, value = "eta", float("nan")
    with pytest.raises(ParameterError, match="learning_rate=nan"):
        train(PARAMS, DATA, 3, callbacks=[Sets()])


def test_lines():
    lines = []
    monitor = EvaluationMonitor(period=3, logger=lines.append)
    train(PARAMS, DATA, 5, evals=[(DATA, "train"), (TEST, "test")], callbacks=[monitor])
    assert [line.split("\t")[0] for line in lines] == ["[0]", "[3]", "[4]"]
    assert lines[0].split("\t")[1].startswith("train-rmse:")
    again = []
    evals = [(DATA, "train"), (TEST, "test")]
    train(PARAMS, DATA, 5, evals=evals, verbose=3, report=again.append)
    assert again == lines


class FakeBar:
    made: ClassVar = []

    def __init__(self, **options):
        self.options, self.n, self.closed, self.text = options, 0, False, ""
        self.made.append(self)

    def update(self, n):
        self.n += n

    def set_postfix_str(self, text, refresh):
        self.text = text

    def close(self):
        self.closed = True


class Fails(TrainingCallback):
    def after_iteration(self, model, epoch, evals_log):
        raise ZeroDivisionError


def test_a_progress_bar(monkeypatch):
    monkeypatch.setattr("pyopencl_gbdt.callbacks.monitor._tqdm", lambda: FakeBar)
    train(PARAMS, DATA, 4, evals=[(TEST, "test")], callbacks=[ProgressBar("fit", leave=False)])
    bar = FakeBar.made[-1]
    assert (bar.n, bar.closed) == (4, True)
    assert bar.text.startswith("test-rmse:")
    assert bar.options == {"total": 4, "desc": "fit", "file": None, "leave": False}
    with pytest.raises(ZeroDivisionError):
        train(PARAMS, DATA, 4, callbacks=[ProgressBar(), Fails()])
    assert FakeBar.made[-1].closed


def test_a_progress_bar_of_tqdm():
    pytest.importorskip("tqdm", reason="needs tqdm")
    stream = io.StringIO()
    train(PARAMS, DATA, 4, callbacks=[ProgressBar("fit", file=stream)])
    assert "fit: 100%" in stream.getvalue()


def test_progress_without_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    stream = io.StringIO()
    train(PARAMS, DATA, 30, evals=[(TEST, "test")], callbacks=[ProgressBar(file=stream)])
    lines = stream.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[-1].startswith("train: round 30 of 30 test-rmse:")


def test_metrics_among_the_parameters():
    model = train({**PARAMS, "eval_metric": ["mae", "rmse"]}, DATA, 2, evals=[(TEST, "test")])
    assert list(model.history["test"]) == ["mae", "rmse"]
