"""Pages: data in several pages of codes give the model that they give in one."""

import os
from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import find, open_device
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.pages.page import page_bounds
from pyopencl_gbdt.pages.quantize import Quantizer
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training import fit as fit_module
from tests.conftest import TEST_DEVICE
from tests.layouts.rows import LABELS, N, X


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
        fit = fit_module.Fit(device, params, objective, data, 0.5)
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
