"""Rows for tests of ``compat.xgboost`` beside XGBoost."""

from __future__ import annotations

import numpy as np


def rows(n_rows: int = 120, n_features: int = 4, seed: int = 0):
    """Return float32 values and a target that depends on two columns."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, n_features)).astype(np.float32)
    y = X[:, 0] * X[:, 1] + random.normal(size=n_rows) / 4
    return X, y.astype(np.float32)


def small_integers(n_rows: int = 200, n_features: int = 3, seed: int = 0):
    """Return values and labels that are small integers: sums are exact, trees as XGBoost's."""
    random = np.random.default_rng(seed)
    X = random.integers(0, 8, (n_rows, n_features)).astype(np.float32)
    return X, (X[:, 0] + 2 * (X[:, 1] > 3)).astype(np.float32)
