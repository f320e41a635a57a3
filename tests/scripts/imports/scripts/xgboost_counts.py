"""Counts with an exposure: Poisson regression with base_margin and weights."""

import numpy as np
import xgboost as xgb
from sklearn.datasets import load_diabetes
from sklearn.metrics import mean_poisson_deviance

X, y = load_diabetes(return_X_y=True)
exposure = 0.5 + np.arange(len(y)) % 5 / 4
count = np.round(y / 20 * exposure)
weight = np.where(np.arange(len(y)) % 7 == 0, 0.5, 1.0)
train, test = slice(0, 330), slice(330, None)

dtrain = xgb.DMatrix(X[train], count[train], weight=weight[train])
dtrain.set_base_margin(np.log(exposure[train]))
dtest = xgb.DMatrix(X[test], count[test], base_margin=np.log(exposure[test]))
params = {"objective": "count:poisson", "eta": 0.15, "max_depth": 3, "max_delta_step": 0.7}
bst = xgb.train(params, dtrain, 60, evals=[(dtest, "test")], verbose_eval=20)
mean = bst.predict(dtest)
print("score deviance", mean_poisson_deviance(count[test], mean), 0.06)
print("score mean", mean.mean())
print("same margin", np.allclose(np.log(mean), bst.predict(dtest, output_margin=True), atol=1e-5))
