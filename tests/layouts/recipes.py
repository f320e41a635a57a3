"""Random trainings: rows and parameters, drawn from a seed and a number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt import Dataset

Labels = Callable[[np.random.Generator, npt.NDArray[np.float64]], npt.NDArray[np.float64]]

#: Labels of each kind, from the numbers that the features explain.
LABELS: dict[str, Labels] = {
    "number": lambda rng, x: x + rng.standard_t(2, x.size),
    "positive": lambda rng, x: np.exp(np.clip(x, -5, 5)) + rng.exponential(size=x.size),
    "count": lambda rng, x: rng.poisson(np.exp(np.clip(x, -2, 3))).astype(float),
    "two": lambda rng, x: (x + rng.normal(size=x.size) > 0).astype(float),
    "share": lambda rng, x: rng.random(x.size).round(3),
    "classes": lambda rng, x: np.clip(np.round(x + 2), 0, 4),
    "grade": lambda rng, x: np.clip(np.round(x + 1), 0, 4),
    "time": lambda rng, x: (0.1 + rng.exponential(size=x.size)) * rng.choice([-1, 1], x.size),
    "bounds": lambda rng, x: 0.1 + rng.exponential(size=x.size),
}
#: Every loss: the kind of its labels, and parameters.
LOSSES: dict[str, tuple[str, dict[str, Any]]] = {
    "reg:squarederror": ("number", {}),
    "reg:squaredlogerror": ("positive", {}),
    "reg:pseudohubererror": ("number", {"huber_slope": 2.0}),
    "reg:gamma": ("positive", {}),
    "reg:tweedie": ("count", {"tweedie_variance_power": 1.3}),
    "reg:logistic": ("share", {}),
    "count:poisson": ("count", {}),
    "binary:logistic": ("two", {}),
    "binary:logitraw": ("two", {"scale_pos_weight": 2.0}),
    "binary:hinge": ("two", {}),
    "reg:absoluteerror": ("number", {}),
    "reg:quantileerror": ("number", {"quantile_alpha": [0.2, 0.7]}),
    "reg:expectileerror": ("number", {"expectile_alpha": [0.3, 0.6]}),
    "multi:softprob": ("classes", {"num_class": 5}),
    "multi:softmax": ("classes", {"num_class": 5}),
    "rank:ndcg": ("grade", {}),
    "rank:map": ("two", {}),
    "rank:pairwise": ("grade", {"lambdarank_pair_method": "mean"}),
    "survival:cox": ("time", {}),
    "survival:aft": ("bounds", {}),
    "huber": ("number", {"huber_alpha": 0.7}),
    "fair": ("number", {}),
    "mape": ("positive", {}),
    "cross_entropy": ("share", {}),
    "dist:normal": ("number", {}),
    "dist:lognormal": ("positive", {}),
    "dist:gamma": ("positive", {}),
    "dist:negative_binomial": ("count", {}),
}


@dataclass(frozen=True)
class Recipe:
    """A training.

    Attributes
    ----------
    name : str
        The words that repeat it: ``--seed 1 --first 7 --count 1``.
    params : dict
        Of ``train``, with the number of rounds; not the device.
    values : float32 array, shape (n_rows, n_features)
    columns : dict of str to array, shape (n_rows,)
        Labels, weights and query ids, by the names of ``Dataset``.
    categorical : tuple of int
        Columns whose values are levels.
    """

    name: str
    params: dict[str, Any]
    values: npt.NDArray[np.float32]
    columns: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
    categorical: tuple[int, ...] = ()

    def __str__(self) -> str:
        given = [f"categories {self.categorical}"] if self.categorical else []
        missing = np.isnan(self.values).mean()
        shape = f"{self.values.shape[0]} x {self.values.shape[1]}, {missing:.0%} missing"
        return ", ".join([shape, *sorted(self.columns), *given, str(self.params)])

    def data(self, first: int = 0, end: int | None = None, X: Any = None) -> Dataset:
        """Return some neighbouring rows, or the same rows in another form."""
        columns = {name: column[first:end] for name, column in self.columns.items()}
        X = self.values[first:end] if X is None else X
        return Dataset(X, **columns, categorical_features=list(self.categorical))


def recipe(seed: int, number: int) -> Recipe:
    """Return the training of a number; others of the seed need not be drawn before it."""
    rng = np.random.default_rng([seed, number])
    n_rows = int(rng.choice([1, 2, 5, 60, 500, 3000], p=[0.03, 0.03, 0.04, 0.2, 0.4, 0.3]))
    values, categorical = _values(rng, n_rows, int(rng.integers(1, 8)))
    loss = str(rng.choice(list(LOSSES)))
    kind, own = LOSSES[loss]
    x = np.nan_to_num(values[:, 0].clip(-1e3, 1e3)) + np.sin(np.nan_to_num(values[:, -1]))
    label = LABELS[kind](rng, x.astype(float)).astype(np.float32)
    columns: dict[str, npt.NDArray[Any]] = {"label": label}
    if kind == "bounds":
        upper = np.where(rng.random(n_rows) < 0.3, np.inf, label * 1.5)
        columns = {"label_lower_bound": label, "label_upper_bound": upper.astype(np.float32)}
    params = {"objective": loss, **own, "random_state": int(rng.integers(1000))}
    params["n_estimators"] = int(rng.integers(1, 7))
    for part in (_growth, _method, _sampling, _columns, _penalties, _constraints, _forest):
        params.update(part(rng, values.shape[1]))
    if params.get("tree_method", "hist") in ("auto", "hist"):
        params.update(_chance(np.random.default_rng([seed, number, 1])))
        params.update(_rule(np.random.default_rng([seed, number, 2])))
    if categorical:
        params["cat_method"] = str(rng.choice(["sets", "statistics", "auto"], p=[0.6, 0.2, 0.2]))
    if loss.startswith("rank"):
        columns["qid"] = np.sort(rng.integers(0, max(1, n_rows // 12), n_rows))
    elif rng.random() < 0.4:
        columns["weight"] = _weights(rng, n_rows)
    params.update(_leaves(rng, params))
    params.update(_dropping(np.random.default_rng([seed, number, 3])))
    name = f"--seed {seed} --first {number} --count 1"
    return Recipe(name, params, values, columns, categorical)


def _values(
    rng: np.random.Generator, n_rows: int, n_features: int
) -> tuple[npt.NDArray[np.float32], tuple[int, ...]]:
    X = rng.normal(size=(n_rows, n_features))
    kinds = rng.choice(["normal", "heavy", "few", "constant"], n_features, p=[0.4, 0.2, 0.3, 0.1])
    X[:, kinds == "heavy"] = rng.standard_t(1, (n_rows, n_features))[:, kinds == "heavy"]
    X[:, kinds == "few"] = X[:, kinds == "few"].round()
    X[:, kinds == "constant"] = 3
    categorical = rng.random(n_features) < (0.4 if rng.random() < 0.25 else 0)
    levels = rng.integers(0, rng.integers(1, 60, n_features), (n_rows, n_features))
    X[:, categorical] = levels[:, categorical]
    X[rng.random(X.shape) < rng.choice([0, 0.1, 0.9], n_features)] = np.nan
    if rng.random() < 0.05:
        X[:] = np.nan
    return X.astype(np.float32), tuple(np.flatnonzero(categorical).tolist())


def _weights(rng: np.random.Generator, n_rows: int) -> npt.NDArray[np.float32]:
    weight = np.exp(2 * rng.normal(size=n_rows)).astype(np.float32)
    if rng.random() < 0.5:
        weight = rng.integers(0, 4, n_rows).astype(np.float32)
    weight[rng.integers(n_rows)] = 1  # they must not all be 0
    return weight


def _growth(rng: np.random.Generator, n_features: int) -> dict[str, Any]:
    depth, leaves = int(rng.integers(1, 9)), int(rng.choice([2, 3, 7, 31, 70]))
    ways: list[dict[str, Any]] = [
        {"max_depth": depth},
        {"max_depth": depth, "max_leaves": leaves},
        {"max_depth": 0},
        {"max_depth": 0, "max_leaves": leaves, "grow_policy": "lossguide"},
        {"max_depth": depth, "max_leaves": leaves, "grow_policy": "lossguide"},
        {"max_depth": min(depth, 6), "grow_policy": "symmetric"},
        {"max_depth": depth, "boosting_type": "ordered"},
    ]
    return ways[rng.choice(len(ways), p=[0.35, 0.1, 0.1, 0.15, 0.1, 0.15, 0.05])]


def _method(rng: np.random.Generator, n_features: int) -> dict[str, Any]:
    bins = int(rng.choice([2, 7, 16, 64, 256, 700]))
    ways: list[dict[str, Any]] = [
        {"tree_method": "hist", "max_bin": bins},
        {},
        {"tree_method": "exact"},
        {"tree_method": "approx", "max_bin": min(bins, 64)},
        {"tree_method": "approx", "max_bin": min(bins, 64), "proposal": "local"},
    ]
    return ways[rng.choice(len(ways), p=[0.55, 0.2, 0.1, 0.1, 0.05])]


def _sampling(rng: np.random.Generator, n_features: int) -> dict[str, Any]:
    share = float(rng.choice([0.05, 0.2, 0.5, 0.9]))
    ways: list[dict[str, Any]] = [
        {},
        {"subsample": share},
        {"subsample": share, "sampling_method": "gradient_based"},
        {"sampling_method": "goss", "learning_rate": 0.7},
    ]
    return ways[rng.choice(len(ways), p=[0.4, 0.2, 0.25, 0.15])]


def _columns(rng: np.random.Generator, n_features: int) -> dict[str, Any]:
    stages = ("colsample_bytree", "colsample_bylevel", "colsample_bynode")
    return {stage: 0.6 for stage in stages if rng.random() < 0.15}


def _chance(rng: np.random.Generator) -> dict[str, Any]:
    drawn: dict[str, Any] = {"extra_trees": True} if rng.random() < 0.15 else {}
    return {**drawn, "random_strength": 1.0} if rng.random() < 0.15 else drawn


def _rule(rng: np.random.Generator) -> dict[str, Any]:
    return {"cut_rule": "xgboost"} if rng.random() < 0.25 else {}


def _dropping(rng: np.random.Generator) -> dict[str, Any]:
    return {"booster": "dart", "rate_drop": 0.4, "one_drop": True} if rng.random() < 0.15 else {}


def _penalties(rng: np.random.Generator, n_features: int) -> dict[str, Any]:
    every = {"reg_lambda": 0.1, "reg_alpha": 0.3, "gamma": 0.05, "min_child_weight": 0.0,
             "max_delta_step": 0.4, "min_samples_leaf": 7}  # fmt: skip
    return {name: value for name, value in every.items() if rng.random() < 0.15}


def _constraints(rng: np.random.Generator, n_features: int) -> dict[str, Any]:
    if rng.random() < 0.1:
        return {"monotone_constraints": rng.integers(-1, 2, n_features).tolist()}
    if rng.random() < 0.1:
        return {"interaction_constraints": [[0], sorted({0, n_features - 1, n_features // 2})]}
    return {}


def _leaves(rng: np.random.Generator, params: dict[str, Any]) -> dict[str, Any]:
    """Return what is drawn last, so that the rest of a training is as it was before."""
    steps = {"leaf_estimation_iterations": int(rng.integers(2, 6))} if rng.random() < 0.2 else {}
    if "sampling_method" in params or rng.random() > 0.2:
        return steps
    temperature = float(rng.choice([0.3, 1.0, 30.0]))
    weights = {"sampling_method": "bayesian", "bagging_temperature": temperature}
    return {**steps, **weights, "bagging_freq": int(rng.integers(0, 3))}


def _forest(rng: np.random.Generator, n_features: int) -> dict[str, Any]:
    return {"num_parallel_tree": int(rng.integers(2, 5))} if rng.random() < 0.2 else {}
