"""Small models of every kind that explanations have to know, and their rows."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from pyopencl_gbdt import Dataset, Model, train
from tests.conftest import TEST_DEVICE

N_ROWS = 220
TOWNS = np.array(["Bern", "Lyon", "Oslo", "Ulm"])
#: Parameters of each kind of model; those with levels train on the table, others on numbers.
KINDS = {
    "numbers": {},
    "binary": {"objective": "binary:logistic"},
    "counts": {"objective": "count:poisson"},
    "classes of forests": {
        "objective": "multi:softprob", "num_class": 3, "num_parallel_tree": 2, "subsample": 0.7,
    },
    "picked classes": {"objective": "multi:softmax", "num_class": 3},
    "symmetric": {"grow_policy": "symmetric"},
    "leaf-wise": {"max_depth": 0, "max_leaves": 9, "grow_policy": "lossguide"},
    "sets": {"cat_method": "sets"},
    "linear": {"linear_tree": True},
    "statistics": {"objective": "binary:logistic", "cat_method": "statistics"},
}  # fmt: skip
WITH_LEVELS = ("sets", "statistics")


def table() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    area = rng.gamma(9, 9, N_ROWS).astype(np.float32)
    area[::17] = np.nan
    return pd.DataFrame(
        {
            "area": area,
            "town": TOWNS[rng.integers(0, 4, N_ROWS)],
            "floor": rng.integers(0, 9, N_ROWS).astype(np.float32),
            "age": rng.normal(40, 12, N_ROWS).astype(np.float32),
        }
    )


def numbers() -> pd.DataFrame:
    return table().drop(columns="town").assign(noise=np.arange(N_ROWS, dtype=np.float32) % 7)


def rows_of(kind: str) -> pd.DataFrame:
    return table() if kind in WITH_LEVELS else numbers()


def target_of(kind: str) -> np.ndarray:
    given, rows = KINDS[kind], table()
    rent = np.nan_to_num(rows["area"].to_numpy()) * np.where(rows["town"] == "Bern", 2.0, 1.0)
    rent = rent + 3 * rows["floor"].to_numpy() * (rows["age"].to_numpy() > 40)
    if "num_class" in given:
        return np.digitize(rent, np.quantile(rent, [0.3, 0.7]))
    if given.get("objective") == "binary:logistic":
        return (rent > np.median(rent)).astype(int)
    return np.round(rent / 20) if kind == "counts" else rent / 50


@cache
def model_of(kind: str) -> Model:
    levels = ["town"] if kind in WITH_LEVELS else None
    data = Dataset(rows_of(kind), target_of(kind), categorical_features=levels)
    params = {"max_depth": 3, "device": TEST_DEVICE, **KINDS[kind]}
    return train(params, data, 5)
