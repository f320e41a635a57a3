"""A schedule of learning rates, checkpoints, and training that goes on from a model."""

from pathlib import Path

import numpy as np
import xgboost as xgb
from sklearn.datasets import load_diabetes

X, y = load_diabetes(return_X_y=True)
dtrain, dtest = xgb.DMatrix(X[:330], y[:330]), xgb.DMatrix(X[330:], y[330:])
watch = [(dtest, "test")]
Path("checkpoints").mkdir()
callbacks = [
    xgb.callback.LearningRateScheduler(lambda epoch: 0.2 * 0.95**epoch),
    xgb.callback.TrainingCheckPoint("checkpoints", interval=10),
    xgb.callback.EvaluationMonitor(period=10),
]
params = {"max_depth": 3, "objective": "reg:absoluteerror", "eval_metric": "mae"}
first = xgb.train(params, dtrain, 30, evals=watch, callbacks=callbacks, verbose_eval=False)
more = {}
second = xgb.train({**params, "eta": 0.05}, dtrain, 10, evals=watch, evals_result=more,
                   xgb_model=first, verbose_eval=False)  # fmt: skip
print("score mae_first", np.abs(first.predict(dtest) - y[330:]).mean())
print("score mae_more", more["test"]["mae"][-1])
print("same rounds", first.num_boosted_rounds(), second.num_boosted_rounds())
print("same files", len(list(Path("checkpoints").iterdir())))
