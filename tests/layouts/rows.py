"""Rows with labels of every kind, losses of every family, and ways to grow trees."""

import numpy as np

N = 700
RNG = np.random.default_rng(3)
X = RNG.normal(size=(N, 5)).astype(np.float32)
X[RNG.random((N, 5)) < 0.1] = np.nan
X[:, 3] = RNG.integers(0, 3, N)
SIGNAL = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) * X[:, 3] + RNG.normal(0, 0.3, N)
#: The same rows first in every page but the first have no node to share with it.
ORDER = np.argsort(SIGNAL)
WEIGHT = RNG.random(N).astype(np.float32)
LABELS = {
    "number": SIGNAL.astype(np.float32),
    "two classes": (SIGNAL > 0).astype(np.float32),
    "classes": np.digitize(SIGNAL, [-1, 1]).astype(np.float32),
    "count": np.floor(np.exp(np.clip(SIGNAL, -2, 2))).astype(np.float32),
    "times": (np.exp(np.clip(SIGNAL, -2, 2)) * RNG.choice([-1, 1], N)).astype(np.float32),
    "grades": np.digitize(SIGNAL, [-1, 0, 1]).astype(np.float32),
    "two targets": np.stack([SIGNAL, -(SIGNAL**2)], axis=1).astype(np.float32),
}
#: A loss of every family: its label, and what the data set needs besides.
LOSSES = {
    "reg:squarederror": ("number", {}),
    "binary:logistic": ("two classes", {}),
    "multi:softprob": ("classes", {"num_class": 3}),
    "count:poisson": ("count", {}),
    "reg:absoluteerror": ("number", {}),
    "reg:quantileerror": ("number", {"quantile_alpha": [0.2, 0.9]}),
    "survival:cox": ("times", {}),
    "rank:ndcg": ("grades", {}),
    "reg:squarederror of two targets": ("two targets", {}),
}
GROWTH = {
    "level by level": {},
    "few leaves": {"max_leaves": 7},
    "leaf by leaf": {"grow_policy": "lossguide", "max_leaves": 9, "max_depth": 0},
    "symmetric": {"grow_policy": "symmetric", "min_child_weight": 9},
    "half of the rows": {"subsample": 0.5},
    "rows by gradient": {"subsample": 0.5, "sampling_method": "gradient_based"},
    "goss": {"sampling_method": "goss"},
    "random weights": {"sampling_method": "bayesian", "subsample": 0.8, "bagging_freq": 2},
    "a forest": {"num_parallel_tree": 3, "subsample": 0.7, "colsample_bynode": 0.6},
    "columns": {"colsample_bytree": 0.7, "colsample_bylevel": 0.7, "colsample_bynode": 0.7},
    "monotone": {"monotone_constraints": [1, 0, 0, -1, 0]},
    "any codes": {"histogram": "bin_range_passes"},
    "many bins": {"max_bin": 400},
}
