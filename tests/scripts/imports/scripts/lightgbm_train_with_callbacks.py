"""LightGBM's train with valid_sets and callbacks."""

import lightgbm as lgb
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=42)

train_data = lgb.Dataset(X_train, label=y_train)
valid_data = lgb.Dataset(X_test, label=y_test, reference=train_data)
params = {
    "objective": "binary",
    "metric": ["binary_logloss", "auc"],
    "num_leaves": 15,
    "learning_rate": 0.1,
    "feature_fraction": 0.8,
    "bagging_fraction": 0.8,
    "bagging_freq": 5,
    "min_data_in_leaf": 10,
    "verbose": -1,
}
record = {}
gbm = lgb.train(
    params,
    train_data,
    num_boost_round=100,
    valid_sets=[valid_data],
    valid_names=["valid"],
    callbacks=[
        lgb.early_stopping(stopping_rounds=10, first_metric_only=True),
        lgb.log_evaluation(20),
        lgb.record_evaluation(record),
    ],
)
pred = gbm.predict(X_test, num_iteration=gbm.best_iteration)
print("score auc", roc_auc_score(y_test, pred))
print("score logloss", gbm.best_score["valid"]["binary_logloss"], 0.2)
print("same recorded", *record, *record["valid"])
print("same names", *gbm.feature_name()[:2])
