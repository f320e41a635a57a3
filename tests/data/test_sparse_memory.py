"""A matrix of millions of columns takes the memory of its entries, from the data set to scores."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from pyopencl_gbdt import Dataset, Model, train
from tests.conftest import TEST_DEVICE

N_ROWS, N_COLUMNS, N_ENTRIES = 16_000, 4_270_000, 400_000
#: Bytes; an array with a byte for each column would exceed it.
MOST = N_COLUMNS


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(0)
    columns = np.unique(rng.integers(0, N_COLUMNS, N_ENTRIES // N_ROWS))
    row = np.repeat(np.arange(N_ROWS), columns.size)
    values = rng.normal(size=row.size).astype(np.float32)
    given = sp.csr_matrix((values, (row, np.tile(columns, N_ROWS))), (N_ROWS, N_COLUMNS))
    few = given[:, columns].toarray()
    model = train({"max_depth": 4, "device": TEST_DEVICE}, Dataset(few, few[:, 0] > few[:, 1]), 5)
    return given, few, model, columns


@pytest.mark.thorough
def test_millions_of_columns_take_no_memory(wide):
    given, few, model, columns = wide
    wanted = model.predict(few, device=TEST_DEVICE)
    own = model.ensemble
    for tree in own.trees:
        object.__setattr__(tree, "feature", columns[tree.feature].astype(np.int32))
    own.n_features = N_COLUMNS
    expected = 9 * N_ROWS + 8 * given.nnz
    tracemalloc.start()
    try:
        data = Dataset(given, np.arange(N_ROWS))
        half = data.slice(np.arange(0, N_ROWS, 2))
        found = Model(own).predict(data, device=TEST_DEVICE)
        text, digests = repr(data), data.digests()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2 * expected + MOST
    assert np.array_equal(found, wanted)
    assert half.sparse.n_entries == given.nnz // 2
    assert "4270000 features" in text
    assert len(digests["feature_names"]) < 10
