"""Quantiles of one model: intervals of predictions."""

import numpy as np
import xgboost as xgb
from sklearn.datasets import load_diabetes
from sklearn.metrics import mean_pinball_loss

X, y = load_diabetes(return_X_y=True)
alpha = np.array([0.1, 0.5, 0.9])
Xy = xgb.QuantileDMatrix(X[:330], y[:330])
Xy_test = xgb.QuantileDMatrix(X[330:], y[330:], ref=Xy)
evals_result = {}
booster = xgb.train(
    {
        "objective": "reg:quantileerror",
        "tree_method": "hist",
        "quantile_alpha": alpha,
        "learning_rate": 0.08,
        "max_depth": 3,
    },
    Xy,
    num_boost_round=40,
    evals=[(Xy, "Train"), (Xy_test, "Test")],
    evals_result=evals_result,
    verbose_eval=False,
)
scores = booster.inplace_predict(X[330:])
inside = (y[330:] >= scores[:, 0]) & (y[330:] <= scores[:, 2])
print("score coverage", inside.mean(), 0.1)
for k, a in enumerate(alpha):
    print(f"score pinball_{a}", mean_pinball_loss(y[330:], scores[:, k], alpha=a), 0.06)
print("score metric", evals_result["Test"]["quantile"][-1], 0.06)
print("same shape", scores.shape)
