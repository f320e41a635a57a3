"""Losses: quantiles, Poisson counts with weights, absolute errors."""

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import mean_absolute_error, mean_pinball_loss, mean_poisson_deviance

X, y = load_diabetes(return_X_y=True)
train, test = np.arange(len(y)) % 3 != 0, np.arange(len(y)) % 3 == 0
common = {"max_iter": 50, "max_leaf_nodes": 6, "learning_rate": 0.08}
for q in (0.1, 0.9):
    reg = HistGradientBoostingRegressor(loss="quantile", quantile=q, **common)
    p = reg.fit(X[train], y[train]).predict(X[test])
    print(f"score pinball_{q}", mean_pinball_loss(y[test], p, alpha=q), 0.1)
counts, weight = np.round(y / 20), np.where(X[:, 1] > 0, 1.0, 2.0)
reg = HistGradientBoostingRegressor(loss="poisson", l2_regularization=1.0, **common)
reg.fit(X[train], counts[train], sample_weight=weight[train])
print("score deviance", mean_poisson_deviance(counts[test], reg.predict(X[test])), 0.06)
reg = HistGradientBoostingRegressor(loss="absolute_error", **common).fit(X[train], y[train])
print("score mae", mean_absolute_error(y[test], reg.predict(X[test])), 0.05)
