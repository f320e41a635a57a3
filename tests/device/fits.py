"""Small fits, for tests of what happens when one of them fails."""

import numpy as np

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.model import to_xgboost_json
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(4)
X = RNG.standard_normal((300, 4)).astype(np.float32)
Y = (X[:, 0] > 0).astype(np.float32)
PARAMS = {"device": TEST_DEVICE, "n_estimators": 4, "objective": "binary:logistic"}


def fit(data=None, **changes):
    return train({**PARAMS, **changes}, data or Dataset(X, Y))


def text_of(model):
    return to_xgboost_json(model.ensemble)
