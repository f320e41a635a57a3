"""Fits side by side: the bytes and metrics of each alone, in whatever order the host waits."""

from contextlib import ExitStack

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, cv
from pyopencl_gbdt.callbacks import TrainingCallback
from pyopencl_gbdt.fit.nodes import Nodes
from pyopencl_gbdt.training import joined_fits
from pyopencl_gbdt.training.concurrent_fits import ENVIRONMENT, ConcurrentFits
from pyopencl_gbdt.training.joined_fits import Joining, enqueued_together
from pyopencl_gbdt.training.preparing import prepare
from pyopencl_gbdt.training.train import opened_fit
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(4)
X = RNG.standard_normal((300, 4)).astype(np.float32)
Y = (X[:, 0] * X[:, 1] + RNG.standard_normal(300) > 0).astype(np.float32)
PARAMS = {"device": TEST_DEVICE, "verbosity": 0, "max_depth": 3, "objective": "binary:logistic"}


class Written:
    """A fit that writes down what is asked of it."""

    def __init__(self, name, lines, runs_ahead=False):
        self.name, self.lines, self.runs_ahead = name, lines, runs_ahead

    def enqueue(self):
        self.lines.append(f"enqueue {self.name}")

    def take(self):
        self.lines.append(f"take {self.name}")


@pytest.mark.parametrize(
    ("switch", "wanted"),
    [
        ("", "enqueue a, enqueue b, take a, enqueue a, take b, enqueue b, take a, take b"),
        ("off", "enqueue a, take a, enqueue b, take b, enqueue a, take a, enqueue b, take b"),
    ],
)
def test_the_order_of_rounds(monkeypatch, switch, wanted):
    monkeypatch.setenv(ENVIRONMENT, switch)
    lines = []
    ConcurrentFits([Written("a", lines), Written("b", lines)]).run(2)
    assert ", ".join(lines) == wanted
    ConcurrentFits([]).round()
    ConcurrentFits([Written("c", lines)]).run(0)
    assert ", ".join(lines) == wanted
    if not switch:
        ConcurrentFits([Written("d", lines, runs_ahead=True)]).run(3)
        assert lines[8:] == ["enqueue d", "enqueue d", "take d", "enqueue d", "take d", "take d"]


def outlier_from_the_second_round(margins, data):
    """Return gradients of which one needs a high word once the margins have changed."""
    gradient = margins - data.label
    if np.ptp(margins) > 0:
        gradient[7] = 1e9
    return gradient.astype(np.float32), np.ones_like(margins)


def squares(prediction, data):
    return "squares", float(np.square(prediction - data.label).mean())


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "changed",
    [
        {"eval_metric": ["logloss", "auc"]},
        {"num_parallel_tree": 3, "subsample": 0.5},
        {"booster": "dart", "rate_drop": 0.5},
        {"grow_policy": "lossguide", "max_leaves": 6},
        {"objective": outlier_from_the_second_round, "eval_metric": "rmse"},
        {"objective": "reg:absoluteerror"},
        {"custom_metric": squares},
    ],
    ids=lambda changed: ", ".join(f"{k}={getattr(v, '__name__', v)}" for k, v in changed.items()),
)
def test_the_bytes_of_each_fit_alone(changed, monkeypatch):
    check_bytes(changed, monkeypatch)


@pytest.mark.parametrize("block", [2, 9])
def test_high_words_of_a_round_with_metrics(monkeypatch, block):
    """They are found when trees are read, after 2 rounds, or when the next round is enqueued."""
    monkeypatch.setattr(Nodes, "forest_block", property(lambda nodes: block))
    objective = outlier_from_the_second_round
    check_bytes({"objective": objective, "eval_metric": "rmse", "max_depth": 2}, monkeypatch)


@pytest.mark.thorough  # builds the kernels of GPUs for several fits
def test_joined_launches_of_gpus(monkeypatch):
    monkeypatch.setenv("PYOPENCL_GBDT_PRETEND", "gpu")
    check_bytes({"max_depth": 2, "subsample": 0.5}, monkeypatch)


def check_bytes(changed, monkeypatch):
    """Compare fits side by side, and in one queue, with each fit alone."""
    monkeypatch.setattr(joined_fits, "joins", lambda *_: True)  # on every device
    given, custom = {**PARAMS, **changed}, changed.get("custom_metric")
    given.pop("custom_metric", None)

    def trained(rows, way=""):
        """Return the model files and histories of fits of these rows, after 5 rounds."""
        with ExitStack() as stack:
            tasks = []
            for some in rows:
                own, test = Dataset(X[some], Y[some]), Dataset(X[~some], Y[~some])
                evals = [(own, "train"), (test, "test")]
                tasks.append(prepare(given, own, evals, None, None, custom))
            opens = Joining(tasks) if way == "one queue" else None
            fits = [stack.enter_context(opened_fit(task, opens=opens)) for task in tasks]
            if way:
                together = enqueued_together(fits)
                assert len(together) == (1 if way == "one queue" else len(fits))
                ConcurrentFits(together).run(5)
            else:
                for _ in range(5):
                    for fit in fits:
                        fit.step()
            return [(bytes(fit.model().save_raw()), fit.history) for fit in fits]

    parts = [np.arange(300) % 3 != part for part in range(3)]
    alone = [trained([part])[0] for part in parts]
    assert trained(parts, "side by side") == alone
    assert trained(parts, "one queue") == alone


def test_a_round_waits_for_its_own_copies_alone():
    """Not until the device is idle: other fits, or a later round, may be enqueued behind it."""
    data = Dataset(X, Y)
    with opened_fit(prepare(PARAMS, data, [(data, "train")], None, None)) as fit:
        fit.step()
        waits, pauses = fit.device.n_waits, fit.device.n_pauses
        for _ in range(4):
            fit.step()
        assert fit.device.n_waits == waits
        assert fit.device.n_pauses - pauses <= 3 * 4  # high words, metrics, pace


class Watches(TrainingCallback):
    """Stops after the fourth round; each round has one more entry in the log."""

    def after_iteration(self, model, epoch, evals_log):
        assert len(evals_log["test"]["logloss"]) == epoch + 1
        return epoch == 3


@pytest.mark.parametrize("callbacks", [[], [Watches()]], ids=["alone", "with a callback"])
def test_cv_of_concurrent_folds(monkeypatch, callbacks):
    given = {"nfold": 5, "as_pandas": False, "callbacks": callbacks}
    found = cv(PARAMS, Dataset(X, Y), 6, **given)
    assert {len(values) for values in found.values()} == {4 if callbacks else 6}
    for way in ("off", "joined"):
        monkeypatch.setenv(ENVIRONMENT, way)
        assert cv(PARAMS, Dataset(X, Y), 6, **given) == found
