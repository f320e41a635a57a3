"""What is estimated for the devices and hosts of a team is what its fits allocate."""

from __future__ import annotations

import threading
import tracemalloc

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import open_device, selection
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training import division, hosts
from pyopencl_gbdt.training.team_memory import estimate_team

from .conftest import TEST_DEVICE
from .test_hosts import members
from .test_team import listed

SHAPE, MISS = (80_000, 6), 0.1
PARAMS = {"objective": "binary:logistic", "max_depth": 4, "n_estimators": 1, "max_bin": 64}


@pytest.fixture(autouse=True)
def _devices_may_be_named_twice(monkeypatch):
    monkeypatch.setattr(selection, "ALLOWS_TWICE", True)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=SHAPE).astype(np.float32)
    return X, X[:, 0] > 0


def batches(rows, size=20_000):
    return Dataset.from_batches(
        [tuple(part[i : i + size] for part in rows) for i in range(0, len(rows[0]), size)]
    )


def close(found, wanted):
    assert [one.peak_bytes for one in found] == pytest.approx(wanted, rel=MISS)


@pytest.mark.parametrize("kind", ["array", "batches", "streamed", "watched"])
def test_devices_of_a_process(rows, kind, monkeypatch):
    opened = []
    monkeypatch.setattr(
        division, "open_device", lambda name: opened.append(open_device(name)) or opened[-1]
    )
    data = batches(rows) if kind == "batches" else Dataset(*rows)
    params = {**PARAMS, **({"device_memory": "1800KB"} if kind == "streamed" else {})}
    evals = [(data, "train")] if kind == "watched" else []
    given = {**params, "device": listed([TEST_DEVICE] * 2, [1, 3])}
    model = train(given, data, evals=evals)
    streams = "streamed" if kind == "streamed" else "resident"
    assert model.variants["page"] == streams or kind != "streamed"
    fresh = [open_device(TEST_DEVICE) for _ in opened]
    for one, own in zip(fresh, opened, strict=True):
        one.caps = own.caps
    size = 20_000 if kind == "batches" else 0
    found = estimate_team(
        fresh, Parameters.from_dict(params), *SHAPE, weights=[1, 3], batch_rows=size,
        watches_training=bool(evals),
    )  # fmt: skip
    assert found.n_rows == [20_000, 60_000]
    close(found.devices, [one.peak_bytes for one in opened])
    assert all(one.peak_bytes == 0 for one in fresh)


@pytest.mark.parametrize("size", [0, 20_000], ids=["array", "batches"])
def test_hosts(rows, size, monkeypatch):
    opened, own = {}, threading.local()
    first = hosts.open_in_turn

    def open_in_turn(*given):
        opened[own.rank] = first(*given)
        return opened[own.rank]

    monkeypatch.setattr(hosts, "open_in_turn", open_in_turn)
    bounds = [(0, 20_000), (20_000, 80_000)]
    parts = [[part[a:b] for part in rows] for a, b in bounds]

    def work(team, rank):
        own.rank = rank
        data = batches(parts[rank], size) if size else Dataset(*parts[rank])
        return train({**PARAMS, "device": TEST_DEVICE}, data, communicator=team)

    tracemalloc.start()
    try:
        members(2, work)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    found = estimate_team(
        [open_device(TEST_DEVICE)], Parameters.from_dict(PARAMS), *SHAPE, weights=[1, 3],
        n_hosts=2, batch_rows=size,
    )  # fmt: skip
    close(found.devices, [opened[rank].peak_bytes for rank in (0, 1)])
    assert sum(found.host_bytes) == pytest.approx(peak, rel=MISS)


def test_members_that_do_not_match():
    device, params = open_device(TEST_DEVICE), Parameters.from_dict(PARAMS)
    with pytest.raises(ParameterError, match="1 devices, 2 weights and 1 hosts: expected a device"):
        estimate_team([device], params, 100, 3, weights=[1, 2])
    for weights in ([0, 0], [-1, 3], [1, float("nan")]):
        with pytest.raises(ParameterError, match=r"^weights=.*: expected numbers of 0 or more"):
            estimate_team([device] * 2, params, 100, 3, weights=weights)
    with pytest.raises(ParameterError, match=r"^n_hosts=0: expected 1 or more"):
        estimate_team([device], params, 100, 3, n_hosts=0)
