"""Streamed training: pages that take turns on the device give the model of resident ones."""

import gc
import threading

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.team.threads import threads
from pyopencl_gbdt.errors import DataError, DeviceError, ParameterError
from pyopencl_gbdt.fit import page_schedule, rows_in_turn
from pyopencl_gbdt.fit.page_schedule import evenly
from pyopencl_gbdt.fit.share import Share
from pyopencl_gbdt.model import to_json
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.pages import disk_pages
from pyopencl_gbdt.pages.codecs import Plain
from pyopencl_gbdt.pages.cuts import make_layout
from pyopencl_gbdt.pages.page import page_bounds
from pyopencl_gbdt.pages.quantize import Quantizer
from pyopencl_gbdt.pages.stored import HostPages, encoded_pages
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training import fit as fit_module
from pyopencl_gbdt.training import running_task
from pyopencl_gbdt.training.memory_estimate import estimate_memory
from tests.conftest import TEST_DEVICE
from tests.layouts.rows import LABELS, ORDER, WEIGHT, N, X
from tests.teams import at_once


@pytest.fixture(autouse=True)
def copied(monkeypatch):
    """Let a CPU copy pages to slots, as a device with memory of its own does."""
    monkeypatch.setattr(page_schedule, "works_in_place", lambda device: False)


def model_of(monkeypatch, n_pages, data, params):
    """Train in so many pages, two of them on the device at a time; 0 trains with all of them."""
    fits = []

    class InTurn(fit_module.Fit):
        def __init__(self, *given, **named):
            super().__init__(*given, **named, n_pages=n_pages, n_slots=2)
            fits.append(self)

    monkeypatch.setattr("pyopencl_gbdt.training.running_task.Fit", InTurn)
    page = {"page": "streamed"} if n_pages else {}
    model = train(
        {"n_estimators": 2, "max_depth": 4, "device": TEST_DEVICE, **page, **params}, data
    )
    assert len(fits[0].parts.rows.pages) == max(1, n_pages)
    assert (model.variants["page"] == "streamed") == (n_pages > 0)
    return to_json(model.ensemble)


def check(monkeypatch, params, make, pages=(3,)):
    whole = model_of(monkeypatch, 0, make(), params)
    for n_pages in pages:
        assert model_of(monkeypatch, n_pages, make(), params) == whole, n_pages


def rows(label, weight=None):
    return lambda: Dataset(X[ORDER], LABELS[label][ORDER], weight)


@pytest.mark.parametrize("room", [0, 10])
def test_drawn_rows_are_gathered(monkeypatch, room):
    """Two passes over the codes a tree; more rows than there is room for begin again without."""
    given = {"subsample": 0.3, "max_depth": 5, "n_estimators": 3, "colsample_bynode": 0.6}
    whole = model_of(monkeypatch, 0, rows("number", WEIGHT)(), given)
    if room:
        monkeypatch.setattr(rows_in_turn, "room_for", lambda rate, n_rows: room)
    fits, build = [], fit_module.Fit._begin
    monkeypatch.setattr(fit_module.Fit, "_begin", lambda fit: fits.append(fit) or build(fit))
    assert model_of(monkeypatch, 6, rows("number", WEIGHT)(), given) == whole
    assert len(fits) == (2 if room else 1)
    parts = fits[0].parts
    assert (parts.rows.drawn is None) == bool(room)
    if not room:  # all 6 pages, then 4 in a pass; the last tree's margins are asked of nobody
        assert parts.rows.stream.n_loads == 6 + 4 * (2 * 3 - 2)


IN_PLACE = {
    "outliers": {"subsample": 0.5, "interaction_constraints": [[0, 1], [2, 3, 4]]},
    "quantiles": {"objective": "reg:quantileerror", "quantile_alpha": [0.3, 0.8]},
    "gathered": {"subsample": 0.3, "sampling_method": "gradient_based"},
}


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("case", "on_disk"),
    [
        ("outliers", False),
        ("gathered", True),
        ("quantiles", True),
        ("outliers", "mapped"),
        ("gathered", "mapped"),
        ("quantiles", "mapped"),
        pytest.param("outliers", True, marks=pytest.mark.thorough),
        pytest.param("quantiles", False, marks=pytest.mark.thorough),
    ],
)
def test_a_device_that_works_in_the_hosts_memory(monkeypatch, tmp_path, case, on_disk):
    """Arrays of rows stay; codes are read to slots, or stay too."""
    monkeypatch.setattr(page_schedule, "works_in_place", lambda device: device.borrows)
    label = LABELS["number"].copy()
    label[::100] *= 1e6 if case == "outliers" else 1
    monkeypatch.setitem(LABELS, case, label)
    whole = model_of(monkeypatch, 0, rows(case, WEIGHT)(), IN_PLACE[case])
    folder = {"cache_dir": tmp_path} if on_disk else {}
    if on_disk == "mapped":
        monkeypatch.setattr(
            disk_pages, "choose", lambda _layout, _order, page, **_: (Plain(), page)
        )
    own = IN_PLACE[case] | folder
    assert model_of(monkeypatch, 7, rows(case, WEIGHT)(), own) == whole
    assert list(tmp_path.iterdir()) == []


def test_metrics_of_the_rows_that_are_trained_on():
    """Pages bring the margins of the training rows to the host; other sets stay on the device."""
    found = []
    for page in ({}, {"page": "streamed"}):
        data, history = rows("two classes", WEIGHT)(), {}
        params = {"objective": "binary:logistic", "eval_metric": "logloss", "n_estimators": 3}
        evals = [(data, "train"), (Dataset(X, LABELS["two classes"]), "other")]
        train({**params, **page, "device": TEST_DEVICE}, data, evals=evals, evals_result=history)
        found.append(history)
    resident, streamed = found
    assert resident["other"] == streamed["other"]
    wanted = resident["train"]["logloss"]
    np.testing.assert_allclose(streamed["train"]["logloss"], wanted, rtol=1e-7)


def test_a_loss_of_the_users_own_and_bounds(monkeypatch):
    def squares(margins, data):
        return margins - data.label, np.ones_like(margins)

    check(monkeypatch, {"objective": squares}, rows("number"))
    kernel = {"objective": "kernel: g = margin - label; h = 1.0f;", "base_score": 0.0}
    check(monkeypatch, kernel, rows("number"))
    low = np.exp(np.clip(LABELS["number"], -2, 2)).astype(np.float32)
    bounds = {"label_lower_bound": low, "label_upper_bound": 2 * low}
    check(monkeypatch, {"objective": "survival:aft"}, lambda: Dataset(X, **bounds))


def test_data_beyond_the_memory_are_streamed_within_it(monkeypatch, asked):
    rng = np.random.default_rng(4)
    values = rng.normal(size=(20_000, 5)).astype(np.float32)
    data = Dataset(values, values[:, 0] + values[:, 1])
    params = {"n_estimators": 2, "max_depth": 4, "max_bin": 32, "device": TEST_DEVICE}
    whole = train(params, data)
    devices = []
    fit = running_task.Fit.__init__

    def begin(own, device, *args, **named):
        devices.append(device)
        fit(own, device, *args, **named)

    monkeypatch.setattr(running_task.Fit, "__init__", begin)
    limited = train({**params, "device_memory": "700KB"}, data)
    assert limited.variants["page"] == "streamed"
    assert devices[0].peak_bytes <= 700_000
    fresh = open_device(TEST_DEVICE)
    fresh.caps = devices[0].caps
    estimate = estimate_memory(fresh, Parameters.from_dict(params), *values.shape)
    assert list(estimate.allocations) == asked[devices[0]]
    assert devices[0].peak_bytes == estimate.peak_bytes
    assert estimate.host_bytes > estimate.training_bytes
    assert to_json(limited.ensemble) == to_json(whole.ensemble)


class Damaged(HostPages):
    """Pages outside memory, of which one cannot be read after some loads."""

    codes = None  # so they are loaded

    def load(self, index, into):
        self.left -= 1
        if self.left < 0:
            raise DataError("page 2 ends early; quantise the data again")
        into[...] = self._pages[index]


def test_pages_that_are_loaded_and_one_that_cannot_be_read():
    device = open_device(TEST_DEVICE)
    quantizer = Quantizer(device, X, None, 16)
    layout = make_layout(quantizer.cuts())
    made = encoded_pages(quantizer, layout, page_bounds(N, 16, N, 5))
    params = Parameters.from_dict({"max_depth": 3, "page": "streamed"})
    objective, data = get_objective(params.objective, params), Dataset(X, LABELS["number"])
    models = []
    before = device.allocated_bytes
    for pages, left in ((made, 0), (Damaged, 1000), (Damaged, 7)):
        stored = made
        if pages is Damaged:
            stored = Damaged(layout, made.bounds, made._pages)
            stored.left = left
        share = Share(codes=stored)
        fit = fit_module.Fit(device, params, objective, data, 0.5, share=share, n_slots=2)
        if left == 7:
            with pytest.raises(DataError, match="ends early"):
                fit.run(2)
        else:
            models.append(fit.run(2))
        fit.close()
        del fit, share
    gc.collect()  # the error's traceback is in a circle
    assert device.allocated_bytes == before
    assert models[0] == models[1]
    assert not any("ThreadPool" in thread.name for thread in threading.enumerate())


def test_devices_of_a_team_whose_pages_take_turns():
    params = Parameters.from_dict({"max_depth": 4, "subsample": 0.7})
    objective, label = get_objective(params.objective, params), LABELS["number"]
    alone = fit_module.Fit(open_device(TEST_DEVICE), params, objective, Dataset(X, label), 0.5)
    layout = make_layout(Quantizer(open_device(TEST_DEVICE), X, None, 256).cuts())

    def member(given):
        team, (first, end) = given
        device, own = open_device(TEST_DEVICE), slice(first, end)
        pages = encoded_pages(Quantizer(device, X[own], None, 256), layout, evenly(end - first, 3))
        data, share = Dataset(X[own], label[own]), Share(team, first, N, pages)
        fit = fit_module.Fit(device, params, objective, data, 0.5, share=share, n_slots=2)
        return fit.run(2), fit.finished_digest()

    parts = zip(threads(2), ((0, 300), (300, N)), strict=True)
    (trees, digest), (others, same) = at_once(member, parts)
    assert trees == alone.run(2)
    assert others == []  # other members keep none
    assert digest == same


SIZES = {"700KB": 700_000, "16GB": 16 * 10**9, "1.5 GiB": 3 << 29, "2000": 2000, 5e6: 5_000_000}


@pytest.mark.parametrize("given", SIZES)
def test_memory_has_units(given):
    assert Parameters.from_dict({"device_memory": given}).device_memory == SIZES[given]


@pytest.mark.parametrize("given", ["16 apples", "GB", "", 0, -1, "0"])
def test_memory_that_is_none_is_refused(given):
    with pytest.raises(ParameterError, match="device_memory="):
        Parameters.from_dict({"device_memory": given})


def test_the_environment_limits_memory(monkeypatch):
    caps = open_device(TEST_DEVICE).caps
    monkeypatch.setenv("PYOPENCL_GBDT_DEVICE_MEMORY", "1000000")
    limited = open_device(TEST_DEVICE).caps
    assert limited.global_bytes == limited.max_alloc_bytes == 1_000_000
    assert caps.global_bytes > 1_000_000
    monkeypatch.setenv("PYOPENCL_GBDT_DEVICE_MEMORY", "1 MB")
    with pytest.raises(DeviceError, match="number of bytes"):
        open_device(TEST_DEVICE)
