"""Find the number of rounds by cv, then train on all rows."""

import numpy as np
import xgboost as xgb
from sklearn.datasets import load_diabetes
from sklearn.metrics import mean_squared_error, r2_score

X, y = load_diabetes(return_X_y=True)
train, test = np.arange(len(y)) % 4 != 0, np.arange(len(y)) % 4 == 0
dtrain = xgb.DMatrix(X[train], y[train])
params = {"eta": 0.1, "max_depth": 3, "lambda": 2.0, "objective": "reg:squarederror"}

cv = xgb.cv(
    params,
    dtrain,
    num_boost_round=200,
    nfold=5,
    metrics="rmse",
    early_stopping_rounds=15,
    seed=0,
)
best = len(cv)
bst = xgb.train(params, dtrain, num_boost_round=best)
prediction = bst.predict(xgb.DMatrix(X[test]))
print("score cv_rmse", cv["test-rmse-mean"].iloc[-1])
print("score rmse", mean_squared_error(y[test], prediction) ** 0.5)
print("score r2", r2_score(y[test], prediction), 0.1)
print("same columns", *cv.columns)
