"""``compat.xgboost.collective`` and trainings among the workers of a tracker.

Workers are threads here: each thread has its own rank. ``training/test_mpi.py`` starts processes,
``test_xgboost_dask.py`` workers of Dask.
"""

from __future__ import annotations

import threading

import numpy as np
import pytest

from pyopencl_gbdt.compat import xgboost as xgb
from pyopencl_gbdt.compat.xgboost import collective
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).astype(np.float32)
Y = (X[:, 0] * X[:, 1] > 0).astype(np.float32)
PARAMS = {"objective": "binary:logistic", "max_depth": 3, "device": TEST_DEVICE}
PARTS = (slice(0, 120), slice(120, 300))


def among(work, n_workers=2, **named):
    """Return what a function returns, or raises, in each worker, which knows its number."""
    tracker = xgb.RabitTracker(n_workers, "127.0.0.1", sortby="task")
    tracker.start()
    found: list = [None] * n_workers

    def run(number):
        args = {**tracker.worker_args(), **named, "dmlc_task_id": str(number)}
        try:
            with collective.CommunicatorContext(**args):
                found[number] = work(number)
        except Exception as error:
            found[number] = error

    running = [threading.Thread(target=run, args=(number,)) for number in range(n_workers)]
    for one in running:
        one.start()
    for one in running:
        one.join()
    tracker.wait_for(30)
    tracker.free()
    return found


def test_functions_of_collective():
    def work(number):
        assert (collective.get_rank(), collective.get_world_size()) == (number, 3)
        assert collective.is_distributed()
        own = np.array([[2, 1, -1][number], [12, 6, -6][number]])
        found = {op.name: collective.allreduce(own, op).tolist() for op in collective.Op}
        return found, collective.broadcast({"from": number} if number == 2 else None, 2)

    wanted = {
        "MAX": [2, 12], "MIN": [-1, -6], "SUM": [2, 12], "BITWISE_AND": [2 & 1 & -1, 12 & 6 & -6],
        "BITWISE_OR": [2 | 1 | -1, 12 | 6 | -6], "BITWISE_XOR": [2 ^ 1 ^ -1, 12 ^ 6 ^ -6],
    }  # fmt: skip
    assert among(work, 3) == [(wanted, {"from": 2})] * 3
    assert (collective.get_rank(), collective.get_world_size()) == (0, 1)


def test_a_tracker_of_one_worker_needs_no_network():
    tracker = xgb.RabitTracker(n_workers=1, host_ip=None)
    tracker.start()
    with collective.CommunicatorContext(**tracker.worker_args()):
        assert (collective.get_rank(), collective.get_world_size()) == (0, 1)
        assert collective.is_distributed()
        assert collective.broadcast("a", 0) == "a"
        assert collective.allreduce(np.array([1.5]), collective.Op.MAX) == [1.5]
        assert xgb.train(PARAMS, xgb.DMatrix(X, Y), 1).num_boosted_rounds() == 1
    tracker.wait_for()
    tracker.free()
    assert not collective.is_distributed()


class Seen(xgb.callback.TrainingCallback):
    """Notes what all ranks have in the middle of a training."""

    def __init__(self):
        super().__init__()
        self.sums = []

    def after_iteration(self, model, epoch, evals_log):
        own = np.array([1, len(model.get_dump()), evals_log["a"]["share"][-1]])
        self.sums.append(collective.allreduce(own, collective.Op.SUM).tolist())
        return epoch == 2


def logistic(margins, matrix):
    """Return gradients and Hessians, weighted by the number of all ranks' rows."""
    n_rows = collective.allreduce(np.array([matrix.num_row()]), collective.Op.SUM)[0]
    label, shares = matrix.get_label(), 1 / (1 + np.exp(-margins))
    return (shares - label) * (300 / n_rows), shares * (1 - shares)


def share(prediction, matrix):
    """Return the mean prediction of all rows, as a metric that knows several processes."""
    own = np.array([prediction.sum(dtype=np.float64), prediction.size])
    total, count = collective.allreduce(own, collective.Op.SUM)
    return "share", float(total / count)


@pytest.mark.parametrize("obj", [None, logistic])
def test_ranks_train_the_model_of_one_process(obj):
    def trained(rows, seen):
        matrix, history = xgb.QuantileDMatrix(X[rows], Y[rows]), {}
        booster = xgb.train(
            PARAMS, matrix, 5, evals=[(matrix, "a")], evals_result=history, obj=obj,
            custom_metric=share, callbacks=[seen], verbose_eval=False,
        )  # fmt: skip
        return booster.save_raw(), history

    seen = [Seen(), Seen(), Seen()]
    one = trained(slice(None), seen[2])
    assert among(lambda number: trained(PARTS[number], seen[number])) == [one, one]
    alone = np.array(seen[2].sums)
    assert alone[:, :2].tolist() == [[1, 1], [1, 2], [1, 3]]
    assert np.array_equal(seen[0].sums, 2 * alone)
    assert np.array_equal(seen[1].sums, 2 * alone)


def test_an_error_of_one_rank_is_told_to_the_others():
    def work(number):
        if number == 1:
            raise ValueError("no file here")
        collective.broadcast(None, 1)

    told, own = among(work)
    assert str(told) == "rank 1: ValueError: no file here"
    assert str(own) == "no file here"


def test_what_ranks_do_not_train():
    def work(number):
        matrix = xgb.DMatrix(X[PARTS[number]], Y[PARTS[number]])
        errors = []
        for call in (
            lambda: xgb.Booster(PARAMS).update(matrix, 0),
            lambda: xgb.train({"booster": "gblinear"}, matrix, 1),
            lambda: xgb.train({"process_type": "update"}, matrix, 1),
            lambda: collective.broadcast(1, 2),
        ):
            with pytest.raises(ValueError, match="expected") as caught:
                call()
            errors.append(str(caught.value))
        return errors

    found = among(work)
    assert found[0] == found[1]
    for text, wanted in zip(
        found[0], ("init joined 2 ranks", "booster=", "process_type=", "root=2"), strict=True
    ):
        assert text.startswith(("collective." + wanted, wanted))


def test_what_is_refused():
    for call, text in (
        (
            lambda: collective.init(dmlc_tracker_uri="127.0.0.1"),
            "all that RabitTracker.worker_args",
        ),
        (
            lambda: collective.init(in_memory_world_size=2),
            "expected one process, ranks that mpirun",
        ),
        (lambda: collective.init(dmlc_timeout=-1), "dmlc_timeout=-1: expected seconds above 0"),
        (lambda: xgb.RabitTracker(2, "203.0.113.1"), "expected a name or address of this host"),
        (lambda: xgb.RabitTracker(0, None), "n_workers=0: expected at least 1"),
        (lambda: xgb.RabitTracker(1, None, sortby="size"), "expected 'host' or 'task'"),
    ):
        with pytest.raises(xgb.XGBoostError, match=text):
            call()
    for values in ([1], np.array([True])):
        with pytest.raises(TypeError, match=r"numpy\.ndarray|data type bool"):
            collective.allreduce(values, collective.Op.SUM)
    tracker = xgb.RabitTracker(2, "127.0.0.1")
    tracker.start()
    args = {**tracker.worker_args(), "dmlc_tracker_key": "00"}
    with pytest.raises(ValueError, match="does not know the tracker's key"):
        collective.init(**args)
    with pytest.raises(xgb.XGBoostError, match="have not left within"):
        tracker.wait_for(0.1)
    tracker.free()
    with pytest.raises(xgb.XGBoostError, match=r"the tracker at .* see whether it runs"):
        collective.init(**args)
