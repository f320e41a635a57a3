"""As good as XGBoost ``hist`` at equal parameters, over paired splits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import xgboost

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.metrics import auc, rmse

from .conftest import TEST_DEVICE
from .higgs import load_higgs7k

#: Long trainings: kernels as the compiler optimises them take less time than their builds do more.
OPTIMISED = True
#: Student's t of 95 % for the splits.
STUDENT = {8: 2.365}
SPLITS = pytest.mark.parametrize(("n_splits", "n_rounds"), [(8, 60)])


def lower_bound(differences: np.ndarray) -> float:
    """Return the lower end of the 95 % interval of the mean."""
    n = differences.size
    return differences.mean() - STUDENT[n] * differences.std(ddof=1) / np.sqrt(n)


def both(params, X, y, test, n_rounds):
    ours = train({**params, "device": TEST_DEVICE}, Dataset(X, y), n_rounds)
    theirs = xgboost.train(
        {**params, "tree_method": "hist", "nthread": 1}, xgboost.DMatrix(X, y), n_rounds
    )
    return ours.predict(test, device=TEST_DEVICE), theirs.predict(xgboost.DMatrix(test))


@pytest.mark.thorough
@SPLITS
def test_higgs7k(n_splits, n_rounds):
    X, y, X_test, y_test = load_higgs7k()
    X, y = np.concatenate([X, X_test]), np.concatenate([y, y_test])
    params = {"objective": "binary:logistic", "max_depth": 6, "learning_rate": 0.1}
    differences = []
    for seed in range(n_splits):
        order = np.random.default_rng(seed).permutation(y.size)
        learn, hold = order[:5000], order[5000:]
        ours, theirs = both(params, X[learn], y[learn], X[hold], n_rounds)
        differences.append(auc(y[hold], ours) - auc(y[hold], theirs))
    assert lower_bound(np.array(differences)) > -0.005


@pytest.mark.thorough
@SPLITS
def test_computer_hardware(n_splits, n_rounds):
    lines = (Path(__file__).parents[1] / "bench" / "data" / "machine.data").read_text().split()
    table = np.array([line.split(",")[2:9] for line in lines], np.float32)
    X, y = table[:, :-1], table[:, -1]
    params = {"objective": "reg:squarederror", "max_depth": 4, "learning_rate": 0.1}
    ratios = []
    for seed in range(n_splits):
        order = np.random.default_rng(seed).permutation(y.size)
        learn, hold = order[:150], order[150:]
        ours, theirs = both(params, X[learn], y[learn], X[hold], n_rounds)
        ratios.append(1 - rmse(y[hold], ours) / rmse(y[hold], theirs))
    assert lower_bound(np.array(ratios)) > -0.02
