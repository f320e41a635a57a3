"""What is estimated for the devices and hosts of a team is what its fits allocate."""

import multiprocessing
import os
import tracemalloc

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.team.rendezvous import Rendezvous
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training import division, hosts
from pyopencl_gbdt.training.team_memory import estimate_team
from tests.conftest import TEST_DEVICE
from tests.teams import LIMITS
from tests.training.test_team import listed

SHAPE, MISS = (80_000, 6), 0.1
PARAMS = {"objective": "binary:logistic", "max_depth": 4, "n_estimators": 1, "max_bin": 64}
pytestmark = pytest.mark.usefixtures("devices_named_twice")


def made_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=SHAPE).astype(np.float32)
    return X, X[:, 0] > 0


@pytest.fixture(scope="module")
def rows():
    return made_rows()


def batches(rows, size=20_000):
    return Dataset.from_batches(
        [tuple(part[i : i + size] for part in rows) for i in range(0, len(rows[0]), size)]
    )


def too_few_bytes():
    """Return a bound of memory in which the larger part of the rows does not fit its device."""
    both = [open_device(TEST_DEVICE) for _ in range(2)]
    whole = estimate_team(both, Parameters.from_dict(PARAMS), *SHAPE, weights=[1, 3])
    return int(0.95 * whole.devices[1].training_bytes)


def close(found, wanted):
    assert [one.peak_bytes for one in found] == pytest.approx(wanted, rel=MISS)


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", ["array", "batches", "streamed", "watched", "sets"])
def test_devices_of_a_process(rows, kind, monkeypatch):
    opened = []
    monkeypatch.setattr(
        division, "open_device", lambda name: opened.append(open_device(name)) or opened[-1]
    )
    data, known = batches(rows) if kind == "batches" else Dataset(*rows), {}
    if kind == "sets":
        X, known = rows[0].copy(), {"n_levels": {2: 2000}}
        X[:, 2] = np.arange(len(X)) % 2000
        data = Dataset(X, rows[1], categorical_features=[2])
    params = {**PARAMS, **({"device_memory": too_few_bytes()} if kind == "streamed" else {})}
    params |= {"cat_method": "sets"} if known else {}
    evals = [(data, "train")] if kind == "watched" else []
    given = {**params, "device": listed([TEST_DEVICE] * 2, [1, 3])}
    model = train(given, data, evals=evals)
    assert model.variants["page"] == "streamed" or kind != "streamed"
    fresh = [open_device(TEST_DEVICE) for _ in opened]
    for one, own in zip(fresh, opened, strict=True):
        one.caps = own.caps
    size = 20_000 if kind == "batches" else 0
    found = estimate_team(
        fresh, Parameters.from_dict(params), *SHAPE, weights=[1, 3], batch_rows=size,
        watches_training=bool(evals), **known,
    )  # fmt: skip
    assert found.n_rows == [20_000, 60_000]
    close(found.devices, [one.peak_bytes for one in opened])
    assert all(one.peak_bytes == 0 for one in fresh)


def rank_of_two(pipe, rank, size):
    """Train as a rank, in a process of its own; say what device and host took."""
    if hasattr(os, "sched_setaffinity"):  # each thread that sorts a column has pieces of its own
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    X, y = made_rows()
    part = slice(0, 20_000) if rank == 0 else slice(20_000, 80_000)
    own = X[part].copy(), y[part].copy()
    del X, y
    opened, first = [], hosts.open_in_turn
    hosts.open_in_turn = lambda *given: opened.append(first(*given)) or opened[-1]
    params = {**PARAMS, "device": TEST_DEVICE, "verbosity": 0}

    def data():
        return batches(own, size) if size else Dataset(*own)

    door = Rendezvous("127.0.0.1", b"secret")
    pipe.send(door.address)
    team = door.join(rank, pipe.recv(), LIMITS)
    # What a first fit of a team imports and builds is no part of a fit's memory.
    train(params, data(), communicator=team)
    tracemalloc.start()
    train(params, data(), communicator=team)
    pipe.send((opened[-1].peak_bytes, tracemalloc.get_traced_memory()[1]))
    team.leave()


def said(pipe):
    """Return what a rank sends; one that has died sends nothing, and its pipe stays open."""
    assert pipe.poll(300)
    return pipe.recv()


@pytest.mark.thorough
@pytest.mark.parametrize("size", [0, 20_000], ids=["array", "batches"])
def test_hosts(size):
    """Each rank has a process: threads of one would not need most at the same time."""
    spawn = multiprocessing.get_context("spawn")
    pipes = [spawn.Pipe() for _ in range(2)]
    ranks = [
        spawn.Process(target=rank_of_two, args=(pipe[1], rank, size), daemon=True)
        for rank, pipe in enumerate(pipes)
    ]
    for rank in ranks:
        rank.start()
    addresses = [said(pipe[0]) for pipe in pipes]
    for pipe in pipes:
        pipe[0].send(addresses)
    taken = [said(pipe[0]) for pipe in pipes]
    for rank in ranks:
        rank.join(60)
    found = estimate_team(
        [open_device(TEST_DEVICE)], Parameters.from_dict(PARAMS), *SHAPE, weights=[1, 3],
        n_hosts=2, batch_rows=size,
    )  # fmt: skip
    close(found.devices, [device for device, _ in taken])
    assert found.host_bytes == pytest.approx([host for _, host in taken], rel=MISS)


def test_members_that_do_not_match():
    device, params = open_device(TEST_DEVICE), Parameters.from_dict(PARAMS)
    with pytest.raises(ParameterError, match="1 devices, 2 weights and 1 hosts: expected a device"):
        estimate_team([device], params, 100, 3, weights=[1, 2])
    for weights in ([0, 0], [-1, 3], [1, float("nan")]):
        with pytest.raises(ParameterError, match=r"^weights=.*: expected numbers of 0 or more"):
            estimate_team([device] * 2, params, 100, 3, weights=weights)
    with pytest.raises(ParameterError, match=r"^n_hosts=0: expected 1 or more"):
        estimate_team([device], params, 100, 3, n_hosts=0)
