"""Teams: devices that share the rows grow the trees that one device grows alone."""

from __future__ import annotations

import threading
from itertools import combinations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from pyopencl_gbdt import Dataset, devices
from pyopencl_gbdt.device import DeviceArray, open_device
from pyopencl_gbdt.device.team import Reduce, threads
from pyopencl_gbdt.errors import DeviceError, ParameterError
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training import together
from pyopencl_gbdt.training.booster import Boosting
from pyopencl_gbdt.training.together import train_together

from .conftest import TEST_DEVICE
from .test_pages import GROWTH, LABELS, LOSSES, ORDER, WEIGHT, X

#: Every device that is here: the kinds and makers of a team may differ.
_HERE = [d for d in devices() if not d.problem]
REAL = [d.device_id for d in _HERE if not d.caps.is_simulator]
ALL = [d.device_id for d in _HERE]
#: Oclgrind is once in a team: two fits in two threads of a process disturb each other there.
TEAMS = [*([name] * 2 for name in REAL), *map(list, combinations(ALL, 2))]
#: Oclgrind takes seconds.
THOROUGH = {"test_devices_of_any_kind": lambda names: not set(names) <= set(REAL)}
#: Losses whose gradients look at several rows.
ACROSS_ROWS = {"survival:cox", "rank:ndcg"}


def alone(params, data):
    objective = get_objective(params.objective, params)
    return Boosting(open_device(TEST_DEVICE), params, objective, data, 0.5).run(3)


def in_team(names, params, data, **options):
    objective = get_objective(params.objective, params)
    team = [open_device(name) for name in names]
    return train_together(team, params, objective, data, 0.5, **options)


def check(params, label, *, weight=None, names=(TEST_DEVICE, TEST_DEVICE), **options):
    params = Parameters.from_dict({"n_estimators": 3, "max_depth": 4, **params})
    data = Dataset(X[ORDER], LABELS[label][ORDER], weight)
    wanted = alone(params, data)
    assert in_team(names, params, data, **options) == wanted


@pytest.mark.parametrize("loss", sorted(LOSSES.keys() - ACROSS_ROWS))
def test_every_loss_of_single_rows(loss):
    label, more = LOSSES[loss]
    check({"objective": loss.split()[0], **more}, label, weight=WEIGHT)


@pytest.mark.parametrize("growth", GROWTH)
def test_every_way_of_growing(growth):
    check({"max_bin": 32, **GROWTH[growth]}, "number")


@pytest.mark.parametrize("names", TEAMS, ids=str)
def test_devices_of_any_kind(names):
    """Two queues of a device, and devices of different makers."""
    check({"subsample": 0.7}, "two classes", weight=WEIGHT, names=names)
    check({"objective": "reg:absoluteerror", "max_leaves": 6, "grow_policy": "lossguide"}, "number",
          names=names)  # fmt: skip


def test_exact_search_and_sparse_data_are_refused():
    """One device has to hold all sorted columns."""
    exact, plain = Parameters.from_dict({"tree_method": "exact"}), Parameters.from_dict({})
    dense = Dataset(X, LABELS["number"])
    sparse = Dataset(csr_matrix(np.nan_to_num(X)), LABELS["number"])
    for params, data, name in (
        (exact, dense, "tree_method='exact'"),
        (plain, sparse, "sparse data"),
    ):
        with pytest.raises(ParameterError, match=f"^{name}: expected dense data and tree_method"):
            in_team((TEST_DEVICE, TEST_DEVICE), params, data)


@pytest.mark.parametrize("method", ["auto", "statistics"])
def test_statistics_of_categories_are_refused(method):
    params = Parameters.from_dict({"cat_method": method})
    levels = np.column_stack([X[:, 0], np.arange(len(X)) % 20])
    data = Dataset(levels, LABELS["number"], categorical_features=[1])
    with pytest.raises(ParameterError, match=rf"^cat_method='{method}': .* cat_method='sets'"):
        in_team((TEST_DEVICE, TEST_DEVICE), params, data)


@pytest.mark.intel
@pytest.mark.parametrize("loss", ["binary:logistic", "multi:softprob", "reg:quantileerror"])
def test_pocl_and_intel(loss):
    there = [d.device_id for d in _HERE if d.caps.platform.startswith("Intel")]
    if not there:
        pytest.skip("Intel's CPU runtime is not installed: pip install 'pyopencl_gbdt[intel-cpu]'")
    intel = there[0]
    label, more = LOSSES[loss]
    check({"objective": loss, **more}, label, weight=WEIGHT, names=["portable computing", intel])
    check({"objective": loss, **more}, label, names=[intel, intel])


@pytest.mark.parametrize("size", [1, 3])
def test_teams_of_any_size_with_pages(size):
    check({"subsample": 0.6}, "number", names=[TEST_DEVICE] * size, n_pages=2)


def test_quanta_of_more_than_32_bits(monkeypatch):
    """All members train again when one tree needs high words."""
    label = LABELS["number"].copy()
    label[::100] *= 1e6
    monkeypatch.setitem(LABELS, "outliers", label)
    check({}, "outliers")


def test_members_run_the_list_of_one_device(monkeypatch):
    """And sums over the team, nothing else."""
    lists = {}

    class Listed(Boosting):
        def __init__(self, *given, **named):
            super().__init__(*given, **named)
            rank = self.ws.team.rank if self.ws.team.size > 1 else "alone"
            lists[rank] = [action for batch in self._batches for action in batch]

    monkeypatch.setattr(together, "Boosting", Listed)
    monkeypatch.setitem(globals(), "Boosting", Listed)
    check({"subsample": 0.5, "sampling_method": "gradient_based"}, "number")
    kernels = {
        who: [action.name for action in its if not isinstance(action, Reduce)]
        for who, its in lists.items()
    }
    assert kernels[0] == kernels[1] == kernels["alone"]
    sums = [action for action in lists[0] if isinstance(action, Reduce)]
    levels = 4
    # classes of sampling, exponents and root sums; histograms of each level; rows of children
    assert len(sums) == 3 + levels + (levels - 1)
    assert not any(isinstance(action, Reduce) for action in lists["alone"])


@pytest.mark.parametrize("loss", sorted(ACROSS_ROWS))
def test_losses_that_look_at_several_rows_are_refused(loss):
    label, more = LOSSES[loss]
    params = Parameters.from_dict({"objective": loss, **more})
    group = np.full(70, 10) if loss.startswith("rank") else None
    data = Dataset(X, LABELS[label], group=group)
    with pytest.raises(ParameterError, match=rf"objective={loss}: expected .* train on one device"):
        in_team([TEST_DEVICE] * 2, params, data)


def test_a_failing_member_fails_the_team(monkeypatch):
    original, calls = DeviceArray.set, []

    def failing(self, *given):
        calls.append(threading.current_thread())
        if threading.current_thread() is not threading.main_thread() and len(calls) > 60:
            raise DeviceError("the card is gone")
        return original(self, *given)

    monkeypatch.setattr(DeviceArray, "set", failing)
    params = Parameters.from_dict({"n_estimators": 50})
    before = threading.active_count()
    with pytest.raises(DeviceError, match=r"the card is gone|another device of the team failed"):
        in_team([TEST_DEVICE] * 2, params, Dataset(X, LABELS["number"]))
    assert threading.active_count() <= before


def test_members_that_disagree_are_noticed(monkeypatch):
    original = Boosting.run

    def run(self, *given):
        trees = original(self, *given)
        return trees[:-1] if self.ws.team.rank == 1 else trees

    monkeypatch.setattr(Boosting, "run", run)
    params = Parameters.from_dict({"n_estimators": 2})
    with pytest.raises(DeviceError, match="grew different trees from the same sums"):
        in_team([TEST_DEVICE] * 2, params, Dataset(X, LABELS["number"]))


def test_sums_of_a_team(rng):
    """Of a window, of other integers than the array's, and of numbers."""
    device = open_device(TEST_DEVICE)
    members = threads(3)
    values = rng.integers(-(2**62), 2**62, (3, 5, 2))
    pairs = rng.integers(0, 2**32, (3, 6), dtype=np.uint32)
    found = [None] * 3

    def work(member):
        rows, words = device.upload(values[member.rank]), device.upload(pairs[member.rank])
        for action in member.sum(rows, lambda: slice(1, 3)) + member.sum(words, dtype=np.uint64):
            action()
        found[member.rank] = rows.get(), words.get(), member.least(7 - member.rank)

    running = [threading.Thread(target=work, args=(member,)) for member in members]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    with np.errstate(over="ignore"):
        wanted_rows = values[:, 1:3].sum(axis=0)
        wanted_words = pairs.view(np.uint64).sum(axis=0).view(np.uint32)
    for rank, (rows, words, least) in enumerate(found):
        np.testing.assert_array_equal(rows[1:3], wanted_rows)
        np.testing.assert_array_equal(rows[[0, 3, 4]], values[rank][[0, 3, 4]])
        np.testing.assert_array_equal(words, wanted_words)
        assert least == 5


@pytest.fixture
def rng():
    return np.random.default_rng(2)
