"""Teams: devices that share the rows grow the trees that one device grows alone."""

import contextlib
import os
import re
import sys
import threading
import types
from itertools import chain, combinations

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, KernelObjective, devices, train
from pyopencl_gbdt.device import base, find, open_device
from pyopencl_gbdt.device.opencl.pocl import POCL
from pyopencl_gbdt.device.team import sums as team_sums
from pyopencl_gbdt.device.team import threads as team_threads
from pyopencl_gbdt.device.team.messages import TreesAtATime
from pyopencl_gbdt.device.team.nccl import communicators, release
from pyopencl_gbdt.device.team.sums import TeamReduce
from pyopencl_gbdt.device.team.threads import threads
from pyopencl_gbdt.device.transfers import EarlyCopy
from pyopencl_gbdt.device.variants.tuning import Choice, using
from pyopencl_gbdt.errors import DeviceError, ParameterError
from pyopencl_gbdt.growth.grown_trees import GrownTrees
from pyopencl_gbdt.model import to_json
from pyopencl_gbdt.training import device_team as together
from pyopencl_gbdt.training import placement, split_search
from pyopencl_gbdt.training.fit import Fit
from pyopencl_gbdt.training.preparing import prepare
from tests.conftest import TEST_DEVICE
from tests.layouts.rows import LABELS, LOSSES, ORDER, WEIGHT, N, X
from tests.teams import at_once

#: Every device that is here: the kinds and makers of a team may differ.
_HERE = [d for d in devices() if not d.problem]
REAL = [d.device_id for d in _HERE if not d.caps.is_simulator]
ALL = [d.device_id for d in _HERE]
#: Oclgrind is once in a team: two fits in two threads of a process disturb each other there.
TEAMS = [*([name] * 2 for name in REAL), *map(list, combinations(ALL, 2))]
#: Oclgrind takes seconds.
THOROUGH = {"test_devices_of_any_kind": lambda names: not set(names) <= set(REAL)}
TWO = (TEST_DEVICE, TEST_DEVICE)
#: Names of threads that stay with a process, whoever has begun them.
OF_PROCESS = ("pyopencl_gbdt-build", "pyopencl_gbdt checks")
pytestmark = pytest.mark.usefixtures("devices_named_twice")


def listed(names, weights=None):
    """Return the parameter ``device``; weights make all devices train."""
    weights = weights or [1] * len(names)
    return ",".join(f"{name}={weight}" for name, weight in zip(names, weights, strict=True))


def rows_of(label, *, weight=None, group=None):
    return Dataset(X[ORDER], LABELS[label][ORDER], weight, group=group)


def text(params, data, device, **options):
    params = {"n_estimators": 3, "max_depth": 4, **params, "device": device}
    return to_json(train(params, data, **options).ensemble)


def check(params, label, *, weights=None, names=TWO, **more):
    wanted = text(params, rows_of(label, **more), TEST_DEVICE)
    assert text(params, rows_of(label, **more), listed(names, weights)) == wanted


def in_pages(monkeypatch, names, params, data, bounds, n_pages):
    """Train with given parts of the rows, each in so many pages."""

    class InPages(Fit):
        def __init__(self, *given, **named):
            super().__init__(*given, **named, n_pages=n_pages)

    monkeypatch.setattr("pyopencl_gbdt.training.running_task.Fit", InPages)
    task = prepare({"n_estimators": 3, "max_depth": 4, **params}, data, (), None, None)
    opened = [open_device(name) for name in names]
    with together.leading(opened, task, bounds) as fit:
        for _ in range(3):
            fit.step()
        return to_json(fit.model().ensemble), fit.fit.variants()["page"]


#: Ways of ranking that depend on all queries: drawn rows, sums over positions, precision.
RANKINGS = {
    "drawn": {"lambdarank_pair_method": "mean", "lambdarank_num_pair_per_sample": 3},
    "by clicks": {"lambdarank_unbiased": True},
    "by precision": {"objective": "rank:map"},
}


@pytest.mark.parametrize("way", RANKINGS)
def test_ranking_by_queries_of_unequal_length(way):
    params = {"objective": "rank:ndcg", **RANKINGS[way]}
    label = "two classes" if way == "by precision" else "grades"
    check(params, label, weights=[3, 1, 2], names=[TEST_DEVICE] * 3, group=[300, 1, 99, 50, 250])


def test_losses_of_the_users_own():
    """A function sees all rows, whatever the number of devices."""
    seen = []

    def centred(margin, data):
        seen.append((margin.size, data.n_rows))
        return (margin - margin.mean()) - data.label, np.ones_like(margin)

    check({"objective": centred}, "number")
    check({"objective": centred, "page": "streamed"}, "number")
    check({"objective": KernelObjective("g = margin - label; h = 1.0f;")}, "number")
    assert set(seen) == {(N, N)}


def test_nearly_exact_quantiles():
    check({"max_bin": 16, "max_bin_exact": False}, "number", weight=WEIGHT)


def aborts(names):
    """Tell whether a driver may end the process: PoCL 5, in a process that pytest-xdist started.

    With two queues of one device, PoCL 5.0 aborted there, as it counted a kernel's users wrongly
    (``pocl_release_dlhandle_cache: ref_count > 0``). PoCL 3.0 runs them.
    """
    first = find(names[0]).caps
    version = int(re.match(r"\d+", first.driver)[0]) if first.platform == POCL else 0
    return version >= 5 and len(set(names)) == 1 and "PYTEST_XDIST_WORKER" in os.environ


def with_marks(names):
    """Mark a team with Intel's runtime, whose tests run by themselves."""
    is_intel = any(d.device_id in names and d.caps.platform.startswith("Intel") for d in _HERE)
    return pytest.param(names, marks=[pytest.mark.intel(vectorised=True)] * is_intel)


@pytest.mark.parametrize("names", map(with_marks, TEAMS), ids=str)
def test_devices_of_any_kind(names):
    """Two queues of a device, and devices of different makers."""
    if aborts(names):
        pytest.skip("PoCL 5 aborts in processes of pytest-xdist with two queues: use -n0")
    check({"subsample": 0.7}, "two classes", weight=WEIGHT, names=names)
    check({"objective": "reg:absoluteerror", "max_leaves": 6, "grow_policy": "lossguide"}, "number",
          names=names)  # fmt: skip


@pytest.mark.few(1)
@pytest.mark.parametrize("loss", ["binary:logistic", "reg:absoluteerror"])
def test_exact_search(monkeypatch, loss):
    """By a bin for every distinct value, as long as there are bins enough."""
    label, more = LOSSES[loss]
    params = {"objective": loss, "tree_method": "exact", **more}
    check(params, label, weights=[3, 1, 1], names=[TEST_DEVICE] * 3)
    monkeypatch.setattr(split_search, "MOST_BINS", 100)
    with pytest.raises(ParameterError, match=r"^tree_method='exact': column 0, .* has 100 dist"):
        train({**params, "device": listed(TWO)}, rows_of(label))


@pytest.mark.parametrize("page", ["dense", "streamed"])
def test_unequal_parts_in_pages_and_a_part_without_rows(monkeypatch, page):
    params, data = {"subsample": 0.6}, rows_of("number")
    wanted = text(params, data, TEST_DEVICE)
    bounds = [(0, 500), (500, 500), (500, N)] if page == "dense" else [(0, 500), (500, N)]
    names = [TEST_DEVICE] * len(bounds)
    found = in_pages(monkeypatch, names, {**params, "page": page}, data, bounds, 2)
    assert found == (wanted, page)


def test_all_members_stream_if_one_has_to(monkeypatch):
    """Its device is too small for its rows; a second fit has the layout of the first."""
    params, data = {"max_bin": 16, "max_depth": 4}, rows_of("number")
    wanted = train({**params, "device": TEST_DEVICE}, data, 3, evals=[(data, "train")])
    original = placement.fits
    monkeypatch.setattr(
        placement, "fits", lambda parts, build: parts.rows.team.rank == 0 and original(parts, build)
    )
    for _ in range(2):
        model = train({**params, "device": listed(TWO)}, data, 3, evals=[(data, "train")])
        assert model.variants["page"] == "streamed"
        assert to_json(model.ensemble) == to_json(wanted.ensemble)
        assert model.history == wanted.history


def test_fewer_rows_than_devices():
    """Devices without rows are left out."""
    rows = Dataset([[0.0], [1.0]], [0.0, 1.0])
    params = {"min_child_weight": 0}
    model = train({**params, "device": listed([TEST_DEVICE] * 5)}, rows, 2)
    assert to_json(model.ensemble) == to_json(
        train({**params, "device": TEST_DEVICE}, rows, 2).ensemble
    )
    assert model.variants["devices"].count("50 %") == 2


def test_members_run_the_list_of_one_device(monkeypatch):
    """And sums over the team, nothing else."""
    monkeypatch.setenv("PYOPENCL_GBDT_LAST_GROUP", "off")  # only one device alone joins launches
    lists = {}

    class Listed(Fit):
        def __init__(self, *given, **named):
            super().__init__(*given, **named)
            rank = self.parts.rows.team.rank if self.parts.rows.team.size > 1 else "alone"
            lists[rank] = list(chain.from_iterable(self.kernels.batches(joined=False)))

    monkeypatch.setattr("pyopencl_gbdt.training.running_task.Fit", Listed)
    with using({"whole_trees": Choice("steps", {"wg_size": 1})}):  # as a team grows its trees
        check({"subsample": 0.5, "sampling_method": "gradient_based"}, "number")
    kernels = {
        who: [action.name for action in its if not isinstance(action, (TeamReduce, EarlyCopy))]
        for who, its in lists.items()
    }
    assert kernels[0] == kernels[1] == kernels["alone"]
    sums = [action for action in lists[0] if isinstance(action, TeamReduce)]
    levels = 4
    # classes of sampling, exponents and root sums; histograms of each level
    assert len(sums) == 3 + levels
    assert not any(isinstance(action, TeamReduce) for action in lists["alone"])


@pytest.mark.parametrize("rank", [0, 1])
def test_a_failing_member_fails_the_team(monkeypatch, rank):
    original, calls = Fit.step, []

    def failing(self, pace):
        calls.append(self.parts.rows.team.rank)
        if self.parts.rows.team.rank == rank and calls.count(rank) > 3:
            raise DeviceError("the card is gone")
        return original(self, pace)

    monkeypatch.setattr(Fit, "step", failing)
    before = threading.enumerate()
    with pytest.raises(DeviceError, match=r"^the card is gone$"):
        train({"device": listed(TWO)}, rows_of("number"), 50)
    left = [thread.name for thread in threading.enumerate() if thread not in before]
    # those that build programs, and those that check arrays, are the process's
    assert [name for name in left if not name.startswith(OF_PROCESS)] == []


def test_members_that_disagree_are_noticed(monkeypatch):
    original = GrownTrees.read

    def read(self, at, leaf_rates):
        return original(self, at[: -1 if self._parts.rows.team.rank == 1 else None], leaf_rates)

    monkeypatch.setattr(GrownTrees, "read", read)
    with pytest.raises(DeviceError, match="grew different trees from the same sums"):
        train({"device": listed(TWO)}, rows_of("number"), 2)


@pytest.mark.parametrize("piece", [team_sums.PIECE_BYTES, 32])
def test_sums_of_a_team(rng, monkeypatch, piece):
    """Of a window, of other integers than the array's, and of numbers; whole and in pieces."""
    monkeypatch.setattr(team_sums, "PIECE_BYTES", piece)
    if piece == 32:
        monkeypatch.setattr(team_threads, "_WHOLE_BYTES", 0)
    device = open_device(TEST_DEVICE)
    values = rng.integers(-(2**62), 2**62, (3, 5, 2))
    pairs = rng.integers(0, 2**32, (3, 6), dtype=np.uint32)

    def work(member):
        rows, words = device.upload(values[member.rank]), device.upload(pairs[member.rank])
        for action in member.sum(rows, lambda: slice(1, 3)) + member.sum(words, dtype=np.uint64):
            action()
        return rows.get(), words.get(), member.least(TreesAtATime, 7 - member.rank)

    found = at_once(work, threads(3))
    with np.errstate(over="ignore"):
        wanted_rows = values[:, 1:3].sum(axis=0)
        wanted_words = pairs.view(np.uint64).sum(axis=0).view(np.uint32)
    for rank, (rows, words, least) in enumerate(found):
        np.testing.assert_array_equal(rows[1:3], wanted_rows)
        np.testing.assert_array_equal(rows[[0, 3, 4]], values[rank][[0, 3, 4]])
        np.testing.assert_array_equal(words, wanted_words)
        assert least == 5


def test_sums_by_nccl(monkeypatch):
    """The pointer, the number of elements and their type, as NCCL takes them."""
    calls = []
    fake = types.SimpleNamespace(NCCL_INT64=4, NCCL_SUM=0, NcclError=RuntimeError)
    fake.NcclCommunicator = types.SimpleNamespace(initAll=lambda numbers: [f"of {numbers}"] * 2)
    cuda = types.SimpleNamespace(nccl=fake)
    monkeypatch.setitem(sys.modules, "cupy", types.SimpleNamespace(cuda=cuda))
    monkeypatch.setitem(sys.modules, "cupy.cuda", cuda)
    caps = types.SimpleNamespace(api="cuda", label="a card", device_id="cuda:3")
    other = types.SimpleNamespace(caps=types.SimpleNamespace(api="cuda", device_id="cuda:1"))
    device = types.SimpleNamespace(caps=caps, cuda=contextlib.nullcontext())
    device.stream = types.SimpleNamespace(ptr=77)
    assert communicators([device, other]) == ["of [3, 1]"] * 2
    assert communicators([device, other]) == []  # one team has them
    release(["some"])
    assert communicators([device, device]) == []
    place = types.SimpleNamespace(data=types.SimpleNamespace(ptr=1000))
    array = base.DeviceArray(device, (5, 2), np.int64, place)
    comm = types.SimpleNamespace(allReduce=lambda *given: calls.append(given))
    member = threads(2)[0]
    member.meeting.communicators = [comm, None]
    (action,) = member.sum(array, lambda: slice(1, 4))
    action()
    assert calls == [(1016, 1016, 6, 4, 0, 77)]
    comm.allReduce = lambda *given: (_ for _ in ()).throw(RuntimeError("unhandled"))
    with pytest.raises(DeviceError, match=r"^a card: NCCL failed: unhandled; .*NCCL=off"):
        action()


@pytest.fixture
def rng():
    return np.random.default_rng(2)
