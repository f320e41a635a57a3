"""Few rows walk the trees on the host, to the bits of a device."""

from __future__ import annotations

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.errors import DeviceError
from pyopencl_gbdt.prediction import few_rows
from pyopencl_gbdt.prediction.margins import predict_margins
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE

CASES = {
    "binary": {"objective": "binary:logistic"},
    "forests of classes": {
        "objective": "multi:softprob", "num_class": 3, "num_parallel_tree": 2, "subsample": 0.5,
    },
    "leaf-wise": {"max_depth": 0, "max_leaves": 9, "grow_policy": "lossguide"},
    "statistics": {"objective": "binary:logistic", "cat_method": "statistics"},
}  # fmt: skip
N_ROWS = 9


def rows_of(n, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    X[:, 1], X[:, 2] = rng.integers(0, 30, n), rng.choice([0, -0.0, 1e-40, -1e-40, 1], n)
    X[rng.random(X.shape) < 0.2] = np.nan
    return X


@pytest.fixture(scope="module", params=CASES)
def model(request):
    X = rows_of(400)
    label = (np.nan_to_num(X[:, 0]) > 0).astype(int) + (np.nan_to_num(X[:, 2]) > 0)
    given = CASES[request.param]
    if "num_class" not in given:
        label = np.minimum(label, 1)
    by_level = [1] if request.param == "statistics" else None
    params = {"max_depth": 4, **given, "device": TEST_DEVICE}
    return train(params, Dataset(X, label, categorical_features=by_level), 5)


@pytest.mark.parametrize("n_rows", [1, N_ROWS])
def test_margins_are_those_of_a_device(model, n_rows):
    X, n_outputs = rows_of(n_rows, seed=4), model.ensemble.n_outputs
    rng = np.random.default_rng(5)
    values = model.tree_values(X)
    start = rng.normal(size=(n_outputs, n_rows)).astype(np.float32)
    start = start if n_outputs > 1 else start[0]
    for given, rounds in ((None, (0, 5)), (start, (1, 3))):
        few = few_rows.few_margins(model.ensemble, values, TEST_DEVICE, given, rounds)
        found = predict_margins(model.ensemble, values, TEST_DEVICE, start=given, rounds=rounds)
        assert_same_bits(few, found)
    of_device = model.predict(X, device=open_device(TEST_DEVICE))
    assert_same_bits(model.predict(X, device=TEST_DEVICE), of_device)


def test_others_go_to_the_device(model, device, monkeypatch):
    values = model.tree_values(rows_of(N_ROWS))
    assert few_rows.few_margins(model.ensemble, values, device, None, (0, 5)) is None
    monkeypatch.setattr(few_rows, "MOST_WALKS", N_ROWS)
    assert few_rows.few_margins(model.ensemble, values, TEST_DEVICE, None, (0, 5)) is None
    monkeypatch.undo()
    monkeypatch.setattr(few_rows, "MOST_NODES", 2)
    assert few_rows.few_margins(model.ensemble, values, TEST_DEVICE, None, (0, 5)) is None
    with pytest.raises(DeviceError, match="device='nothing'"):
        model.predict(rows_of(1), device="nothing")
