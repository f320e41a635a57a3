"""Data that suit each loss: few distinct values a feature, labels that the loss takes."""

from __future__ import annotations

import numpy as np

from pyopencl_gbdt.objectives import OBJECTIVES, get_objective

#: What losses cannot do without.
NEEDED = {"multi:softprob": {"num_class": 4}, "multi:softmax": {"num_class": 3}}

#: Losses with their own parameters at other values than the defaults.
WITH_PARAMETERS = [
    ("reg:pseudohubererror", {"huber_slope": 3.0}),
    ("reg:tweedie", {"tweedie_variance_power": 1.3}),
    ("reg:tweedie", {"tweedie_variance_power": 1.0}),
    ("reg:logistic", {"scale_pos_weight": 2.0}),
    ("binary:logistic", {"scale_pos_weight": 3.0}),
    ("binary:logitraw", {"scale_pos_weight": 0.25}),
    ("count:poisson", {"max_delta_step": 0.2}),
    ("huber", {"huber_alpha": 1.7}),
    ("fair", {"fair_c": 0.3}),
    ("reg:quantileerror", {"quantile_alpha": 0.1}),
    ("reg:quantileerror", {"quantile_alpha": 0.95}),
    ("reg:expectileerror", {"expectile_alpha": 0.2}),
]
#: What XGBoost has no default for.
ASKED_FOR = {"reg:quantileerror": {"quantile_alpha": 0.5}}
DEFAULTS = {**NEEDED, **ASKED_FOR}
#: Losses that look at more than a label and margins, or have a test module of their own.
OTHERS = ("rank:", "survival:", "dist:")
#: (loss, its own parameters): every other loss at its defaults, then those above.
LOSSES = [
    *((name, DEFAULTS.get(name, {})) for name in OBJECTIVES if not name.startswith(OTHERS)),
    *WITH_PARAMETERS,
]
#: Losses of one margin a row, and those of them whose gradient is a function of margin and label.
ONE_OUTPUT = [case for case in LOSSES if get_objective(*case).n_outputs == 1]
PER_ROW = [case for case in ONE_OUTPUT if not get_objective(*case).given]
#: Losses that XGBoost lacks and LightGBM has; those that neither has.
LIGHTGBM = ("huber", "fair", "mape", "cross_entropy")
OWN: tuple[str, ...] = ()
#: Losses that XGBoost has since 3.4.
NEWER = ("reg:expectileerror",)
XGBOOST = [(name, params) for name, params in LOSSES if name not in LIGHTGBM + OWN + NEWER]


def name_of(case) -> str:
    """Return a readable id of a loss with parameters."""
    name, params = case
    return "-".join([name, *(f"{value:g}" for value in params.values())])


def label_of(objective: str, signal: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw labels around a signal of mean 0."""
    n = signal.size
    mean = np.exp(np.clip(signal, -2, 2))
    if objective == "count:poisson":
        y = rng.poisson(mean)
    elif objective == "reg:tweedie":
        y = rng.poisson(mean) * rng.gamma(2, 0.5, n)
    elif objective in ("reg:gamma", "reg:squaredlogerror"):
        y = mean * rng.gamma(2, 0.5, n) + 1e-3
    elif objective in ("reg:logistic", "cross_entropy"):
        y = 1 / (1 + np.exp(-signal - rng.logistic(size=n)))
        y[::7] = 1
    elif objective.startswith("binary:"):
        y = signal + rng.logistic(size=n) > 0.2
    elif objective in NEEDED:
        n_classes = NEEDED[objective]["num_class"]
        y = np.clip(np.floor(signal + rng.logistic(size=n) + n_classes / 2), 0, n_classes - 1)
    elif objective == "mape":
        y = 5 + signal + rng.normal(0, 0.4, n)
    else:
        y = signal + rng.normal(0, 0.4, n)
    return np.asarray(y, np.float32)


def few_values(objective: str, seed: int, n_rows: int = 3000):
    """Return X with few distinct values a feature, some missing, and labels."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 4 + 5 * f, n_rows) for f in range(6)]).astype(np.float32)
    X[:, :3][rng.random((n_rows, 3)) < 0.15] = np.nan
    signal = np.nan_to_num(X, nan=2.5) @ rng.standard_normal(6) / 6
    return X, label_of(objective, signal - signal.mean(), rng)
