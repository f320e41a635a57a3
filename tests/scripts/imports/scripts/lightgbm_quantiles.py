"""Intervals by two quantile regressions, and a Poisson regression."""

import lightgbm as lgb
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.metrics import mean_pinball_loss, mean_poisson_deviance

X, y = load_diabetes(return_X_y=True)
train, test = slice(0, 330), slice(330, None)
low, high = (
    lgb.LGBMRegressor(
        objective="quantile",
        alpha=alpha,
        n_estimators=60,
        num_leaves=6,
        learning_rate=0.08,
        verbose=-1,
    ).fit(X[train], y[train])
    for alpha in (0.1, 0.9)
)
inside = (low.predict(X[test]) <= y[test]) & (y[test] <= high.predict(X[test]))
print("score coverage", np.mean(inside), 0.1)
print("score low", mean_pinball_loss(y[test], low.predict(X[test]), alpha=0.1), 0.1)
print("score high", mean_pinball_loss(y[test], high.predict(X[test]), alpha=0.9), 0.1)

counts = lgb.LGBMRegressor(objective="poisson", n_estimators=60, num_leaves=6, verbose=-1)
counts.fit(X[train], np.round(y[train] / 20), sample_weight=np.linspace(0.5, 1.5, 330))
mean = counts.predict(X[test])
print("score deviance", mean_poisson_deviance(np.round(y[test] / 20), mean), 0.06)
