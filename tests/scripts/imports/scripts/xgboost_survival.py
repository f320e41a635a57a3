"""Survival times with bounds: accelerated failure time."""

import numpy as np
import pandas as pd
import xgboost as xgb

df = pd.read_csv("veterans_lung_cancer.csv")
low = df["Survival_label_lower_bound"].to_numpy()
high = df["Survival_label_upper_bound"].to_numpy()
X = df.drop(columns=["Survival_label_lower_bound", "Survival_label_upper_bound"])
train = np.arange(len(df)) % 4 != 0

dtrain = xgb.DMatrix(X[train])
dtrain.set_float_info("label_lower_bound", low[train])
dtrain.set_float_info("label_upper_bound", high[train])
dvalid = xgb.DMatrix(X[~train], label_lower_bound=low[~train], label_upper_bound=high[~train])
params = {
    "objective": "survival:aft",
    "eval_metric": "aft-nloglik",
    "aft_loss_distribution": "normal",
    "aft_loss_distribution_scale": 1.2,
    "learning_rate": 0.1,
    "max_depth": 3,
}
result = {}
bst = xgb.train(params, dtrain, 50, evals=[(dtrain, "train"), (dvalid, "valid")],
                evals_result=result, verbose_eval=False)  # fmt: skip
print("score train", result["train"]["aft-nloglik"][-1], 0.05)
print("score valid", result["valid"]["aft-nloglik"][-1], 0.05)
days = bst.predict(dvalid)
assert (days > 0).all()
print("same rows", *days.shape, dtrain.get_float_info("label_lower_bound").sum())
