"""Dropped trees: booster dart."""

import xgboost as xgb
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss, roc_auc_score

X, y = load_breast_cancer(return_X_y=True)
dtrain, dtest = xgb.DMatrix(X[::2], y[::2]), xgb.DMatrix(X[1::2], y[1::2])
param = {
    "booster": "dart",
    "max_depth": 4,
    "learning_rate": 0.2,
    "objective": "binary:logistic",
    "sample_type": "uniform",
    "normalize_type": "tree",
    "rate_drop": 0.1,
    "skip_drop": 0.5,
}
bst = xgb.train(param, dtrain, 40)
preds = bst.predict(dtest)
print("score auc", roc_auc_score(y[1::2], preds))
print("score logloss", log_loss(y[1::2], preds), 0.2)
print("same rounds", bst.num_boosted_rounds(), len(bst.get_dump()))
