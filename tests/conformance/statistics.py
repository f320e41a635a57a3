"""Ordered statistics of levels by a loop over the rows, for XGBoost to train on.

Prokhorenkova et al., "CatBoost: unbiased boosting with categorical features", NeurIPS 2018.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from tests.conformance.table import CATEGORICAL

PRIOR = 0.5


def targets(label: np.ndarray, loss: str, counted: np.ndarray) -> np.ndarray:
    """Return which rows hit each target: the classes, or labels above the median, as a mask."""
    if loss.startswith("multi:"):
        return np.array([label == one for one in range(3)])
    own = label[counted]
    border = np.median(own)
    return np.array([label > (border if border < own.max() else own.mean())])


def with_statistics(
    X: np.ndarray, n_rows: int, hits: np.ndarray, counted: np.ndarray
) -> np.ndarray:
    """Return X with means of targets and counts in place of its categorical columns.

    Parameters
    ----------
    X : float32 array, shape (n, n_features)
    n_rows : int
        The first ones are those to train on: each sees the rows before it. The others see these.
    hits : bool array, shape (n_targets, n)
    counted : bool array, shape (n,)
        Rows that others see.
    """
    found = [np.delete(X, CATEGORICAL, axis=1)]
    for column in CATEGORICAL:
        levels = X[:, column].tolist()
        means = np.full((len(X), len(hits)), np.nan)
        counts, sums = Counter[float](), [Counter[float]() for _ in hits]
        for row, level in enumerate(levels):
            if level != level:
                continue
            means[row] = [(one[level] + PRIOR) / (counts[level] + 1) for one in sums]
            if row < n_rows and counted[row]:
                counts[level] += 1
                for one, hit in zip(sums, hits, strict=True):
                    one[level] += int(hit[row])
        of_rows = [counts[level] if level == level else np.nan for level in levels]
        found += [means, np.array(of_rows)[:, None]]
    return np.concatenate(found, axis=1).astype(np.float32)
