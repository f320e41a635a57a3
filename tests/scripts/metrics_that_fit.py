"""Name metrics that do not fit the labels: the error comes at once and says which do."""

import numpy as np

from pyopencl_gbdt import GBDTClassifier, GBDTRegressor

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4))
y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)
for estimator, labels, fits in [
    (GBDTClassifier(eval_metric="logloss", early_stopping_rounds=3), y, "mlogloss"),
    (GBDTClassifier(eval_metric="merror"), y > 0, "error"),
    (GBDTClassifier(eval_metric="mlogloss"), y > 0, "logloss"),
    (GBDTRegressor(eval_metric="auc"), X[:, 2], "rmse"),
]:
    try:
        estimator.fit(X, labels, eval_set=[(X, labels)], verbose=False)
    except ValueError as error:
        print(error)
        assert str(estimator.eval_metric) in str(error)
        assert fits in str(error)
    else:
        raise AssertionError(f"{estimator.eval_metric} was taken")
GBDTClassifier(n_estimators=3, eval_metric="mlogloss").fit(X, y, eval_set=[(X, y)], verbose=False)
