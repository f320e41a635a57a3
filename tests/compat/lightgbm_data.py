"""Rows, labels and a training that the tests of `compat.lightgbm` share."""

import numpy as np

from pyopencl_gbdt.compat import lightgbm as lgb

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 5))
Y = X[:, 0] + X[:, 1] * X[:, 2] + 0.2 * RNG.normal(size=400)
TWO, THREE = (Y > 0).astype(float), np.digitize(Y, [-0.5, 0.5])
GRADES = np.clip(np.digitize(Y, [-0.5, 0.3, 0.9]), 0, 3)
QUIET = {"verbosity": -1, "num_leaves": 7}


def trained(params=None, y=Y, n=5, **how):
    return lgb.train({**QUIET, **(params or {})}, lgb.Dataset(X, y), n, **how)
