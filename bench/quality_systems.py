"""Fit one library on one split of a table, as ``python -m bench quality`` compares them.

Kind `default`: the estimator as its library makes it, fitted on all rows to train on. Kind `early`:
a learning rate of .05 and at most 1000 rounds; a fifth of the rows to train on is given to stop by,
50 rounds after the best one. Categorical columns go to each library in its own way: codes as
strings to CatBoost, column numbers to LightGBM and ours, feature types to XGBoost, a mask to
scikit-learn, which gets columns of more than 255 levels as numbers.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.quality_tables import TRAIN_SHARE, QualityTable
from pyopencl_gbdt.device.timing import Stopwatch

THREADS = 2
ROUNDS = 1000
RATE = 0.05
PATIENCE = 50
SKLEARN_LEVELS = 255
KINDS = ("default", "early")


@dataclass(frozen=True)
class Rows:
    """Rows to train on, rows to stop by (none for `default`), and rows to predict."""

    X: Any
    y: Any
    stop: tuple[Any, Any] | None
    unseen: Any
    truth: Any
    categorical: list[int]
    classes: int

    @property
    def estimator(self) -> str:
        return "Classifier" if self.classes else "Regressor"


def split(table: QualityTable, seed: int, kind: str) -> Rows:
    """Return a seeded split: 70 % to train, the others to predict; by class where there are."""
    digest = hashlib.sha256(f"{table.name} {seed}".encode()).digest()
    rng = np.random.default_rng(int.from_bytes(digest[:8], "big"))
    order = rng.permutation(table.y.size)
    groups = [order[table.y[order] == c] for c in range(table.n_classes)] or [order]
    train, stop, unseen = [], [], []
    for group in groups:
        first = round(TRAIN_SHARE * group.size)
        held = round(0.2 * first) if kind == "early" else 0
        stop.append(group[:held])
        train.append(group[held:first])
        unseen.append(group[first:])
    taken, held_out, rest = (np.sort(np.concatenate(part)) for part in (train, stop, unseen))
    X, y = table.X, table.y
    early = (X[held_out], y[held_out]) if held_out.size else None
    return Rows(
        X[taken], y[taken], early, X[rest], y[rest], list(table.categorical), table.n_classes
    )


def score(rows: Rows, predicted: Any) -> float:
    """Return the log loss, or the root of the mean squared error."""
    predicted = np.asarray(predicted, np.float64)
    if not rows.classes:
        return float(np.sqrt(np.mean((predicted - rows.truth) ** 2)))
    chosen = predicted[np.arange(rows.truth.size), rows.truth.astype(int)]
    total = predicted.sum(axis=1)
    return float(-np.mean(np.log(np.clip(chosen / total, 1e-7, 1.0))))


def ours(rows: Rows, settings: dict[str, Any]) -> tuple[Any, Any]:
    library = importlib.import_module("pyopencl_gbdt")
    early: dict[str, Any] = {}
    if rows.stop:
        early = {
            "learning_rate": RATE, "n_estimators": ROUNDS, "early_stopping_rounds": PATIENCE,
        }  # fmt: skip
    model = getattr(library, f"GBDT{rows.estimator}")(
        **{**early, **settings}, categorical_features=rows.categorical or None
    )
    more = {"eval_set": [rows.stop], "verbose": False} if rows.stop else {}
    return model.fit(rows.X, rows.y, **more), rows.unseen


def xgboost(rows: Rows, settings: dict[str, Any]) -> tuple[Any, Any]:
    library = importlib.import_module("xgboost")
    params: dict[str, Any] = {"n_jobs": THREADS}
    if rows.categorical:
        types = ["c" if c in rows.categorical else "q" for c in range(rows.X.shape[1])]
        params |= {"feature_types": types, "enable_categorical": True}
    if rows.stop:
        params |= {"learning_rate": RATE, "n_estimators": ROUNDS, "early_stopping_rounds": PATIENCE}
    model = getattr(library, f"XGB{rows.estimator}")(**params, **settings)
    more = {"eval_set": [rows.stop], "verbose": False} if rows.stop else {}
    return model.fit(rows.X, rows.y, **more), rows.unseen


def lightgbm(rows: Rows, settings: dict[str, Any]) -> tuple[Any, Any]:
    library = importlib.import_module("lightgbm")
    params: dict[str, Any] = {"n_jobs": THREADS, "verbosity": -1}
    more: dict[str, Any] = {"categorical_feature": rows.categorical or "auto"}
    if rows.stop:
        params |= {"learning_rate": RATE, "n_estimators": ROUNDS}
        more |= {"eval_set": [rows.stop],
                 "callbacks": [library.early_stopping(PATIENCE, verbose=False)]}  # fmt: skip
    model = getattr(library, f"LGBM{rows.estimator}")(**params, **settings)
    return model.fit(rows.X, rows.y, **more), rows.unseen


def catboost(rows: Rows, settings: dict[str, Any]) -> tuple[Any, Any]:
    library = importlib.import_module("catboost")
    numeric = [c for c in range(rows.X.shape[1]) if c not in rows.categorical]

    def pool(X: Any, y: Any = None) -> Any:
        if not rows.categorical:
            return library.Pool(X, y)
        text = np.where(np.isnan(X[:, rows.categorical]), -1, X[:, rows.categorical])
        features = {"cat_feature_data": text.astype(np.int64).astype("S").astype(object)}
        if numeric:
            features["num_feature_data"] = np.ascontiguousarray(X[:, numeric])
        return library.Pool(library.FeaturesData(**features), y)

    params = {"thread_count": THREADS, "logging_level": "Silent", "allow_writing_files": False}
    more: dict[str, Any] = {}
    if rows.stop:
        params |= {"learning_rate": RATE, "iterations": ROUNDS}
        more = {"eval_set": pool(*rows.stop), "early_stopping_rounds": PATIENCE}
    model = getattr(library, f"CatBoost{rows.estimator}")(**params, **settings)
    return model.fit(pool(rows.X, rows.y), **more), pool(rows.unseen)


def sklearn(rows: Rows, settings: dict[str, Any]) -> tuple[Any, Any]:
    library = importlib.import_module("sklearn.ensemble")
    few = [c for c in rows.categorical if np.nanmax(rows.X[:, c]) < SKLEARN_LEVELS]
    params: dict[str, Any] = {"categorical_features": few or None}
    more = {}
    if rows.stop:
        params |= {"learning_rate": RATE, "max_iter": ROUNDS, "early_stopping": True}
        params |= {"n_iter_no_change": PATIENCE, "scoring": "loss"}
        more = dict(zip(("X_val", "y_val"), rows.stop, strict=True))
    model = getattr(library, f"HistGradientBoosting{rows.estimator}")(**params, **settings)
    return model.fit(rows.X, rows.y, **more), rows.unseen


PEERS: dict[str, Callable[[Rows, dict[str, Any]], tuple[Any, Any]]] = {
    "xgboost": xgboost,
    "lightgbm": lightgbm,
    "catboost": catboost,
    "sklearn": sklearn,
}


def measure(table: QualityTable, seed: int, kind: str, system: str, settings: dict[str, Any]
            ) -> dict[str, Any]:  # fmt: skip
    """Return the score and the seconds of one fit."""
    rows = split(table, seed, kind)
    fit = PEERS.get(system, ours)
    watch, busy = Stopwatch(), Stopwatch(processor=True)
    model, unseen = fit(rows, settings)
    seconds, processor = watch.lap(), busy.lap()
    predicted = model.predict_proba(unseen) if rows.classes else model.predict(unseen)
    predicting = watch.lap()
    found = {
        "score": score(rows, predicted), "seconds": seconds, "processor": processor,
        "predicting": predicting,
    }  # fmt: skip
    for name in ("best_iteration", "best_iteration_", "n_iter_"):
        best = getattr(model, name, None)
        if isinstance(best, int | np.integer):
            found["rounds"] = int(best)
            break
    return found
