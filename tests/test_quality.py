"""As good as XGBoost ``hist`` at equal parameters, over 50 paired splits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import xgboost

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.data import load_higgs7k
from pyopencl_gbdt.metrics import auc, rmse

from .conftest import TEST_DEVICE

N_SPLITS = 50


def lower_bound(differences: np.ndarray) -> float:
    """Return the lower end of the 95 % interval of the mean (Student's t, 49 degrees)."""
    return differences.mean() - 2.01 * differences.std(ddof=1) / np.sqrt(differences.size)


def both(params, X, y, test):
    ours = train({**params, "device": TEST_DEVICE}, Dataset(X, y), 100)
    theirs = xgboost.train(
        {**params, "tree_method": "hist", "nthread": 1}, xgboost.DMatrix(X, y), 100
    )
    return ours.predict(test, device=TEST_DEVICE), theirs.predict(xgboost.DMatrix(test))


def test_higgs7k():
    X, y, X_test, y_test = load_higgs7k()
    X, y = np.concatenate([X, X_test]), np.concatenate([y, y_test])
    params = {"objective": "binary:logistic", "max_depth": 6, "learning_rate": 0.1}
    differences = []
    for seed in range(N_SPLITS):
        order = np.random.default_rng(seed).permutation(y.size)
        learn, hold = order[:5000], order[5000:]
        ours, theirs = both(params, X[learn], y[learn], X[hold])
        differences.append(auc(y[hold], ours) - auc(y[hold], theirs))
    assert lower_bound(np.array(differences)) > -0.005


def test_computer_hardware():
    lines = (Path(__file__).parents[1] / "bench" / "data" / "machine.data").read_text().split()
    table = np.array([line.split(",")[2:9] for line in lines], np.float32)
    X, y = table[:, :-1], table[:, -1]
    params = {"objective": "reg:squarederror", "max_depth": 4, "learning_rate": 0.1}
    ratios = []
    for seed in range(N_SPLITS):
        order = np.random.default_rng(seed).permutation(y.size)
        learn, hold = order[:150], order[150:]
        ours, theirs = both(params, X[learn], y[learn], X[hold])
        ratios.append(1 - rmse(y[hold], ours) / rmse(y[hold], theirs))
    assert lower_bound(np.array(ratios)) > -0.02
