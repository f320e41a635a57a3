"""Grow random forests, and boosted ones."""

from sklearn.datasets import load_breast_cancer, load_diabetes

from pyopencl_gbdt import GBDTClassifier, GBDTRandomForestClassifier, GBDTRandomForestRegressor

X, y = load_breast_cancer(return_X_y=True)
assert GBDTRandomForestClassifier(n_estimators=20, random_state=0).fit(X, y).score(X, y) > 0.95
boosted = GBDTClassifier(n_estimators=3, num_parallel_tree=4, subsample=0.8, random_state=0)
assert boosted.fit(X, y).score(X, y) > 0.95
X, y = load_diabetes(return_X_y=True)
assert GBDTRandomForestRegressor(n_estimators=20, random_state=0).fit(X, y).score(X, y) > 0.5
