"""Cross-validate with early stopping, as with xgboost.cv."""

import numpy as np

from pyopencl_gbdt import Dataset, cv

rng = np.random.default_rng(0)
X = rng.normal(size=(400, 4))
y = (X[:, 0] + rng.normal(size=400) > 0).astype(float)
found = cv(
    {"objective": "binary:logistic", "eta": 0.3, "max_depth": 3},
    Dataset(X, y),
    30,
    nfold=3,
    metrics=("auc", "logloss"),
    early_stopping_rounds=4,
    seed=2,
    stratified=True,
    as_pandas=False,
)
assert 0 < len(found["test-auc-mean"]) <= 30
assert max(found["test-auc-mean"]) > 0.75
