"""Train on rows, predict others: ours and the peers at one setting.

All take as many rounds, the same depth, learning rate, bins and L2 penalty, and the same least sum
of Hessians in a child; CatBoost and scikit-learn have a least number of rows instead, which gets
the same number. Nothing is sampled, nothing is stopped early. Peers run on one thread: on a busy
processor waiting threads take longer than the work.

Categorical columns go to each library as its own kind of categories, with its own defaults.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bench.task_data import Table
from bench.task_list import ALPHA, Task
from pyopencl_gbdt import Dataset, train

#: scikit-learn's ``min_hessian_to_split``.
LEAST_HESSIAN = 1e-3
#: Most levels of a categorical column that scikit-learn takes.
SKLEARN_LEVELS = 255


@dataclass(frozen=True)
class Budget:
    """What every system gets."""

    rounds: int = 100
    depth: int = 6
    learning_rate: float = 0.1
    bins: int = 255
    l2: float = 1.0
    least_hessian: float = LEAST_HESSIAN
    """Sum of Hessians in a child."""
    device: str = "auto"
    """Of ours; the peers run on the processor."""

    @property
    def least_rows(self) -> int:
        """Rows in a leaf, where a library knows no least Hessian."""
        return max(1, round(self.least_hessian))


def _xgboost_params(task: Task, rows: Table, budget: Budget) -> dict[str, Any]:
    """Return parameters as XGBoost and ours call them."""
    params = {
        "objective": task.objective, "max_depth": budget.depth, "max_bin": budget.bins,
        "learning_rate": budget.learning_rate, "reg_lambda": budget.l2,
        "min_child_weight": budget.least_hessian,
        **task.params,
    }  # fmt: skip
    return {**params, "num_class": rows.n_classes} if task.kind == "classes" else params


def _extras(task: Task, rows: Table) -> tuple[Any, dict[str, Any]]:
    """Return labels and what stands beside them, by the names of XGBoost's ``DMatrix``."""
    if task.objective == "survival:cox":
        assert rows.upper is not None
        return np.where(np.isfinite(rows.upper), rows.y, -rows.y), {}
    values = {"qid": rows.query, "label_lower_bound": rows.y, "label_upper_bound": rows.upper}
    return rows.y, {name: values[name] for name in task.needs}


def _hazard_last(task: Task, predicted: Any) -> Any:
    """Turn hazards round: more is longer, as for times."""
    return -predicted if task.objective == "survival:cox" else predicted


def ours(task: Task, rows: Table, unseen: Table, budget: Budget, **more: Any) -> Any:
    label, extras = _extras(task, rows)
    data = Dataset(rows.X, label, categorical_features=list(rows.categorical) or None, **extras)
    params = {**_xgboost_params(task, rows, budget), "device": budget.device, **more}
    model = train(params, data, budget.rounds)
    return _hazard_last(task, model.predict(unseen.X, device=budget.device))


def xgboost(task: Task, rows: Table, unseen: Table, budget: Budget) -> Any:
    import xgboost as library

    label, extras = _extras(task, rows)
    params = {**_xgboost_params(task, rows, budget), "tree_method": "hist", "nthread": 1}
    types = ["c" if c in rows.categorical else "q" for c in range(rows.X.shape[1])]
    own = {"feature_types": types, "enable_categorical": True} if rows.categorical else {}
    booster = library.train(params, library.DMatrix(rows.X, label, **extras, **own), budget.rounds)
    return _hazard_last(task, booster.predict(library.DMatrix(unseen.X, **own)))


def lightgbm(task: Task, rows: Table, unseen: Table, budget: Budget) -> Any:
    import lightgbm as library

    params = {
        "objective": task.lightgbm, "num_leaves": 2**budget.depth, "max_depth": budget.depth,
        "max_bin": budget.bins, "learning_rate": budget.learning_rate, "lambda_l2": budget.l2,
        "min_sum_hessian_in_leaf": budget.least_hessian, "min_data_in_leaf": 1,
        "min_data_in_bin": 1, "alpha": ALPHA, "tweedie_variance_power": 1.5, "verbosity": -1,
        "num_threads": 1,
    }  # fmt: skip
    if task.kind == "classes":
        params["num_class"] = rows.n_classes
    sizes = None if rows.query is None else np.unique(rows.query, return_counts=True)[1]
    columns = list(rows.categorical)
    data = library.Dataset(rows.X, rows.y, group=sizes, params=params, categorical_feature=columns)
    return library.train(params, data, budget.rounds).predict(unseen.X)


def catboost(task: Task, rows: Table, unseen: Table, budget: Budget, **more: Any) -> Any:
    import catboost as library
    import pandas

    params = {
        "loss_function": task.catboost, "iterations": budget.rounds, "depth": budget.depth,
        "learning_rate": budget.learning_rate, "border_count": budget.bins - 1,
        "l2_leaf_reg": budget.l2, "grow_policy": "Depthwise",
        "min_data_in_leaf": budget.least_rows, "bootstrap_type": "No", "random_strength": 0,
        "boosting_type": "Plain", "leaf_estimation_iterations": 1, "logging_level": "Silent",
        "allow_writing_files": False, "thread_count": 1, **more,
    }  # fmt: skip
    name, label = task.catboost.split(":")[0], rows.y
    if name == "SurvivalAft":
        assert rows.upper is not None
        label = np.column_stack([rows.y, np.where(np.isinf(rows.upper), -1, rows.upper)])
    elif name == "Cox":
        label, _ = _extras(task, rows)
    elif name == "Logloss":
        params["boost_from_average"] = True
    start = np.log(rows.y.mean()) if name in ("Poisson", "Tweedie") else 0.0

    def pool(table: Table, label: Any = None) -> Any:
        baseline = np.full(table.y.size, start) if start else None
        own = {"group_id": table.query, "baseline": baseline}
        if not table.categorical:
            return library.Pool(table.X, label, **own)
        columns: list[Any] = list(table.X.T)
        for column in table.categorical:
            columns[column] = columns[column].astype(np.int64)
        frame = pandas.DataFrame(dict(enumerate(columns)))
        return library.Pool(frame, label, cat_features=list(table.categorical), **own)

    model = library.CatBoost(params)
    model.fit(pool(rows, label))
    if name in ("Logloss", "MultiClass"):
        predicted = model.predict(pool(unseen), prediction_type="Probability")
        return predicted[:, 1] if name == "Logloss" else predicted
    predicted = model.predict(pool(unseen), prediction_type="RawFormulaVal")
    return np.exp(predicted) if name in ("Poisson", "Tweedie") else _hazard_last(task, predicted)


def sklearn(task: Task, rows: Table, unseen: Table, budget: Budget) -> Any:
    from sklearn import ensemble
    from threadpoolctl import threadpool_limits

    params = {
        "loss": task.sklearn, "max_iter": budget.rounds, "max_depth": budget.depth,
        "learning_rate": budget.learning_rate, "max_bins": min(255, budget.bins),
        "max_leaf_nodes": 2**budget.depth, "min_samples_leaf": budget.least_rows,
        "l2_regularization": budget.l2, "early_stopping": False,
    }  # fmt: skip
    if task.sklearn == "quantile":
        params["quantile"] = ALPHA
    if rows.categorical:
        params["categorical_features"] = list(rows.categorical)
    kind = "Classifier" if task.kind in ("binary", "classes") else "Regressor"
    with threadpool_limits(1):
        model = getattr(ensemble, f"HistGradientBoosting{kind}")(**params).fit(rows.X, rows.y)
        predicted = (model.predict if kind == "Regressor" else model.predict_proba)(unseen.X)
    return predicted[:, 1] if task.kind == "binary" else predicted


#: Every system by the name of its module and of the field of ``Task`` with its loss.
SYSTEMS: dict[str, Callable[[Task, Table, Table, Budget], Any]] = {
    "ours": ours,
    "xgboost": xgboost,
    "lightgbm": lightgbm,
    "catboost": catboost,
    "sklearn": sklearn,
}


#: Measured where columns are categorical: CatBoost's own default are symmetric trees.
SYMMETRIC: dict[str, Callable[[Task, Table, Table, Budget], Any]] = {
    "ours, symmetric": partial(ours, grow_policy="symmetric"),
    "catboost, symmetric": partial(catboost, grow_policy="SymmetricTree"),
}


def installed() -> list[str]:
    """Return the systems that are here."""
    return [name for name in SYSTEMS if name == "ours" or importlib.util.find_spec(name)]


def takes(name: str, task: Task, table: Table) -> bool:
    """Return whether a peer knows the loss and the categories of a table."""
    if name == "sklearn" and table.categorical:
        most = max(np.unique(table.X[:, column]).size for column in table.categorical)
        if most > SKLEARN_LEVELS:
            return False
    return name == "xgboost" or bool(getattr(task, name))
