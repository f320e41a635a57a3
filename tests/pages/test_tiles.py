"""Tiled codes give the model that dense codes give, byte for byte, and take less memory."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import open_device, runnable
from pyopencl_gbdt.model import to_xgboost_json
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.pages import paged
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training import placement
from pyopencl_gbdt.training.fit import Fit
from tests.conftest import TEST_DEVICE
from tests.layouts.rows import LABELS, WEIGHT, X

#: The columns of the pages' tests with most of their values taken away, and one that is whole.
SPARSE = np.where(np.random.default_rng(8).random(X.shape) < 0.7, np.nan, X).astype(np.float32)
SPARSE[:, 2] = np.nan_to_num(X[:, 2])


def model_of(data, **params):
    model = train({"n_estimators": 3, "max_depth": 4, "device": TEST_DEVICE, **params}, data)
    assert model.variants["page"] == params["page"]
    return to_xgboost_json(model.ensemble)


def assert_same(data, **params):
    assert model_of(data, page="tiled", **params) == model_of(data, page="dense", **params)


@pytest.mark.parametrize("wg_size", [1, 64])
def test_variants_and_work_groups(wg_size):
    label = LABELS["number"].copy()
    label[7] = 1e9  # one gradient that needs its high word
    data, params = Dataset(SPARSE, label), {"work_group_size": wg_size, "max_depth": 5}
    want = model_of(data, page="dense", **params)
    for variant in runnable("tiled_histogram", open_device(TEST_DEVICE).caps):
        params["histogram"] = variant.name
        assert model_of(data, page="tiled", **params) == want, variant.name
    empty = np.full((300, 3), np.nan, np.float32)
    empty[:150, 1] = 1.0
    assert_same(Dataset(empty, label[:300]), work_group_size=wg_size, objective="reg:absoluteerror")


def test_a_data_set_keeps_its_tiles_for_the_next_fit():
    data = Dataset(SPARSE, LABELS["number"])
    first = model_of(data, page="tiled")
    kept = data.kept
    assert model_of(data, page="tiled") == first
    assert data.kept is kept


def test_large_data_that_are_mostly_missing_are_tiled(monkeypatch):
    """Present values and dense codes decide; a histogram variant by name is one of dense codes."""
    rng = np.random.default_rng(4)
    values = rng.normal(size=(20_000, 60)).astype(np.float32)
    values[rng.random(values.shape) < 0.85] = np.nan
    label = rng.normal(size=20_000).astype(np.float32)
    params = {"device": TEST_DEVICE, "n_estimators": 1, "max_depth": 2}
    assert train(params, Dataset(values, label)).variants["page"] == "dense"
    for module in (paged, placement):
        monkeypatch.setattr(module, "LEAST_DENSE_BYTES", 1 << 20)
    found = train(params, Dataset(values, label))
    assert found.variants["page"] == "tiled"
    named = {**params, "histogram": found.variants["histogram"]}
    assert train(named, Dataset(values, label)).variants["page"] == "dense"
    whole = Dataset(np.nan_to_num(values), label)
    assert train(params, whole).variants["page"] == "dense"


def test_tiles_take_less_memory():
    """Their codes, at least: about 2 bytes for each present value, and 4 for a row and tile."""
    rng = np.random.default_rng(4)
    values = rng.normal(size=(20_000, 60)).astype(np.float32)
    values[rng.random(values.shape) < 0.85] = np.nan
    device, data = open_device(TEST_DEVICE), Dataset(values)
    sizes = paged.expected_tiles(data, device, "hist", "tiled", 256)
    codes = paged.paged(data, device, "hist", 256, 0, sizes).pages[0].codes
    present = np.count_nonzero(~np.isnan(values))
    assert codes.cells.size == present
    assert abs(sizes.n_entries - present) < 0.05 * present
    tiles = codes.begins.size - 1
    assert codes.nbytes == 2 * present + 4 * tiles * 20_001 + 16 * 60
    assert codes.nbytes < paged.bytes_of_codes(device, 20_000, 60, 256) / 2


def sparse(values):
    present = ~np.isnan(values)
    starts = np.concatenate([[0], np.cumsum(present.sum(axis=1))])
    return csr_matrix((values[present], np.nonzero(present)[1], starts), values.shape)


@pytest.mark.parametrize("max_bin", [16, 256])
def test_sparse_data_give_the_model_of_dense_data(max_bin):
    params = {"max_bin": max_bin, "max_depth": 5}
    want = model_of(Dataset(SPARSE, LABELS["number"], WEIGHT), page="dense", **params)
    data = Dataset(sparse(SPARSE), LABELS["number"], WEIGHT)
    for page in ("tiled", "sorted"):
        assert model_of(data, page=page, **params) == want, page


def test_sparse_data_with_many_entries_a_bin_are_tiled(monkeypatch):
    data, params = Dataset(sparse(SPARSE), LABELS["number"]), {"n_estimators": 1, "max_bin": 16}

    def page_of(**more):
        return train({**params, "device": TEST_DEVICE, **more}, data).variants["page"]

    assert page_of() == "sorted"  # they are few
    for module in (paged, placement):
        monkeypatch.setattr(module, "LEAST_DENSE_BYTES", 1)
    assert page_of() == "tiled"
    assert page_of(page="sorted") == page_of(tree_method="exact", max_bin=256) == "sorted"
    assert page_of(max_bin=256) == "sorted"  # fewer entries a bin
    monkeypatch.setattr(paged, "MOST_HISTOGRAMS", 0.0)
    assert page_of() == "sorted"


@pytest.mark.parametrize(
    "growth",
    [
        {"grow_policy": "lossguide", "max_leaves": 12, "max_depth": 0, "reg_alpha": 0.1},
        {"num_parallel_tree": 2, "colsample_bynode": 0.6, "max_depth": 6},
    ],
)
def test_features_that_cannot_split_below_are_left_out(growth):
    params = {"min_child_weight": 25, "max_bin": 40, "device": TEST_DEVICE, **growth}
    data, p = Dataset(SPARSE, LABELS["number"]), Parameters.from_dict({**params, "page": "tiled"})
    fit = Fit(open_device(TEST_DEVICE), p, get_objective(p.objective, p), data, 0.0)
    fit.run(2)
    if fit.parts.ways.variant("split").name == "sequential":  # kernels of GPUs look at all features
        closed = fit.parts.arena["closed_features"].get()
        assert closed.any()
        assert not closed.all()
    assert_same(data, **params)
