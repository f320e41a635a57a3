"""Seeded data with categorical columns, in the shapes of two public tasks.

    clicks    13 numeric columns, and 26 categorical ones of 10 to ``most_levels`` levels
    access    9 categorical columns of up to 7500 levels; access is mostly granted

Levels follow Zipf's law. A row's margin is a sum of effects: of each level, of pairs of levels, and
of the numeric columns. So a column of many levels is worth splitting on, and a pair of columns is
worth more than both alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

#: Levels of the categorical columns of `access`.
ACCESS_LEVELS = (7500, 4200, 130, 180, 450, 340, 2300, 70, 340)


@dataclass(frozen=True)
class Table:
    """Rows of a shape.

    Attributes
    ----------
    values : float32 array, shape (n_rows, n_features)
        Numeric columns, then codes of categorical ones; NaN is missing.
    label : float32 array, shape (n_rows,)
        0 or 1.
    categorical : list of int
        Numbers of the categorical columns.
    """

    values: npt.NDArray[np.float32]
    label: npt.NDArray[np.float32]
    categorical: list[int]


def _levels(rng: np.random.Generator, n_rows: int, n_levels: int) -> npt.NDArray[np.int64]:
    """Draw codes of levels by Zipf's law: level k has a share of about 1 / (k + 1)."""
    shares = np.cumsum(1 / (np.arange(n_levels) + 1.0) ** 1.05)
    drawn = np.searchsorted(shares, rng.random(n_rows) * shares[-1])
    return rng.permutation(n_levels)[np.minimum(drawn, n_levels - 1)]


def _table(
    seed: int, n_rows: int, n_numeric: int, levels: list[int], n_pairs: int, positive: float
) -> Table:
    rng = np.random.default_rng(seed)
    numbers = rng.standard_normal((n_rows, n_numeric)).astype(np.float32)
    codes = np.column_stack([_levels(rng, n_rows, n) for n in levels])
    margin = 0.3 * np.tanh(numbers).sum(axis=1)
    for column, n_levels in enumerate(levels):
        margin += rng.normal(0, 0.35, n_levels)[codes[:, column]]
    for _ in range(n_pairs):
        one, other = rng.choice(len(levels), 2, replace=False)
        effect = rng.normal(0, 0.6, 4096)
        margin += effect[(codes[:, one] * 2654435761 + codes[:, other] * 40503) % 4096]
    noisy = margin + rng.logistic(size=n_rows)
    label = (noisy > np.quantile(noisy, 1 - positive)).astype(np.float32)
    values = np.column_stack([numbers, codes]).astype(np.float32)
    values[:, :n_numeric][rng.random((n_rows, n_numeric)) < 0.05] = np.nan
    return Table(values, label, list(range(n_numeric, n_numeric + len(levels))))


def clicks(n_rows: int = 1_000_000, most_levels: int = 200_000, seed: int = 1) -> Table:
    """Return rows like those of an advertiser's log."""
    levels = np.geomspace(10, most_levels, 26).astype(int).tolist()
    return _table(seed, n_rows, 13, levels, 12, 0.25)


def access(n_rows: int = 26_000, seed: int = 1) -> Table:
    """Return rows like those of employees' requests for access."""
    return _table(seed, n_rows, 0, list(ACCESS_LEVELS), 6, 0.94)
