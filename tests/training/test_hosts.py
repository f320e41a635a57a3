"""Processes that share the rows grow the trees that one process grows alone.

Here the members are threads that talk over sockets, as processes of several hosts do;
``test_mpi.py`` and ``test_dask.py`` start processes.
"""

import socket
import threading
import time

import numpy as np
import pandas as pd
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.callbacks import TrainingCallback, TrainingCheckPoint
from pyopencl_gbdt.device.team.channel import _HEAD, VALUE
from pyopencl_gbdt.device.team.handshake import Limits
from pyopencl_gbdt.device.team.messages import HostName, RowCount, SumPart, TrainedModel
from pyopencl_gbdt.device.team.rendezvous import Rendezvous
from pyopencl_gbdt.errors import (
    DataError,
    DeviceError,
    KernelLaunchError,
    ParameterError,
    TeamError,
)
from pyopencl_gbdt.model import to_json
from pyopencl_gbdt.training import same_task as whole
from tests.conftest import TEST_DEVICE
from tests.layouts.rows import LABELS, ORDER, WEIGHT, X
from tests.teams import LIMITS, at_once, members

N = len(X)


def rows(first, end, label="two classes", weight=WEIGHT):
    if first == end:
        return None
    weight = None if weight is None else weight[first:end]
    return Dataset(X[ORDER][first:end], LABELS[label][ORDER][first:end], weight)


def together(bounds, params, n_rounds=4, label="two classes", weight=WEIGHT, **options):
    """Return the models, or errors, of members with these rows."""

    def work(team, rank):
        own = rows(*bounds[rank], label, weight)
        sets = {}
        if "evals" in options:
            sets = {"evals": [(own, "train"), (rows(*options["evals"][rank], label), "test")]}
        more = {k: v for k, v in options.items() if k != "evals"}
        given = params[rank] if isinstance(params, list) else params
        return train(given, own, n_rounds, communicator=team, **sets, **more)

    return members(len(bounds), work)


def bytes_of(model):
    if isinstance(model, BaseException):
        raise model
    return to_json(model.ensemble)


def test_models_and_metrics_are_those_of_one_process():
    """Three members, one without rows; sampling, weights, early stopping, two evaluation sets."""
    params = {"device": TEST_DEVICE, "objective": "binary:logistic", "subsample": 0.6}
    options = {"eval_metric": ["logloss", "auc"], "early_stopping_rounds": 2}
    all_rows = rows(0, N)
    sets = [(all_rows, "train"), (rows(300, 400), "test")]
    alone = train(params, all_rows, 4, evals=sets, **options)
    bounds, evals = [(0, 300), (300, 300), (300, N)], [(300, 320), (320, 400), (400, 400)]
    for model in together(bounds, params, evals=evals, **options):
        assert bytes_of(model) == bytes_of(alone)
        assert model.history == alone.history


def test_levels_of_categories_and_queries():
    """Each member knows other levels; queries are whole."""
    levels = pd.Series(np.array(list("abcdefgh"))[np.arange(N) * 8 // N])
    table = pd.DataFrame({"x": X[:, 0], "level": levels.astype("category"), "k": np.arange(N) % 5})
    table["k"] = table["k"].astype("category")
    query = np.repeat(np.arange(N // 10), 10)
    params = {"device": TEST_DEVICE, "objective": "rank:ndcg", "cat_method": "sets"}
    relevance = np.arange(N) * 7 % 4

    def part(first, end):
        some = slice(first, end)
        return Dataset(table[some], relevance[some], qid=query[some])

    alone = train(params, part(0, N), 3)
    bounds = [(0, 200), (200, 500), (500, N)]
    found = members(3, lambda team, rank: train(params, part(*bounds[rank]), 3, communicator=team))
    for model in found:
        assert bytes_of(model) == bytes_of(alone)


def test_a_team_trains_one_model_after_the_other():
    """A member has no rows in the first training; nobody trains once the team has ended."""
    params = {"device": TEST_DEVICE, "objective": "binary:logistic", "max_depth": 2}
    alone = bytes_of(train(params, rows(0, N), 2))
    parts = [(0, N), (N, N)], [(0, 300), (300, N)]

    def work(team, rank):
        given = [rows(*bounds[rank]) for bounds in parts]
        found = [bytes_of(train(params, own, 2, communicator=team)) for own in given]
        team.exchange(HostName, "")  # the other member's last training is over, too
        team.leave()
        with pytest.raises(TeamError, match=rf"^rank {rank} has left this team: expected a team"):
            train(params, given[1], 2, communicator=team)
        return found

    assert members(2, work) == [[alone, alone]] * 2


def half_squares(margins, data):
    return margins - data.label, np.ones(data.n_rows)


def test_a_loss_that_is_a_function():
    """Each member calls it with its own rows."""
    params = {"device": TEST_DEVICE, "objective": half_squares, "max_depth": 2}
    alone = bytes_of(train(params, rows(0, N, "number", None), 2))
    found = together([(0, 300), (300, N)], params, 2, "number", None)
    assert [bytes_of(model) for model in found] == [alone, alone]


def test_a_checkpoint_resumes_with_other_members(tmp_path):
    params = {"device": TEST_DEVICE, "objective": "reg:squarederror", "subsample": 0.7}
    alone = train(params, rows(0, N, "number"), 5)

    def saver(**options):
        return [TrainingCheckPoint(tmp_path, interval=2, **options)]

    for model in together([(0, 400), (400, N)], params, 3, "number", callbacks=saver()):
        bytes_of(model)
    assert [path.name for path in tmp_path.iterdir()] == ["model_2.json"]
    parts = [(0, 100), (100, 101), (101, N)]
    for model in together(parts, params, 5, "number", callbacks=saver()):
        assert bytes_of(model) == bytes_of(alone)
    other = together([(0, N - 1), (N - 1, N)], params, 5, "two classes", callbacks=saver())
    assert all("data.label differs" in str(error) for error in other)


def test_labels_of_one_class_on_a_rank():
    """Nothing is wrong with them if other ranks have the rest."""
    params = {"device": TEST_DEVICE, "objective": "binary:logistic", "max_depth": 2}
    ordered = np.argsort(LABELS["two classes"], kind="stable")[[*range(200), *range(-200, 0)]]

    def part(first, end):
        some = ordered[first:end]
        return Dataset(X[some], LABELS["two classes"][some])

    alone = train(params, part(0, 400), 2)
    ends = [0, 200, 400]
    found = members(
        2, lambda team, rank: train(params, part(*ends[rank:][:2]), 2, communicator=team)
    )
    assert [bytes_of(model) for model in found] == [bytes_of(alone)] * 2


@pytest.mark.parametrize(
    "what", ["columns", "parameters", "labels", "weights", "levels", "categories", "device"]
)
def test_unlike_members_are_told_what_differs(what):
    given = {"device": TEST_DEVICE, "objective": "binary:logistic"}

    def work(team, rank):
        params = {**given, "max_depth": 4 + rank} if what == "parameters" else given
        values, weight = X[:100], None
        label = np.full(100, rank, np.float32)
        if what == "columns" and rank:
            values = X[:100, :-1]
        if what == "weights" and rank:
            weight = np.ones(100)
        if what == "labels" and rank:
            label = label + 5
        if what in ("levels", "categories"):
            column = pd.Series(["a", "b"] * 50 if rank else [1, 2] * 50)
            is_one = what == "levels" or rank
            column = column.astype("category") if is_one else column.astype(float)
            values = pd.DataFrame({"x": X[:100, 0], "level": column})
        if what == "device" and rank:
            params = {**given, "device": "opencl:90:0"}
        return train(params, Dataset(values, label, weight), 2, communicator=team)

    found = members(2, work)
    n = X.shape[1]
    wanted = {
        "columns": f"the number of features is {n - 1} on rank 1, {n} on rank 0",
        "parameters": "max_depth is 5 on rank 1, 4 on rank 0",
        "labels": "label",
        "weights": r"on rank 1, [] on rank 0",
        "levels": "column 1 holds strings on rank 1, whole numbers on rank 0: expected one kind",
        "categories": "the list of categorical columns is [1] on rank 1, [] on rank 0",
        "device": "opencl:90:0",
    }[what]
    kind = ParameterError if what == "parameters" else (DataError, TeamError, DeviceError)
    for error in found:
        assert isinstance(error, kind)
        assert wanted in str(error)


def test_other_versions_of_the_library(monkeypatch):
    class Version(threading.local):
        """Threads share the library, so each gets a version of its own."""

    version, given = Version(), whole.check_same

    def with_own_version(team, facts, *rest):
        return given(team, dict.fromkeys(facts, version.text), *rest)

    monkeypatch.setattr(whole, "check_same", with_own_version)

    def work(team, rank):
        version.text = f"1.{rank}"
        return train({"device": TEST_DEVICE}, rows(0, 100), 1, communicator=team)

    for error in members(2, work):
        assert isinstance(error, ParameterError)
        assert "the version of pyopencl_gbdt is '1.1' on rank 1, '1.0' on rank 0" in str(error)


class _Fails(TrainingCallback):
    def __init__(self, error):
        self.error = error

    def after_iteration(self, model, epoch, evals_log):
        raise self.error


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("the disk is gone"), "ValueError: the disk is gone"),
        (
            KernelLaunchError("CL_OUT_OF_RESOURCES", "split", "wide", "plain"),
            "KernelLaunchError: CL_OUT_OF_RESOURCES; several hosts do not start again by "
            "themselves: train again in the same processes, as this one now takes 'plain' for "
            "split, or run",
        ),
    ],
)
def test_others_are_told_why_a_member_fails(error, said):
    params = {"device": TEST_DEVICE}
    began = time.monotonic()
    first, second = together([(0, 300), (300, N)], params, 1, callbacks=[_Fails(error)])
    assert isinstance(first, type(error))
    assert isinstance(second, TeamError)
    assert f"rank 0: {said}" in str(second)
    assert time.monotonic() - began < 120


@pytest.mark.parametrize(
    "half", [None, _HEAD.pack(VALUE, 1 << 20, b"") + bytes(1000)], ids=["between", "within"]
)
@pytest.mark.parametrize("sent", [b"", bytes(1 << 25)], ids=["sends", "takes"])
def test_a_stopped_member_is_given_up(sent, half):
    """It neither sends nor takes anything, and its connections stay, as on a host that is gone.

    Between two messages or in the middle of one.
    """
    gone, began = threading.Event(), time.monotonic()

    def work(team, rank):
        if rank == 1:
            team._ended.set()  # no more signs of life
            if half is not None:
                team._channels[0]._socket.send(half)
            gone.wait(30)
            return None
        try:
            return team.exchange(TrainedModel, sent)
        finally:
            gone.set()

    error, _ = members(2, work, Limits(silence=0.3))
    assert isinstance(error, TeamError)
    assert "rank 1 gave no sign of life for" in str(error)
    assert time.monotonic() - began < 25


def test_a_member_without_rows_that_dies():
    """The others have no messages for it, and notice that it is gone."""

    def work(team, rank):
        some = team.among([0, 2])
        if rank == 1:
            team._ended.set()
            for channel in team._channels.values():
                channel.close(None, LIMITS)
            return None
        try:
            return gone.wait(30) if rank == 0 else some.exchange(RowCount, rank)
        finally:
            gone.set()

    gone = threading.Event()
    last = members(3, work, Limits(silence=4.0))[2]
    assert str(last) == "rank 1 ended, so rank 2 ended too"


def test_a_member_that_ends_before_it_joins():
    doors = [Rendezvous("127.0.0.1", b"secret") for _ in range(3)]
    addresses = [door.address for door in doors]
    doors[1]._listener.close()
    for error in at_once(lambda rank: doors[rank].join(rank, addresses, LIMITS), (0, 2)):
        assert isinstance(error, TeamError)
        assert str(error).startswith("rank 1 ended")


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_sums_of_any_size(host):
    def work(team, rank):
        small, large = np.arange(5) + rank, np.arange(30_000).reshape(3, -1) * (rank + 1)
        return (
            team.add_up(SumPart, small),
            team.add_up(SumPart, large),
            team.exchange(HostName, "x" * rank),
        )

    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        if ":" in host:
            pytest.skip("this host has no IPv6")
    for small, large, words in members(3, work, host=host):
        np.testing.assert_array_equal(small, 3 * np.arange(5) + 3)
        np.testing.assert_array_equal(large, 6 * np.arange(30_000).reshape(3, -1))
        assert words == ["", "x", "xx"]
