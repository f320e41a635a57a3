"""Labels that are all the same, counts that are all zero: predictions stay finite."""

import numpy as np

from pyopencl_gbdt import Dataset, GBDTRegressor, train

rng = np.random.default_rng(0)
X = rng.normal(size=(100, 3))
for objective, label, expected in [
    ("binary:logistic", 0.0, 0.0),
    ("binary:logistic", 1.0, 1.0),
    ("count:poisson", 0.0, 0.0),
]:
    model = train({"objective": objective}, Dataset(X, np.full(100, label)), 5)
    assert np.isfinite(model.predict(X, output_margin=True)).all(), objective
    assert np.allclose(model.predict(X), expected, atol=1e-3), (
        objective,
        label,
        model.predict(X)[:3],
    )
medians = GBDTRegressor(n_estimators=5, objective="reg:quantileerror", quantile_alpha=[0.1, 0.9])
assert medians.fit(X, X[:, 0]).predict(X).shape == (100, 2)
