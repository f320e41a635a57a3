"""Seeded data for a case: rows to train on, and rows held out."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np
import xgboost

from pyopencl_gbdt import Dataset
from tests.conformance.statistics import targets, with_statistics
from tests.conformance.table import CATEGORICAL, FEATURES, Case
from tests.objectives.samples import label_of

QUERY = 20
#: Levels of a categorical column, where the data are not small integers.
LEVELS = 12


@dataclass(frozen=True)
class Rows:
    """A matrix, labels, weights, and what a loss needs besides, by XGBoost's names.

    Attributes
    ----------
    categorical : tuple of int
        Columns of X that hold levels 0, 1, ...
    numbers : float32 matrix or None
        What XGBoost gets in place of X: statistics of levels.
    """

    X: np.ndarray
    label: np.ndarray
    weight: np.ndarray | None
    extras: dict[str, np.ndarray] = field(default_factory=dict)
    categorical: tuple[int, ...] = ()
    numbers: np.ndarray | None = None

    def ours(self) -> Dataset:
        columns = list(self.categorical)
        return Dataset(self.X, self.label, self.weight, categorical_features=columns, **self.extras)

    def theirs(self) -> xgboost.DMatrix:
        given = {"weight": self.weight, "nthread": 1, **self.extras}
        if self.numbers is not None:
            return xgboost.DMatrix(self.numbers, self.label, **given)
        types = ["c" if column in self.categorical else "q" for column in range(FEATURES)]
        return xgboost.DMatrix(
            self.X, self.label, feature_types=types, enable_categorical=True, **given
        )


def draw(case: Case, seed: int, n_rows: int, n_held_out: int, few: bool) -> tuple[Rows, Rows]:
    """Return rows to train on and rows held out; other ones for every case and seed.

    With ``few`` values are small integers, at most eight a feature, so that both cut alike.
    """
    digest = hashlib.sha256(f"{case.name} {seed} {few}".encode()).digest()
    rng = np.random.default_rng(int.from_bytes(digest[:8], "little"))
    n = n_rows + n_held_out
    if few:
        X = np.column_stack([rng.integers(0, 3 + f, n) for f in range(FEATURES)])
        spread = (X - X.mean(axis=0)) / X.std(axis=0)
    else:
        X = rng.standard_normal((n, FEATURES))
        spread = X.copy()
    categories = case["categories"].name
    categorical = () if categories == "numbers" else CATEGORICAL
    for column in () if few else categorical:  # levels in no order
        level = np.clip(np.round(2 * X[:, column]) + LEVELS // 2, 0, LEVELS - 1).astype(int)
        X[:, column] = rng.permutation(LEVELS)[level]
    signal = spread[:, 0] - 0.8 * spread[:, 1] + spread[:, 2] * spread[:, 3]
    signal = signal + 0.7 * np.abs(spread[:, 4]) - 0.5
    X = X.astype(np.float32)
    if case["missing"].name == "some":
        X[:, :3][rng.random((n, 3)) < 0.15] = np.nan
    label, extras = _labels(case["loss"].name.split("-")[0], signal * 0.7, rng)
    weight = {
        "equal": None,
        "whole": rng.integers(0, 4, n).astype(np.float32),
        "fractions": rng.uniform(0.1, 2, n).astype(np.float32),
    }[case["weights"].name]

    numbers = None
    if categories == "statistics":
        counted = np.arange(n) < n_rows
        counted &= True if weight is None else weight > 0
        numbers = with_statistics(X, n_rows, targets(label, case["loss"].name, counted), counted)

    def part(rows: slice) -> Rows:
        own = {name: column[rows] for name, column in extras.items()}
        heavy = None if weight is None else weight[rows]
        given = None if numbers is None else numbers[rows]
        return Rows(X[rows], label[rows], heavy, own, categorical, given)

    return part(slice(0, n_rows)), part(slice(n_rows, n))


def _labels(
    objective: str, signal: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return labels around a signal, and what is given beside them."""
    noisy = signal + rng.normal(0, 0.4, signal.size)
    if objective.startswith("multi:"):
        return np.digitize(noisy, [-0.5, 0.6]).astype(np.float32), {}
    if objective.startswith("rank:"):
        grades = np.digitize(noisy, [0.5] if objective == "rank:map" else [-1, 0, 0.7, 1.3])
        return grades.astype(np.float32), {"qid": np.arange(signal.size) // QUERY}
    if objective.startswith("survival:"):
        time = np.exp(noisy).astype(np.float32)
        censored = rng.random(signal.size) < 0.3
        if objective == "survival:cox":
            return np.where(censored, -time, time), {}
        upper = np.where(censored, np.float32(np.inf), time)
        return time, {"label_lower_bound": time, "label_upper_bound": upper}
    return label_of(objective, signal, rng), {}
