"""Models of every kind that formats have to hold, and the rows that they predict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import xgboost

from pyopencl_gbdt.model import Ensemble, from_xgboost_json
from tests.model.samples import make_rows, saved

#: Two columns of numbers with missing values; a column of 40 levels, and one of 3.
TOWNS = [f"town {i:02d}" for i in range(40)]
N_ROWS = 1000


@cache
def rows() -> np.ndarray:
    """Return 1000 rows of numbers, a fifth of them missing."""
    return make_rows(N_ROWS, 5, seed=5)


@cache
def frame(*, text: bool = True) -> pd.DataFrame:
    """Return 1000 rows of a table with two categorical columns; some values are missing."""
    rng = np.random.default_rng(3)
    numbers = make_rows(N_ROWS, 2, seed=4)
    codes = np.where(rng.random(N_ROWS) < 0.1, -1, rng.integers(0, 40, N_ROWS))
    levels = TOWNS if text else list(range(0, 120, 3))
    return pd.DataFrame(
        {
            "a": numbers[:, 0],
            "town": pd.Categorical.from_codes(codes, levels),
            "b": numbers[:, 1],
            "size": pd.Categorical.from_codes(rng.integers(0, 3, N_ROWS), [1, 2, 4]),
        }
    )


def labels(X: np.ndarray) -> np.ndarray:
    filled = np.nan_to_num(X)
    return filled[:, 0] * filled[:, 1] + np.sin(3 * filled[:, 2]) + 0.3


def _trained(parameters: dict[str, Any], y: np.ndarray, n_rounds: int = 8, **more: Any) -> Ensemble:
    usual = {"nthread": 1, "max_depth": 4, "seed": 1}
    data = xgboost.DMatrix(rows(), y, nthread=1, **more)
    return from_xgboost_json(saved(xgboost.train(usual | parameters, data, n_rounds)))


def _bounded(y: np.ndarray) -> Ensemble:
    data = xgboost.DMatrix(rows(), nthread=1)
    data.set_float_info("label_lower_bound", np.exp(y))
    data.set_float_info("label_upper_bound", np.where(y > 1, np.inf, np.exp(y)))
    booster = xgboost.train({"objective": "survival:aft", "nthread": 1, "max_depth": 3}, data, 8)
    return from_xgboost_json(saved(booster))


def _of(parameters: dict[str, Any], label: str = "y", n_rounds: int = 8) -> Callable[[], Ensemble]:
    """Return what trains a model on one of the labels below."""

    def train() -> Ensemble:
        y = labels(rows())
        found = {
            "y": y,
            "above": y > 0.4,
            "classes": np.clip(np.floor(y + 1), 0, 2),
            "counts": np.floor(np.abs(y)),
            "relevance": np.clip(np.floor(y + 1), 0, 3),
            "times": np.where(y > 1, -1, 1) * np.exp(y),
            "targets": np.stack([y, -y, y * y], 1),
        }[label]
        query = {"qid": np.arange(N_ROWS) // 20} if label == "relevance" else {}
        return _trained(parameters, found, n_rounds, **query)

    return train


_CLASSES = {"objective": "multi:softprob", "num_class": 3}
_FOREST = {"num_parallel_tree": 6, "subsample": 0.6, "learning_rate": 1.0}
_KINDS: dict[str, Callable[[], Ensemble]] = {
    "regression": _of({}),
    "logistic": _of({"objective": "binary:logistic"}, "above"),
    "classes": _of(_CLASSES, "classes"),
    "most probable class": _of({**_CLASSES, "objective": "multi:softmax"}, "classes"),
    "hinge": _of({"objective": "binary:hinge"}, "above"),
    "counts": _of({"objective": "count:poisson"}, "counts"),
    "ranking": _of({"objective": "rank:ndcg"}, "relevance"),
    "cox": _of({"objective": "survival:cox"}, "times"),
    "aft": lambda: _bounded(labels(rows())),
    "targets": _of({}, "targets"),
    "forest": _of(_FOREST, n_rounds=1),
    "forests of classes": _of(
        {**_CLASSES, "num_parallel_tree": 2, "subsample": 0.6}, "classes", n_rounds=3
    ),
    "constraints": _of({"monotone_constraints": "(1,0,-1,0,0)"}),
    "stopped early": lambda: replace(
        kind("regression"), attributes={"best_iteration": "3", "best_score": "0.5"}
    ),
    "no trees": lambda: replace(kind("regression"), trees=[]),
    "huge thresholds": lambda: _with_thresholds(kind("regression")),
}
#: Names of models that split on numbers alone.
KINDS = tuple(_KINDS)


@cache
def kind(name: str) -> Ensemble:
    """Return a model by its name."""
    return _KINDS[name]()


def _with_thresholds(model: Ensemble) -> Ensemble:
    """Return a model in which thresholds are at the ends of float32, and between neighbours."""
    edges = np.array(
        [np.finfo(np.float32).min, np.finfo(np.float32).max, 0.0, 1e-40, 0.1], np.float32
    )
    rng = np.random.default_rng(2)
    trees = []
    for tree in model.trees:
        chosen = np.where(rng.random(tree.n_nodes) < 0.3, rng.choice(edges, tree.n_nodes),
                          tree.threshold)  # fmt: skip
        threshold = np.where(tree.is_leaf, 0, chosen).astype(np.float32)
        trees.append(replace(tree, threshold=threshold))
    return replace(model, trees=trees)


@cache
def with_sets(*, text: bool = True) -> Ensemble:
    """Return a model with splits by sets; missing values go left at some, and right at others."""
    data = frame(text=text)
    codes = data["town"].cat.codes.to_numpy()
    y = np.sin(codes) + np.nan_to_num(data["a"].to_numpy()) * (data["size"].to_numpy() == 2)
    matrix = xgboost.DMatrix(data, y, enable_categorical=True, nthread=1)
    given = {"nthread": 1, "max_depth": 4, "max_cat_to_onehot": 2, "tree_method": "hist"}
    return from_xgboost_json(saved(xgboost.train(given, matrix, 6)))


def edge_rows(model: Ensemble) -> np.ndarray:
    """Return rows whose values are thresholds of the model, and their neighbours in float32."""
    found = np.tile(np.nan_to_num(rows()[:300]), (1, 1))
    rng = np.random.default_rng(1)
    inner = [tree.threshold[~tree.is_leaf] for tree in model.trees]
    thresholds = np.concatenate([np.zeros(1, np.float32), *inner])
    picked = rng.choice(thresholds, found.shape)
    with np.errstate(over="ignore"):
        near = np.nextafter(picked, np.float32(-np.inf)), np.nextafter(picked, np.float32(np.inf))
    moved = np.where(rng.random(found.shape) < 0.5, picked, near[0])
    moved = np.where(rng.random(found.shape) < 0.2, near[1], moved)
    return np.where(np.isfinite(moved), moved, 0).astype(np.float32)
