"""Cut points and thresholds are those of XGBoost, where columns have few distinct values."""

import numpy as np
import pytest

from pyopencl_gbdt.compat import xgboost as xgb
from tests.conftest import TEST_DEVICE
from tests.xgboost_versions import VERSION

theirs = pytest.importorskip("xgboost")
pytestmark = pytest.mark.skipif(VERSION != (3, 2), reason="3.2 and 3.4 cut by different rules")


def columns(rng, n_rows):
    """Columns of each kind, of at most 2048 distinct values."""
    normal = rng.normal(size=n_rows)
    kinds = [
        normal, np.round(normal, 1), np.round(normal, 2), np.round(np.exp(3 * normal), 1),
        rng.integers(0, 5, n_rows), rng.integers(-300, 300, n_rows), np.full(n_rows, 3.0),
        np.where(rng.random(n_rows) < 0.5, 0, normal),
    ]  # fmt: skip
    return np.stack(kinds, axis=1).astype(np.float32)


def assert_same_points(X, max_bin, weight=None):
    """Compare the columns with few enough values."""
    found, wanted = (
        library.QuantileDMatrix(X, weight=weight, max_bin=max_bin).get_quantile_cut()
        for library in (xgb, theirs)
    )
    for own, other in zip(found, wanted, strict=True):
        assert own.dtype == other.dtype
    n_compared = 0
    for feature, column in enumerate(X.T):
        if np.unique(column[~np.isnan(column)]).size > 8 * max_bin:
            continue
        own, other = (
            points[int(starts[feature]) : int(starts[feature + 1])]
            for starts, points in (found, wanted)
        )
        np.testing.assert_array_equal(own, other, f"{X.shape}, {max_bin} bins, column {feature}")
        n_compared += 1
    return n_compared


@pytest.mark.parametrize("max_bin", [2, 3, 16, 255, 256])
def test_points_are_those_of_xgboost(max_bin):
    rng = np.random.default_rng(max_bin)
    n_compared = 0
    for n_rows in (1, 2, max_bin, max_bin + 1, max_bin + 2, 1500):
        X = columns(rng, n_rows)
        some = np.where(rng.random(X.shape) < 0.2, np.float32("nan"), X)
        weight = rng.integers(0, 9, n_rows).astype(np.float32)
        weight[0] = 1
        for rows, own in ((X, None), (some, None), (X, weight)):
            n_compared += assert_same_points(rows, max_bin, own)
    assert n_compared > 70


def test_points_of_sparse_rows_are_those_of_xgboost():
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(1)
    dense = np.where(rng.random((900, 3)) < 0.4, np.round(rng.normal(size=(900, 3)), 2), 0)
    X = sparse.csr_matrix(dense.astype(np.float32))
    found = [library.QuantileDMatrix(X).get_quantile_cut() for library in (xgb, theirs)]
    for own, other in zip(*found, strict=True):
        np.testing.assert_array_equal(own, other)


@pytest.mark.parametrize("missing", [False, True])
def test_trees_of_rounded_columns_are_those_of_xgboost(missing):
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(1500, 4)), 2).astype(np.float32)
    y = X[:, 0] + np.sin(2 * X[:, 1]) * X[:, 2] + rng.normal(size=1500) / 2
    if missing:
        X[rng.random(X.shape) < 0.15] = np.nan
    found = []
    for library in (xgb, theirs):
        rows = library.DMatrix(X, y)
        params = {"tree_method": "hist", "max_depth": 5}
        if library is xgb:
            params["device"] = TEST_DEVICE
        booster = library.train(params, rows, 5)
        found.append((booster.trees_to_dataframe(), booster.predict(rows)))
    (ours, predicted), (other, wanted) = found
    np.testing.assert_allclose(predicted, wanted, rtol=1e-5, atol=1e-6)
    assert ours["Feature"].tolist() == other["Feature"].tolist()
    split = (ours["Feature"] != "Leaf").to_numpy()
    same = (ours["Split"].to_numpy() == other["Split"].to_numpy())[split]
    assert same.mean() > 0.5 if missing else same.all()
