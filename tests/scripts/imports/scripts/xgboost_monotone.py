"""Monotone constraints by the names of columns."""

import numpy as np
import xgboost as xgb
from sklearn.datasets import load_diabetes
from sklearn.metrics import r2_score

X, y = load_diabetes(return_X_y=True, as_frame=True)
params = {
    "max_depth": 4,
    "learning_rate": 0.1,
    "n_estimators": 40,
    "monotone_constraints": {"bmi": 1, "bp": 1, "s3": -1},
    "interaction_constraints": [["bmi", "bp", "s5"], ["s3", "age", "sex"]],
}
reg = xgb.XGBRegressor(**params)
reg.fit(X[:340], y[:340])
grid = np.linspace(X["bmi"].min(), X["bmi"].max(), 30)
curves = []
for value in grid:
    at = X[340:].copy()
    at["bmi"] = value
    curves.append(reg.predict(at))
assert (np.diff(curves, axis=0) >= 0).all()
print("score r2", r2_score(y[340:], reg.predict(X[340:])), 0.06)
print("score slope", np.mean(curves[-1] - curves[0]), 0.2)
print("same parameters", reg.get_params()["monotone_constraints"])
