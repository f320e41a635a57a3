"""Dask's workers on this machine train the model of one process."""

import copy
import os
import pickle
import signal
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from pyopencl_gbdt import Dataset, GBDTClassifier, GBDTRanker, train
from pyopencl_gbdt.callbacks import TrainingCallback
from pyopencl_gbdt.device.team import rendezvous
from pyopencl_gbdt.errors import DataError, ParameterError, TeamError
from pyopencl_gbdt.model import to_json
from tests.layouts.rows import LABELS, WEIGHT, N, X

from .conftest import TEST_DEVICE

PARAMS = {"device": TEST_DEVICE, "objective": "binary:logistic", "subsample": 0.6}
Y = LABELS["two classes"]


@pytest.fixture(scope="module")
def client():
    """Two workers, each a process."""
    pytest.importorskip("dask.array")
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as it,
        distributed.Client(it) as client,
    ):
        yield client


@pytest.fixture
def on_dask(client):
    from pyopencl_gbdt import dask

    return dask


def array(values, rows=150):
    import dask.array

    return dask.array.from_array(values, chunks=(rows, *values.shape[1:]))


def test_arrays(on_dask, client):
    """Unequal partitions; the training rows, these without weights, and others are evaluated."""
    all_rows, others = Dataset(X, Y, WEIGHT), Dataset(X[:90], Y[:90])
    evals = [(all_rows, "train"), (Dataset(X, Y), "unweighted"), (others, "test")]
    alone = train(PARAMS, all_rows, 4, evals=evals)
    rows, label, weight = array(X), array(Y), array(WEIGHT, 200)
    sets = [
        ({"X": rows, "label": label, "weight": weight}, "train"),
        ({"X": rows, "label": label}, "unweighted"),
        ({"X": array(X[:90], 30), "label": array(Y[:90], 30)}, "test"),
    ]
    model = on_dask.train(client, PARAMS, rows, label, 4, weight=weight, evals=sets)
    assert to_json(model.ensemble) == to_json(alone.ensemble)
    assert model.history == alone.history
    for more in ({}, {"pred_leaf": True}, {"pred_leaf": True, "iteration_range": (1, 2)},
                 {"pred_contribs": True}, {"pred_interactions": True}):  # fmt: skip
        lazy = on_dask.predict(model, rows, **more)
        found = lazy.compute()
        assert (lazy.dtype, lazy.ndim) == (found.dtype, found.ndim)
        np.testing.assert_array_equal(found, alone.predict(X, **more))


def test_estimators_on_tables(on_dask, client):
    """A classifier of strings with a categorical column, and a ranker."""
    import dask.dataframe

    table = pd.DataFrame(X, columns=list("abcde"))
    table["level"] = pd.Categorical(np.array(list("xyz"))[np.arange(N) * 3 // N])
    label = pd.Series(np.where(Y > 0, "yes", "no"))
    plain = {"preset": "xgboost", "device": TEST_DEVICE}  # on Dask there are no others
    alone = GBDTClassifier(n_estimators=3, **plain).fit(table, np.where(Y > 0, "yes", "no"))
    rows, labels = (
        dask.dataframe.from_pandas(t, npartitions=4, sort=False) for t in (table, label)
    )
    ours = on_dask.DaskGBDTClassifier(n_estimators=3, device=TEST_DEVICE).fit(rows, labels)
    assert to_json(ours.model_.ensemble) == to_json(alone.model_.ensemble)
    np.testing.assert_array_equal(ours.predict(rows).compute(), alone.predict(table))
    for name in ("predict_proba", "predict_log_proba", "decision_function", "apply"):
        found = getattr(ours, name)(rows).compute()
        np.testing.assert_array_equal(found, getattr(alone, name)(table))
    query, grades = np.repeat(np.arange(N // 50), 50), LABELS["grades"]
    ranked = GBDTRanker(n_estimators=2, device=TEST_DEVICE).fit(X, grades, qid=query)
    ranker = on_dask.DaskGBDTRanker(n_estimators=2, device=TEST_DEVICE)
    ranker.fit(array(X, 80), array(grades, 80), qid=array(query, 80))  # queries cross partitions
    assert to_json(ranker.model_.ensemble) == to_json(ranked.model_.ensemble)


def test_the_client_is_an_attribute_as_in_xgboost(on_dask, client):
    """It trains although it is not the current client, and stays out of copies and parameters."""
    import distributed

    rows, labels = array(X), array(Y)
    ours = on_dask.DaskGBDTClassifier(n_estimators=2, device=TEST_DEVICE)
    assert ours.client is None
    before = ours.get_params()
    with distributed.Client(client.cluster, set_as_default=False) as other:
        ours.client = other
        assert ours.client is other
        assert ours.get_params() == before
        for copied in (clone(ours), copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
            assert copied.client is None
        ours.fit(rows, labels, eval_set=(rows, labels))
        alone = GBDTClassifier(n_estimators=2, preset="xgboost", device=TEST_DEVICE)
        alone.fit(X, Y, eval_set=[(X, Y)])
        np.testing.assert_array_equal(ours.predict(rows).compute(), alone.predict(X))
        found = ours.predict_proba(rows).compute()
        np.testing.assert_array_equal(found, alone.predict_proba(X))
    assert to_json(ours.model_.ensemble) == to_json(alone.model_.ensemble)
    assert ours.evals_result() == alone.evals_result()
    ours.client = None
    with pytest.raises(ParameterError, match=r"^client is of type str: expected a distributed.Cl"):
        ours.client = "tcp://127.0.0.1:1"


def test_the_client_forgets_the_workers(on_dask, client, monkeypatch):
    """Its refresh, which leaves workers out, comes after the question and before the return."""
    monkeypatch.setattr(client, "_update_scheduler_info", _nothing)
    monkeypatch.setattr(client, "_scheduler_identity", {"workers": {}})
    assert client.scheduler_info()["workers"] == {}
    model = on_dask.train(client, PARAMS, array(X), array(Y), 2)
    assert to_json(model.ensemble) == to_json(train(PARAMS, Dataset(X, Y), 2).ensemble)


async def _nothing(n_workers=0):
    pass


def test_evaluation_sets_are_pairs(on_dask, client):
    rows, label, other = array(X), array(Y), (array(X[:90], 30), array(Y[:90], 30))
    history = {}
    pairs = [((rows, label), "train"), (list(other), "test")]
    on_dask.train(client, PARAMS, rows, label, 2, evals=pairs, evals_result=history)
    mappings = [({"X": x, "label": y}, name) for (x, y), name in pairs]
    again = on_dask.train(client, PARAMS, rows, label, 2, evals=mappings)
    assert history == again.history
    assert list(history) == ["train", "test"]
    for wrong in ((rows, "t"), ((rows, label, label), "t"), ((rows, label), 1), {"X": rows}, "t"):
        with pytest.raises(
            ParameterError, match=r"^evals\[0\] is of type .*: expected \(\(X, label"
        ):
            on_dask.train(client, PARAMS, rows, label, 2, evals=[wrong])
    assert on_dask.train(client, PARAMS, rows, label, 0, evals=None).history == {}


@pytest.mark.thorough
def test_several_devices_of_a_worker(on_dask, client):
    """Two members on each worker; here they share a device."""
    client.run(_allow_a_device_twice)
    params = {**PARAMS, "device": f"{TEST_DEVICE},{TEST_DEVICE}"}
    model = on_dask.train(client, params, array(X), array(Y), 3)
    assert to_json(model.ensemble) == to_json(train(PARAMS, Dataset(X, Y), 3).ensemble)


def _allow_a_device_twice():
    from pyopencl_gbdt.device import selection

    selection.ALLOWS_TWICE = True


def test_workers_that_take_different_branches(on_dask, client):
    """One compares digests of trees; the other is made to say that its device is idle."""
    address = sorted(client.nthreads())[1]
    client.run(_say, "DeviceIdle", workers=[address])
    try:
        with pytest.raises(TeamError, match=r"(TreesDigest|DeviceIdle) after .* rank 1 sends"):
            on_dask.train(client, PARAMS, array(X), array(Y), 2)
    finally:
        client.run(_say, "TreesDigest", workers=[address])


def _say(message):
    from pyopencl_gbdt.device.team import messages as team_messages
    from pyopencl_gbdt.training import member

    member.TreesDigest = getattr(team_messages, message)


def test_what_is_refused(on_dask, client):
    with pytest.raises(DataError, match=r"^label is of type ndarray: expected a Dask array"):
        on_dask.train(client, PARAMS, array(X), Y, 2)
    with pytest.raises(DataError, match=r"^label has 2 partitions, X 5: expected the same"):
        on_dask.train(client, PARAMS, array(X), array(Y[:300]), 2)
    with pytest.raises(ParameterError, match=r"^timeout=-1: expected seconds above 0"):
        on_dask.train(client, PARAMS, array(X), array(Y), 2, timeout=-1)
    assert {*client.run(_n_doors).values()} == {0}


def _n_doors():
    from pyopencl_gbdt.dask import work

    return len(work._doors)


def test_doors_are_closed_where_one_does_not_open(on_dask, monkeypatch):
    from pyopencl_gbdt.dask import work

    opened = []

    class Door(rendezvous.Rendezvous):
        def __init__(self, *given):
            if opened:
                raise OSError("no port is left")
            super().__init__(*given)
            opened.append(self)

    monkeypatch.setattr(work, "Rendezvous", Door)
    monkeypatch.setattr(work, "devices_of", lambda params: ["a", "b"])
    worker = SimpleNamespace(address="tcp://127.0.0.1:1")
    with pytest.raises(OSError, match="no port is left"):
        work.open_doors("job", b"secret", {}, dask_worker=worker)
    assert not opened[0]._is_open
    assert work._doors == {}


class _Killed(TrainingCallback):
    """Kills the process of a worker after a round, and writes down when."""

    def __init__(self, process, file):
        self.process, self.file = process, file

    def after_iteration(self, model, epoch, evals_log):
        if epoch == 1:
            self.file.write_text(str(time.time()))
            os.kill(self.process, signal.SIGKILL)
        return False

    def seconds_ago(self):
        """Return how long ago that was; a worker's own start may take long on a busy machine."""
        return time.time() - float(self.file.read_text())


@pytest.mark.thorough
def test_a_worker_that_dies(on_dask, tmp_path):
    """The training ends, and the error names the rank."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as it,
        distributed.Client(it) as client,
    ):
        processes = client.run(os.getpid)
        rows, label = client.persist(
            [array(X, 350), array(Y, 350)]
        )  # both trainings find them there
        leader = _where_the_leader_is(on_dask, client, rows, label)
        (victim,) = (processes[worker] for worker in processes if processes[worker] != leader)
        killed = _Killed(victim, tmp_path / "when")
        with pytest.raises(
            TeamError, match=r"^rank 1 ended, so rank 0 ended too; workers: 0 is tcp"
        ):
            on_dask.train(client, PARAMS, rows, label, 500, callbacks=[killed])
        assert killed.seconds_ago() < 30


@pytest.mark.thorough
def test_the_only_worker_dies(on_dask, tmp_path):
    """Nobody is left to tell of it but the client."""
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as it,
        distributed.Client(it) as client,
    ):
        (victim,) = client.run(os.getpid).values()
        rows, label = array(X, 350), array(Y, 350)
        killed = _Killed(victim, tmp_path / "when")
        with pytest.raises(TeamError, match=r"^tcp\S+ ended during the training: look at its log"):
            on_dask.train(client, PARAMS, rows, label, 500, callbacks=[killed])
        assert killed.seconds_ago() < 30


@pytest.mark.thorough
def test_a_worker_that_stops_before_it_begins(on_dask, monkeypatch):
    distributed = pytest.importorskip("distributed")
    from pyopencl_gbdt.dask import training

    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as it,
        distributed.Client(it) as client,
    ):
        victim, _ = client.run(os.getpid).values()
        placed = training._placed

        def then_one_stops(*given):
            found = placed(*given)
            os.kill(victim, signal.SIGSTOP)
            return found

        monkeypatch.setattr(training, "_placed", then_one_stops)
        monkeypatch.setattr(training.Limits, "silence", 3.0)
        try:
            with pytest.raises(TeamError, match="one was silent for 3 s before the training began"):
                on_dask.train(client, PARAMS, array(X, 350), array(Y, 350), 2)
        finally:
            os.kill(victim, signal.SIGKILL)


class _Tells(TrainingCallback):
    """Stores the process of the leading member in the model."""

    def after_iteration(self, model, epoch, evals_log):
        model.attributes["process"] = str(os.getpid())
        return False


def _where_the_leader_is(on_dask, client, rows, label):
    model = on_dask.train(client, PARAMS, rows, label, 1, callbacks=[_Tells()])
    return int(model.ensemble.attributes["process"])
