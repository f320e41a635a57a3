"""Ask a model what made its predictions, how they change, and which features can go."""

import numpy as np
from sklearn.datasets import load_diabetes

from pyopencl_gbdt import GBDTRegressor, partial_dependence, proximities, select_features
from pyopencl_gbdt.explain import explain

X, y = load_diabetes(return_X_y=True, as_frame=True)
model = GBDTRegressor(n_estimators=20, max_depth=3).fit(X, y)
found = explain(model, X)
assert np.array_equal(found.values.sum(axis=1) + found.base, model.predict(X))
strongest = found.feature_names[np.abs(found.values).mean(axis=0).argmax()]
print("strongest", strongest, found.to_frame().iloc[0].round(1).to_dict())
curve = partial_dependence(model, X, strongest, kind="both")
assert curve.average.shape == (1, len(curve.grid[0]))
assert np.allclose(curve.individual.mean(axis=1), curve.average, rtol=1e-5)
assert (np.diagonal(proximities(model, X)) == 1).all()
small = GBDTRegressor(n_estimators=20, max_depth=3)
train, test = (X[:300], y[:300]), (X[300:], y[300:])
best = select_features(small, *train, eval_set=test, num_features_to_select=4, steps=3)
assert len(best.selected) == 4
assert best.model.predict(X[best.selected]).shape == (len(X),)
print("selected", best.selected, best.n_features, best.losses)
