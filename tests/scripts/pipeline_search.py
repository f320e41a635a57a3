"""Search parameters of a pipeline, calibrate, and score by cross-validation."""

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_wine
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pyopencl_gbdt import GBDTClassifier

X, y = load_wine(return_X_y=True)
pipeline = make_pipeline(StandardScaler(), GBDTClassifier(n_estimators=30, learning_rate=0.3))
search = GridSearchCV(pipeline, {"gbdtclassifier__max_depth": [1, 3]}, cv=3).fit(X, y)
assert search.best_score_ > 0.9, search.best_score_
assert cross_val_score(clone(search.best_estimator_), X, y, cv=3).mean() > 0.9
calibrated = CalibratedClassifierCV(GBDTClassifier(n_estimators=5), cv=2).fit(X, y)
assert np.allclose(calibrated.predict_proba(X).sum(axis=1), 1)
