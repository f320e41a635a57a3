"""Read rows batch by batch, with XGBoost's kind of iterator."""

import numpy as np

from pyopencl_gbdt import Dataset, train

rng = np.random.default_rng(0)
parts = [rng.normal(size=(150, 4)) for _ in range(4)]


class Batches:
    """As a subclass of XGBoost's DataIter."""

    def __init__(self):
        self.number = 0

    def reset(self):
        self.number = 0

    def next(self, input_data):
        if self.number == len(parts):
            return False
        X = parts[self.number]
        input_data(data=X, label=X[:, 0] - X[:, 1])
        self.number += 1
        return True


X = np.concatenate(parts)
batched = train({"max_depth": 4}, Dataset.from_batches(Batches()), 10)
whole = train({"max_depth": 4}, Dataset(X, X[:, 0] - X[:, 1]), 10)
assert np.array_equal(batched.predict(X), whole.predict(X))
