"""Ways to boost: dart, goss, random forest, extra trees."""

import lightgbm as lgb
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score

X, y = load_breast_cancer(return_X_y=True)
common = {"objective": "binary", "num_leaves": 8, "verbose": -1, "seed": 3}
ways = {
    "dart": {"boosting": "dart", "drop_rate": 0.1, "learning_rate": 0.15},
    "goss": {"data_sample_strategy": "goss", "learning_rate": 0.1},
    "rf": {"boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6, "feature_fraction": 0.7},
    "extra": {"extra_trees": True, "learning_rate": 0.15},
}
for name, params in ways.items():
    gbm = lgb.train({**common, **params}, lgb.Dataset(X[::2], y[::2]), num_boost_round=40)
    print(f"score {name}", roc_auc_score(y[1::2], gbm.predict(X[1::2])))
    print(f"same {name}", gbm.num_trees(), gbm.current_iteration())
