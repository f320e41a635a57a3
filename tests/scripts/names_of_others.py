"""Bring parameters of LightGBM, CatBoost and scikit-learn along."""

import numpy as np

from pyopencl_gbdt import Dataset, GBDTRegressor, train

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4))
y = X[:, 0] + X[:, 1] ** 2
data = Dataset(X, y)
ours = train(
    {"max_depth": 4, "reg_lambda": 2.0, "learning_rate": 0.2, "subsample": 0.8, "seed": 1}, data, 8
)
theirs = train(
    {
        "depth": 4,
        "l2_leaf_reg": 2.0,
        "learning_rate": 0.2,
        "bagging_fraction": 0.8,
        "random_seed": 1,
        "loss_function": "RMSE",
    },
    data,
    8,
)
assert np.array_equal(ours.predict(X), theirs.predict(X))
for name, value in [("use_label_encoder", False), ("silent", True), ("bagging_freq", 5)]:
    try:
        train({name: value}, data, 2)
    except ValueError as error:
        print(error)
        assert name in str(error)
assert GBDTRegressor(n_estimators=3, max_depth=-1).fit(X, y).predict(X).shape == (300,)
try:
    GBDTRegressor().fit(X, y, eval_metric="rmse")
except TypeError as error:
    print(error)
    assert "GBDTRegressor(" in str(error)
else:
    raise AssertionError("fit took eval_metric")
