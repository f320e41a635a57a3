"""The rows of ``load_higgs7k``, read once a process."""

from __future__ import annotations

import functools

import numpy as np

from pyopencl_gbdt import data

read_once = functools.cache(data.load_higgs7k)


def load_higgs7k() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return copies, which a test may change."""
    X, y, X_test, y_test = read_once()
    return X.copy(), y.copy(), X_test.copy(), y_test.copy()
