"""The estimate of memory for sparse data, on the device and on the host."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.data import budget
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.pages.columns import ValueCounts
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.fit import Fit
from pyopencl_gbdt.training.memory_estimate import estimate_memory
from pyopencl_gbdt.training.split_search import resolved
from tests.conftest import TEST_DEVICE

MISS = 0.1


def matrix(n_rows, n_features, density, digits):
    found = sp.random(n_rows, n_features, density, "csr", np.float32, np.random.default_rng(3))
    found.data = np.round(found.data, digits)
    return Dataset(found, np.arange(n_rows) % 3)


@pytest.fixture(scope="module")
def data():
    """Few distinct values; many, in many columns; more than bins."""
    return {
        "few values": matrix(3000, 400, 0.05, 1),
        "wide": matrix(1000, 21_000, 0.004, 3),
        "many values": matrix(3000, 40, 0.3, 6),
    }


SOFTPROB = {"objective": "multi:softprob", "num_class": 3, "max_depth": 4}


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("few values", {}),
        pytest.param(
            "few values", {"tree_method": "exact", "reg_alpha": 0.1}, marks=pytest.mark.thorough
        ),
        ("wide", SOFTPROB),
        pytest.param("wide", {"tree_method": "hist", "page": "tiled"}, marks=pytest.mark.thorough),
        ("many values", {"max_bin": 64}),
        ("many values", {"page": "tiled"}),
        ("many values", {"tree_method": "exact", "grow_policy": "lossguide", "max_leaves": 9}),
        ("many values", {"tree_method": "approx", "proposal": "local"}),
    ],
)
def test_the_estimate_is_what_a_fit_takes(data, name, options, asked):
    opened, own = open_device(TEST_DEVICE), data[name]
    own.forget()
    p = Parameters.from_dict({"max_depth": 6, **options})
    method = resolved(p, own.sparse, 1)
    assert method.tree_method == ("exact" if options is SOFTPROB else p.tree_method)
    Fit(opened, method, get_objective(p.objective, p), own, 0.0)  # renders kernels, too
    opened = open_device(TEST_DEVICE)
    own.forget()
    tracemalloc.start()
    fit = Fit(opened, method, get_objective(p.objective, p), own, 0.0)
    host = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    taken, peak = opened.allocated_bytes, opened.peak_bytes
    fit.run(1)
    own.forget()
    fresh, counts = open_device(TEST_DEVICE), ValueCounts.of(own.sparse)
    estimate = estimate_memory(fresh, p, own.n_rows, own.n_features, counts=counts)
    assert fresh.peak_bytes == 0
    assert list(estimate.allocations) == asked[opened]
    assert (estimate.training_bytes, estimate.peak_bytes) == (taken, peak)
    assert estimate.host_bytes == pytest.approx(host, rel=MISS)


def test_counts_of_another_matrix_are_refused(data):
    counts = ValueCounts.of(data["wide"].sparse)
    with pytest.raises(ParameterError, match=r"^counts of 1000 rows and 21000 columns: expected"):
        estimate_memory(open_device(TEST_DEVICE), Parameters.from_dict({}), 10, 5, counts=counts)


def test_values_are_counted():
    rows = sp.csr_array(np.array([[1.0, 0, 2], [1, 0, 3], [5, 0, 3]]))
    counts = ValueCounts.of(Dataset(rows, np.arange(3)).sparse)
    assert counts.present.tolist() == [3, 0, 3]
    assert counts.distinct.tolist() == [2, 0, 2]
    assert counts.layout(None).feature_offset.tolist() == [0, 2, 3, 5]
    assert counts.density == pytest.approx(2 / 3)


def test_more_columns_than_memory_has_tables_for(monkeypatch):
    wide = Dataset(sp.csr_matrix(([1.0], ([0], [200_000_000])), (2, 200_000_001)), [0, 1])
    monkeypatch.setattr(budget, "available_memory", lambda: 9 << 30)
    tracemalloc.start()
    try:
        with pytest.raises(
            DataError, match="X has 200000001 columns, whose tables take 10 GB"
        ) as e:
            train({"device": TEST_DEVICE}, wide, 1)
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
    assert "leave out columns without entries" in str(e.value)
