"""Ask a model for its margins, its stages, its leaves and its history."""

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes

from pyopencl_gbdt import GBDTClassifier, GBDTRegressor

X, y = load_breast_cancer(return_X_y=True)
model = GBDTClassifier(n_estimators=6, max_depth=3).fit(X, y, eval_set=[(X, y)], verbose=False)
margins = model.decision_function(X)
assert np.array_equal(margins > 0, model.predict(X) == 1)
assert np.allclose(model.predict_log_proba(X), np.log(model.predict_proba(X)))
stages = list(model.staged_predict_proba(X))
assert len(stages) == 6
assert np.array_equal(stages[-1], model.predict_proba(X))
assert np.array_equal(list(model.staged_predict(X))[-1], model.predict(X))
leaves = model.apply(X)
assert leaves.shape == (len(X), 6)
assert len(np.unique(leaves[:, 0])) <= 8
assert model.n_classes_ == 2
assert np.isfinite(model.intercept_).all()
print("training scores", model.train_score_, "validation scores", model.validation_score_)

X, y = load_diabetes(return_X_y=True)
model = GBDTRegressor(n_estimators=6, max_depth=3).fit(X, y)
assert np.array_equal(list(model.staged_predict(X))[-1], model.predict(X))
