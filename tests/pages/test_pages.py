"""Pages: data in several pages of codes give the model that they give in one."""

from __future__ import annotations

import json
import os
from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import find, open_device
from pyopencl_gbdt.model import to_json
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.pages.page import page_bounds
from pyopencl_gbdt.pages.quantize import Quantizer
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training import booster
from tests.conftest import TEST_DEVICE

N = 700
RNG = np.random.default_rng(3)
X = RNG.normal(size=(N, 5)).astype(np.float32)
X[RNG.random((N, 5)) < 0.1] = np.nan
X[:, 3] = RNG.integers(0, 3, N)
SIGNAL = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) * X[:, 3] + RNG.normal(0, 0.3, N)
#: The same rows first in every page but the first have no node to share with it.
ORDER = np.argsort(SIGNAL)
WEIGHT = RNG.random(N).astype(np.float32)
LABELS = {
    "number": SIGNAL.astype(np.float32),
    "two classes": (SIGNAL > 0).astype(np.float32),
    "classes": np.digitize(SIGNAL, [-1, 1]).astype(np.float32),
    "count": np.floor(np.exp(np.clip(SIGNAL, -2, 2))).astype(np.float32),
    "times": (np.exp(np.clip(SIGNAL, -2, 2)) * RNG.choice([-1, 1], N)).astype(np.float32),
    "grades": np.digitize(SIGNAL, [-1, 0, 1]).astype(np.float32),
    "two targets": np.stack([SIGNAL, -(SIGNAL**2)], axis=1).astype(np.float32),
}
#: A loss of every family: its label, and what the data set needs besides.
LOSSES = {
    "reg:squarederror": ("number", {}),
    "binary:logistic": ("two classes", {}),
    "multi:softprob": ("classes", {"num_class": 3}),
    "count:poisson": ("count", {}),
    "reg:absoluteerror": ("number", {}),
    "reg:quantileerror": ("number", {"quantile_alpha": [0.2, 0.9]}),
    "survival:cox": ("times", {}),
    "rank:ndcg": ("grades", {}),
    "reg:squarederror of two targets": ("two targets", {}),
}
GROWTH = {
    "level by level": {},
    "few leaves": {"max_leaves": 7},
    "leaf by leaf": {"grow_policy": "lossguide", "max_leaves": 9, "max_depth": 0},
    "symmetric": {"grow_policy": "symmetric", "min_child_weight": 9},
    "half of the rows": {"subsample": 0.5},
    "rows by gradient": {"subsample": 0.5, "sampling_method": "gradient_based"},
    "goss": {"sampling_method": "goss"},
    "a forest": {"num_parallel_tree": 3, "subsample": 0.7, "colsample_bynode": 0.6},
    "columns": {"colsample_bytree": 0.7, "colsample_bylevel": 0.7, "colsample_bynode": 0.7},
    "monotone": {"monotone_constraints": [1, 0, 0, -1, 0]},
    "any codes": {"histogram": "bin_range_passes"},
    "many bins": {"max_bin": 400},
}


def model_of(monkeypatch, n_pages, data, params):
    """Train in so many pages; return the model file and the pages' sizes."""
    sizes = []

    class InPages(booster.Booster):
        def __init__(self, *given, **named):
            super().__init__(*given, **named, n_pages=n_pages)
            sizes.extend(page.n_rows for page in self.parts.rows.pages)

    monkeypatch.setattr("pyopencl_gbdt.training.fitting.Booster", InPages)
    model = train({"n_estimators": 2, "max_depth": 4, "device": TEST_DEVICE, **params}, data)
    assert len(sizes) == n_pages
    return to_json(model.ensemble)


def check(monkeypatch, params, label, *, weight=None, group=None):
    make = lambda: Dataset(X[ORDER], LABELS[label][ORDER], weight, group=group)  # noqa: E731
    whole = model_of(monkeypatch, 1, make(), params)
    for n_pages in (3, 7):
        assert model_of(monkeypatch, n_pages, make(), params) == whole, n_pages


@pytest.mark.few(6)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
@pytest.mark.parametrize("loss", LOSSES)
def test_every_family_of_losses(monkeypatch, loss, weighted):
    label, more = LOSSES[loss]
    ranks = loss.startswith("rank")
    weight = None if not weighted else WEIGHT[:70] if ranks else WEIGHT
    group = np.full(70, 10) if ranks else None
    params = {"objective": loss.split()[0], **more}
    check(monkeypatch, params, label, weight=weight, group=group)


@pytest.mark.parametrize("growth", GROWTH)
def test_every_way_of_growing(monkeypatch, growth):
    check(monkeypatch, {"max_bin": 32, **GROWTH[growth]}, "number")


#: Ways to train on categories; six rounds are enough for combinations.
CATEGORIES = {
    "statistics": {"cat_method": "statistics", "n_estimators": 6},
    "symmetric": {"grow_policy": "symmetric", "n_estimators": 6},
}


def rows_with_categories():
    """Two columns of levels that matter together, beside numbers."""
    values, rng = X[ORDER].copy(), np.random.default_rng(8)
    values[:, 2], values[:, 4] = rng.integers(0, 4, N), rng.integers(0, 30, N)
    label = LABELS["number"][ORDER] + 2.0 * ((values[:, 2] + values[:, 4]) % 2)
    return Dataset(values, label.astype(np.float32), categorical_features=[2, 4])


def tables_in(text):
    return json.loads(text).get("statistics", {}).get("tables", [])


@pytest.mark.parametrize(
    "method",
    [*CATEGORIES, pytest.param("sets", marks=pytest.mark.thorough)],  # see test_category_splits
)
def test_every_way_to_train_on_categories(monkeypatch, method):
    params = CATEGORIES.get(method, {"cat_method": "sets"})
    whole = model_of(monkeypatch, 1, rows_with_categories(), params)
    combined = [table["keys"] is not None for table in tables_in(whole)]
    assert any(combined) == (method != "sets")
    for n_pages in (3, 7):
        found = model_of(monkeypatch, n_pages, rows_with_categories(), params)
        assert found == whole, n_pages


@pytest.mark.parametrize("loss", ["multi:softprob", "reg:absoluteerror"])
def test_losses_with_sampling_leaf_by_leaf(monkeypatch, loss):
    label, more = LOSSES[loss]
    growth = {**GROWTH["leaf by leaf"], "subsample": 0.6}
    check(monkeypatch, {"objective": loss, **more, **growth}, label, weight=WEIGHT)


def test_quanta_of_more_than_32_bits(monkeypatch):
    label = LABELS["number"].copy()
    label[::100] *= 1e6
    monkeypatch.setitem(LABELS, "outliers", label)
    check(monkeypatch, {}, "outliers")


def test_bounds_of_pages():
    assert page_bounds(10, 16, 1 << 20) == [(0, 10)]
    assert page_bounds(10, 16, 4 * 16) == [(0, 3), (3, 3), (6, 4)]
    assert page_bounds(10, 32, 4 * 32) == [(0, 3), (3, 3), (6, 4)]
    assert page_bounds(3, 16, 1 << 20, n_pages=7) == [(0, 1), (1, 1), (2, 1)]
    assert page_bounds(5, 16, 8) == [(i, 1) for i in range(5)]


@pytest.mark.parametrize("piece_rows", [64, 200, N])
def test_codes_in_pages_are_those_of_one_page(piece_rows):
    """Whatever pieces the values come in: a piece may have rows of several pages."""
    device = open_device(TEST_DEVICE)
    found = []
    for n_pages in (1, 7):
        quantizer = Quantizer(device, X, None, 16, n_pages)
        quantizer.plan = replace(quantizer.plan, piece_rows=piece_rows)
        made = quantizer.run()
        packed = [page.codes for page in made.pages]
        assert len(packed) == n_pages
        found.append([
            np.concatenate([codes.codes.get() for codes in packed], axis=1),
            np.concatenate([codes.by_feature.get() for codes in packed], axis=1),
        ])  # fmt: skip
    for one, several in zip(*found, strict=True):
        np.testing.assert_array_equal(one, several)


def test_codes_beyond_one_allocation_come_in_pages(monkeypatch):
    """A device that allocates less than all codes at a time trains all the same."""
    data = Dataset(np.tile(X, (60, 3)), np.tile(LABELS["number"], 60))
    params = Parameters.from_dict({"n_estimators": 2, "max_depth": 3, "max_bin": 16})
    objective = get_objective(params.objective, params)
    models = []
    for limited in (False, True):
        device = open_device(TEST_DEVICE)
        if limited:
            device.caps = replace(device.caps, max_alloc_bytes=data.n_rows * 12)
        data.forget()
        fit = booster.Booster(device, params, objective, data, 0.5)
        models.append(fit.run(2))
        assert len(fit.parts.rows.pages) == (2 if limited else 1)
    assert models[0] == models[1]


@pytest.mark.gpu
@pytest.mark.thorough
def test_a_real_page_beyond_one_allocation():
    """On a GPU with memory for it: codes of more bytes than it allocates in one piece."""
    found = find(TEST_DEVICE)
    caps = found.caps
    if caps is None or caps.kind != "gpu":
        pytest.skip("needs a GPU")
    n_features = 448
    n_rows = caps.max_alloc_bytes // (2 * n_features) * 21 // 20
    if 5 * n_rows * n_features > caps.global_bytes:
        pytest.skip(f"{caps.name} has too little memory for codes of {caps.max_alloc_bytes} bytes")
    free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    if 5 * n_rows * n_features > free:
        pytest.skip(f"the host has too little memory for values of {4 * n_rows * n_features} bytes")
    tile = np.random.default_rng(0).normal(size=(1 << 16, n_features)).astype(np.float32)
    values = np.empty((n_rows, n_features), np.float32)
    for first in range(0, n_rows, 1 << 16):
        values[first : first + (1 << 16)] = tile[: n_rows - first]
    label = values[:, 0] + values[:, 1]
    params = {"n_estimators": 3, "max_depth": 4, "max_bin": 300, "device": TEST_DEVICE}
    fit = train(params, Dataset(values, label))
    few = slice(0, 1 << 16)
    error = np.sqrt(np.mean((fit.predict(values[few]) - label[few]) ** 2))
    assert error < 0.9 * np.sqrt(np.mean((label[few] - label[few].mean()) ** 2))
