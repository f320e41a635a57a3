"""Cards of several processes, joined by NCCL: who is joined, and what happens if one is gone.

NCCL and the cards are made up; the processes are threads that talk over sockets.
"""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
import types

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device.program import Launch
from pyopencl_gbdt.device.team import nccl, sliced_sums
from pyopencl_gbdt.device.team.channel import Channel
from pyopencl_gbdt.device.team.handshake import Keys, Limits
from pyopencl_gbdt.device.team.messages import DeviceIdle
from pyopencl_gbdt.device.team.sums import TeamReduce
from pyopencl_gbdt.errors import DeviceError, TeamError
from pyopencl_gbdt.growth.round_kernels import RoundKernels
from pyopencl_gbdt.model import to_json

from ..conftest import TEST_DEVICE
from ..teams import LIMITS, members


class Communicator:
    """What NCCL makes; it notes what becomes of it."""

    def __init__(self, size, name, rank):
        self.given, self.ends = (size, name, rank), []
        MADE.append(self)

    def abort(self):
        self.ends.append("abort")


MADE: list[Communicator] = []


@pytest.fixture
def library(monkeypatch):
    """NCCL as CuPy has it, for two members of this process."""
    MADE.clear()
    made = types.SimpleNamespace(NcclCommunicator=Communicator, get_unique_id=lambda: (1, 2))
    cuda = types.SimpleNamespace(nccl=made)
    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace(cuda=cuda))
    monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)
    monkeypatch.setattr(nccl, "_in_use", threading.Semaphore(2))
    monkeypatch.setattr(nccl.NcclSum, "__call__", lambda self: None)
    monkeypatch.delenv(nccl.ENVIRONMENT, raising=False)
    return made


class Card(contextlib.nullcontext):
    def __init__(self, place):
        super().__init__()
        self.pci_bus_id = place


class Number:
    """An array of one number on a card, which is the sum of two ranks' numbers already."""

    dtype = np.dtype(np.int64)
    right = True

    def get(self):
        return np.array([3 if self.right else 2])


def device_at(place, api="cuda"):
    caps = types.SimpleNamespace(api=api, device_id="cuda:0")
    return types.SimpleNamespace(caps=caps, cuda=Card(place), upload=lambda values: Number())


def test_different_cards_are_joined(library):
    def work(team, rank):
        with team.joined_cards(device_at(f"bus {rank}")):
            return team.communicator.given, team.enqueues, team.keeps_own

    assert members(2, work) == [((2, (1, 2), rank), True, False) for rank in range(2)]
    assert [one.ends for one in MADE] == [[], []]


@pytest.mark.parametrize("places", [("a", "a"), ("a", "no card")])
def test_cards_that_are_not_joined(library, places):
    """One card for both, and a device that is no card: sums go over the sockets."""

    def work(team, rank):
        api = "cuda" if places[rank] == "a" else "opencl"
        with team.joined_cards(device_at(places[rank], api)):
            return team.enqueues, team.keeps_own

    assert members(2, work) == [(False, True)] * 2
    assert nccl._in_use._value == 2


def test_a_card_that_does_not_join(library, monkeypatch):
    """Then none is joined, and what the other has is given up."""

    def failing(size, name, rank):
        if rank:
            raise RuntimeError("unhandled system error")
        return Communicator(size, name, rank)

    library.NcclCommunicator = failing

    def work(team, rank):
        with team.joined_cards(device_at(f"bus {rank}")):
            return team.enqueues

    assert members(2, work) == [False, False]
    assert [one.ends for one in MADE] == [["abort"]]


@pytest.mark.parametrize("how", ["wrong", "late"])
def test_a_first_sum_that_fails(library, monkeypatch, how):
    """It is wrong, or never comes: all sums go over the sockets then."""
    monkeypatch.setattr(nccl, "_JOIN_SECONDS", 0.3)
    monkeypatch.setattr(Number, "right", how != "wrong")
    if how == "late":
        over = threading.Event()
        monkeypatch.setattr(nccl.NcclSum, "__call__", lambda self: over.wait(5))

    def work(team, rank):
        with team.joined_cards(device_at(f"bus {rank}")):
            return team.enqueues, team.keeps_own

    assert members(2, work) == [(False, True)] * 2
    assert [one.ends for one in MADE] == [["abort"]] * 2


def test_a_communicator_that_comes_too_late(library, monkeypatch):
    """It is ended, and enqueues nothing on the stream that the training has by then."""
    monkeypatch.setattr(nccl, "_JOIN_SECONDS", 0.1)
    may_come, sums = threading.Event(), []

    def late(size, name, rank):
        may_come.wait(20)
        return Communicator(size, name, rank)

    library.NcclCommunicator = late
    monkeypatch.setattr(nccl.NcclSum, "__call__", sums.append)

    def work(team, rank):
        with team.joined_cards(device_at(f"bus {rank}")):
            return team.enqueues

    assert members(2, work) == [False, False]
    joining = [one for one in threading.enumerate() if one.name == "joining cards"]
    may_come.set()
    for thread in joining:
        thread.join(20)
    assert [one.ends for one in MADE] == [["abort"]] * 2
    assert not sums


def test_a_member_that_sends_much_is_alive():
    """It waits until the other one reads, and gives no signs of life."""
    own, other = socket.socketpair()
    channel, limits = Channel(own, Keys(b"a", b"b")), Limits(silence=1e-9)

    def looks():
        return [channel.has_ended(limits) for _ in range(3)]

    with own, other:
        other.sendall(bytes(1000))
        assert looks() == [False, True, True]
        other.sendall(bytes(1 << 16))
        assert looks() == [False, False, False]
        other.shutdown(socket.SHUT_WR)
        assert looks() == [True, True, True]


def test_sums_in_a_group_that_fail(library):
    library.groupStart = lambda: None
    library.groupEnd = lambda: (_ for _ in ()).throw(RuntimeError("unhandled"))
    library.NcclError = RuntimeError
    array = types.SimpleNamespace(device=device_at("a"))
    array.device.caps.label = "a card"
    pair = [nccl.NcclSum(None, array, None, np.dtype(np.int64))] * 2
    with pytest.raises(TeamError, match=r"^a card: NCCL failed: unhandled; .*NCCL=off"):
        nccl.NcclSums(pair)()


@pytest.mark.parametrize("how", ["ended", "silent", "sums failed"])
def test_a_member_that_is_gone_ends_the_sums(library, how):
    """The other waits for its card alone; the error names the rank."""
    over = threading.Event()

    def work(team, rank):
        with team.joined_cards(device_at(f"bus {rank}")):
            if rank == 1:
                if how == "ended":
                    raise RuntimeError("killed")
                team._ended.set()  # no more signs of life, and the connection stays
                over.wait(90)
                return None
            began, (own,) = time.monotonic(), [one for one in MADE if one.given[2] == 0]
            while not own.ends and time.monotonic() < began + 60:
                time.sleep(0.01)
            assert own.ends
            over.set()
            if how == "silent":
                raise DeviceError("cuda:0 failed: an illegal memory access")  # sums were ended
            if how == "sums failed":
                raise nccl.SumError("cuda:0: NCCL failed: unhandled")
            team.exchange(DeviceIdle, None)

    def and_leave(team, rank):
        try:
            work(team, rank)
        except BaseException as error:
            team.leave(error)
            raise
        team.leave(None)

    limits = Limits(silence=2.0, patience=20.0)
    error, _ = members(2, and_leave, limits)
    assert isinstance(error, TeamError)
    assert str(error).startswith("rank 1")


def test_sums_that_follow_one_another_are_one(library):
    """NCCL gets them between the start and the end of a group."""
    said = []
    library.groupStart = lambda: said.append("start")
    library.groupEnd = lambda: said.append("end")

    class Sum(nccl.NcclSum):
        def __call__(self):
            said.append(self.name)

    a, b, c = (Sum(None, None, None, None, name=name) for name in "abc")
    for action in nccl.neighbours_joined([a, b, lambda: said.append("kernel"), c]):
        action()
    assert said == ["start", "a", "b", "end", "kernel", "c"]


@pytest.mark.parametrize(
    "growth", ["level by level", "leaf by leaf", "in turns", "drawn", "forest"]
)
def test_models_of_enqueued_sums(monkeypatch, growth):
    """A team of processes whose sums are enqueued grows the trees of one device.

    Level by level, the host has nothing to do within a tree: it is one graph on CUDA cards.
    """
    more = {
        "leaf by leaf": {"grow_policy": "lossguide", "max_leaves": 9},
        "in turns": {"page": "streamed"},
        "drawn": {"subsample": 0.5, "colsample_bynode": 0.6},
        "forest": {"num_parallel_tree": 3, "subsample": 0.7},
    }.get(growth, {})
    original = RoundKernels.batches

    def enqueued(self, *, joined):
        found = original(self, joined=joined)
        if growth in ("level by level", "drawn", "forest") and self.rows.team.size > 1:
            for action in found[0]:
                fixed = isinstance(action, TeamReduce) and not callable(action.window)
                assert isinstance(action, Launch) or fixed, action.name
        return found

    monkeypatch.setattr(RoundKernels, "batches", enqueued)
    monkeypatch.setattr(sliced_sums, "joined", lambda team, device: team)
    monkeypatch.setattr(sliced_sums, "leave", lambda found, failed: None)
    monkeypatch.setattr(nccl, "NcclSum", TeamReduce)  # which takes the member first, too
    rng = np.random.default_rng(4)
    values = rng.normal(size=(500, 4)).astype(np.float32)
    label = values[:, 0] * values[:, 1] + rng.normal(size=500)
    params = {"device": TEST_DEVICE, "max_depth": 4, "verbosity": 0, **more}
    alone = to_json(train(params, Dataset(values, label), 3).ensemble)

    def work(team, rank):
        own = slice(250 * rank, 250 * (rank + 1))
        data = Dataset(values[own], label[own])
        return to_json(train(params, data, 3, communicator=team).ensemble)

    assert members(2, work, LIMITS) == [alone, alone]
