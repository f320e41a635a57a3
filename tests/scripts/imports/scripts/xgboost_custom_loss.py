"""A loss and a metric of one's own: squared log error, as in XGBoost's tutorial."""

import numpy as np
import xgboost as xgb
from sklearn.datasets import load_diabetes

X, y = load_diabetes(return_X_y=True)
dtrain, dtest = xgb.DMatrix(X[:300], y[:300]), xgb.DMatrix(X[300:], y[300:])


def squared_log(predt, dtrain):
    y = dtrain.get_label()
    predt = np.maximum(predt, -1 + 1e-6)
    grad = (np.log1p(predt) - np.log1p(y)) / (predt + 1)
    hess = (-np.log1p(predt) + np.log1p(y) + 1) / np.power(predt + 1, 2)
    return grad, np.maximum(hess, 1e-6)


def rmsle(predt, dtrain):
    y = dtrain.get_label()
    predt = np.maximum(predt, -1 + 1e-6)
    return "PyRMSLE", float(np.sqrt(np.mean((np.log1p(y) - np.log1p(predt)) ** 2)))


results = {}
bst = xgb.train(
    {"tree_method": "hist", "seed": 1994, "disable_default_eval_metric": 1, "base_score": 100},
    dtrain=dtrain,
    num_boost_round=20,
    obj=squared_log,
    custom_metric=rmsle,
    evals=[(dtrain, "dtrain"), (dtest, "dtest")],
    evals_result=results,
    verbose_eval=False,
)
print("score train", results["dtrain"]["PyRMSLE"][-1])
print("score test", results["dtest"]["PyRMSLE"][-1])
print("same metrics", *results["dtest"])
