"""Pages that bring the columns alone that trees draw give the model of those that bring all."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.switches import LEVEL_COLUMNS, SENT_COLUMNS
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.fit import page_schedule
from pyopencl_gbdt.fit.columns_in_turn import ColumnsTogether, ColumnStream, places_of, runs_of
from pyopencl_gbdt.model import to_json
from pyopencl_gbdt.training import fit as fit_module
from tests.conftest import TEST_DEVICE

N, FEATURES, DRAWN, PAGES = 1201, 40, 4, 5
RNG = np.random.default_rng(5)
X = RNG.standard_normal((N, FEATURES)).astype(np.float32)
X[RNG.random(X.shape) < 0.1] = np.nan
SIGNAL = np.nan_to_num(X[:, 0] * X[:, 1] + X[:, 2:12].sum(axis=1)).astype(np.float32)
WEIGHTS = RNG.random(FEATURES).astype(np.float32) + 0.1
PARAMS = {
    "colsample_bytree": DRAWN / FEATURES, "max_depth": 3, "max_bin": 16, "n_estimators": 3,
    "device": TEST_DEVICE,
}  # fmt: skip
LEAF_WISE = {"grow_policy": "lossguide", "max_leaves": 7}
CLASSES = {"objective": "multi:softprob", "num_class": 4}
#: Parameters, and labels.
WAYS = {
    "levels": ({}, SIGNAL),
    "leaves": (LEAF_WISE, SIGNAL),
    "classes": (CLASSES, np.digitize(SIGNAL, [-3, 0, 3])),  # some draw the same columns
    "rows": ({"subsample": 0.5, "max_bin": 256}, SIGNAL),
    "nodes": ({"colsample_bytree": 0.3, "colsample_bylevel": 0.7, "colsample_bynode": 0.7}, SIGNAL),
    "drawn_levels": ({"colsample_bytree": 0.8, "colsample_bylevel": 0.1}, SIGNAL),
    "quantiles": ({"objective": "reg:absoluteerror"}, SIGNAL),
    "outliers": ({}, SIGNAL * np.where(np.arange(N) % 100, 1, 1e6).astype(np.float32)),
}
#: Kernels of the device, and those of GPUs.
KERNELS = ["", "gpu"]
THOROUGH = {
    "test_models_are_those_of_resident_codes": lambda kernels, way: (
        way in {"leaves", "nodes", "quantiles", "drawn_levels"} and kernels == ""
    )
}


@pytest.fixture(autouse=True)
def kernels(request, monkeypatch):
    """Let a CPU copy pages to slots, as a device with memory of its own does."""
    monkeypatch.setattr(page_schedule, "works_in_place", lambda device: False)
    if getattr(request, "param", ""):
        monkeypatch.setenv("PYOPENCL_GBDT_PRETEND", request.param)


def rows(label=SIGNAL):
    return Dataset(X, label, feature_weights=WEIGHTS)


def streamed(monkeypatch, params, data, n_slots=2):
    """Train in pages; return the model's text, its variants, and what moved the pages."""
    fits = []

    class InTurn(fit_module.Fit):
        def __init__(self, *given, **named):
            super().__init__(*given, **named, n_pages=PAGES, n_slots=n_slots)
            fits.append(self)

    with monkeypatch.context() as own:
        own.setattr("pyopencl_gbdt.training.running_task.Fit", InTurn)
        model = train({**PARAMS, "page": "streamed", **params}, data)
    assert model.variants["page"] == "streamed"
    return to_json(model.ensemble), model.variants, fits[0].parts.rows.stream


@pytest.mark.few(4)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kernels", KERNELS, indirect=True)
def test_models_are_those_of_resident_codes(monkeypatch, way):
    params, label = WAYS[way]
    monkeypatch.setenv(LEVEL_COLUMNS, "on")
    whole = to_json(train({**PARAMS, **params}, rows(label)).ensemble)
    for word in ("runs", "together", "off"):
        monkeypatch.setenv(SENT_COLUMNS, word)
        text, variants, stream = streamed(monkeypatch, params, rows(label))
        assert text == whole, word
        assert isinstance(stream, ColumnStream) == (word != "off")
        assert ("gather_columns" in variants) == (word != "off")


@pytest.mark.parametrize("kernels", ["gpu"], indirect=True)
def test_bytes_shrink_with_the_columns_drawn(monkeypatch):
    """Where all pages lie on the device, a tree brings its columns once; else once a pass."""
    sent = {}
    monkeypatch.setenv(SENT_COLUMNS, "on")
    for n_drawn in (DRAWN, 2 * DRAWN):
        for n_slots in (PAGES, 2):
            share = {"colsample_bytree": n_drawn / FEATURES}
            _, _, stream = streamed(monkeypatch, share, rows(), n_slots)
            sent[n_drawn, n_slots] = stream.transfers.n_in
            # 4 passes a tree, which begin with two pages that lie there; the last one has no sums
            loads = 3 * PAGES + (0 if n_slots == PAGES else (3 * 3 - 1) * (PAGES - 2))
            assert stream.n_loads == loads
    assert sent[2 * DRAWN, PAGES] - sent[DRAWN, PAGES] == 3 * DRAWN * N
    assert sent[2 * DRAWN, 2] - sent[DRAWN, 2] <= DRAWN * (N // PAGES + 1) * loads
    monkeypatch.setenv(SENT_COLUMNS, "off")
    _, _, stream = streamed(monkeypatch, {}, rows(), 2)
    assert 2 * sent[DRAWN, 2] < stream.transfers.n_in


@pytest.mark.parametrize("kernels", ["gpu"], indirect=True)
def test_which_pages_bring_drawn_columns_by_themselves(monkeypatch):
    """Those that come in every pass, and threads put their columns together."""
    _, _, stream = streamed(monkeypatch, {}, rows(), 2)
    assert isinstance(stream._loads, ColumnsTogether)
    monkeypatch.setenv(SENT_COLUMNS, "on")
    _, _, stream = streamed(monkeypatch, {}, rows(), PAGES)
    assert isinstance(stream, ColumnStream)
    assert not isinstance(stream._loads, ColumnsTogether)
    monkeypatch.delenv(SENT_COLUMNS)
    _, _, stream = streamed(monkeypatch, {}, rows(), PAGES)
    assert not isinstance(stream, ColumnStream)


OTHERS = {
    "wide codes": {"max_bin": 400},
    "disk": {"cache_dir": ""},
    "many columns": {"colsample_bytree": 0.3},
    "few rows": {"subsample": 0.05, "max_depth": 8},
    "classes": CLASSES | {"colsample_bytree": 0.1},
    "forced": {"forced_splits": {"feature": 0, "threshold": 0.1}},
}


@pytest.mark.few(2)
@pytest.mark.parametrize("other", OTHERS)
def test_fits_whose_pages_bring_all_columns(monkeypatch, tmp_path, other):
    params = dict(OTHERS[other])
    if "cache_dir" in params:
        params["cache_dir"] = tmp_path
    label = WAYS["classes"][1] if other == "classes" else SIGNAL
    _, _, stream = streamed(monkeypatch, {"n_estimators": 1, **params}, rows(label))
    assert not isinstance(stream, ColumnStream)


def test_a_device_that_works_in_the_hosts_memory_copies_nothing(monkeypatch):
    if not open_device(TEST_DEVICE).borrows:
        pytest.skip("it has memory of its own")
    monkeypatch.undo()
    monkeypatch.setattr(page_schedule, "works_in_place", lambda device: device.borrows)
    monkeypatch.setenv(SENT_COLUMNS, "on")
    _, _, stream = streamed(monkeypatch, {"n_estimators": 1}, rows())
    assert not isinstance(stream, ColumnStream)


def test_words_of_the_environment(monkeypatch):
    monkeypatch.setenv(SENT_COLUMNS, "yes")
    with pytest.raises(ParameterError, match="expected 'on', 'runs', 'together', 'off' or 'auto'"):
        streamed(monkeypatch, {}, rows())


def test_places_and_runs_of_columns():
    columns = np.array([2, 3, 7], np.uint32)
    assert runs_of(columns) == [(2, 4), (7, 8)]
    digits = places_of(columns, 9)
    codes = np.arange(256, dtype=np.uint32)
    for place, feature in enumerate(columns.tolist()):
        assert digits[feature, 0] == place
        part = digits[feature, 1]
        own = (codes * (part & 0xFFFF) & 0xFFFF) * (part >> 16) >> 16  # as kernels do
        np.testing.assert_array_equal(own, codes)
