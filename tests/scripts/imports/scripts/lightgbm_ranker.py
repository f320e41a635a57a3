"""LGBMRanker by groups, with metrics at several places."""

import lightgbm as lgb
import numpy as np
from sklearn.datasets import load_svmlight_file

parts = {}
for part in ("train", "test"):
    X, y = load_svmlight_file(f"rank.{part}.gz", n_features=301)
    parts[part] = X, y, np.loadtxt(f"rank.{part}.query.gz", dtype=int)
X, y, group = parts["train"]
X_test, y_test, group_test = parts["test"]

gbm = lgb.LGBMRanker(n_estimators=40, learning_rate=0.1, num_leaves=15, verbose=-1)
gbm.fit(
    X,
    y,
    group=group,
    eval_set=[(X_test, y_test)],
    eval_group=[group_test],
    eval_at=[1, 3, 5],
    callbacks=[lgb.early_stopping(20, verbose=False), lgb.reset_parameter(
        learning_rate=lambda n: max(0.01, 0.1 - 0.002 * n))],
)  # fmt: skip
found = gbm.evals_result_["valid_0"]
print("score ndcg3", max(found["ndcg@3"]), 0.05)
print("score ndcg5", max(found["ndcg@5"]), 0.05)
print("same metrics", *found)
print("same shape", gbm.predict(X_test).shape, gbm.n_features_)
