"""Times to an event, some of them censored."""

import numpy as np


def times(seed=0, n_rows=900, ties=True):
    """Return X with few distinct values, and labels of ``survival:cox``."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 4 + 5 * f, n_rows) for f in range(5)]).astype(np.float32)
    X[:, :2][rng.random((n_rows, 2)) < 0.15] = np.nan
    hazard = np.nan_to_num(X, nan=1.5) @ np.float64([0.4, -0.3, 0.1, 0, 0.05])
    time = rng.exponential(np.exp(-hazard)) * 20
    censoring = rng.exponential(30, n_rows)
    label = np.where(time <= censoring, time, -censoring)
    label = np.sign(label) * np.ceil(np.abs(label)) if ties else label
    return X, label.astype(np.float32)
