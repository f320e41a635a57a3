"""Change the learning rate while a model trains, as XGBoost and as LightGBM do it."""

import numpy as np

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.callbacks import EarlyStopping, LearningRateScheduler, reset_parameter

rng = np.random.default_rng(0)
X = rng.normal(size=(500, 4))
y = X[:, 0] * X[:, 1]
data = Dataset(X, y)
params = {"eta": 0.3, "max_depth": 3}


def trees(callback, rounds=3, **changed):
    return train({**params, **changed}, data, rounds, callbacks=[callback]).predict(X)


# XGBoost sets the rate after a round: 0.3, 0.5, 0.1. LightGBM sets it before.
after = trees(LearningRateScheduler([0.5, 0.1, 0.0]))
before = trees(reset_parameter(learning_rate=[0.3, 0.5, 0.1]))
assert np.array_equal(after, before)
falling = trees(reset_parameter(learning_rate=lambda number: 0.3 * 0.9**number), 5)
assert np.isfinite(falling).all()

test = Dataset(X[:100], rng.normal(size=100))
kept = train(
    params,
    data,
    50,
    evals=[(test, "test")],
    verbose_eval=False,
    callbacks=[EarlyStopping(3, save_best=True)],
)
assert kept.num_boosted_rounds() == kept.best_iteration + 1
