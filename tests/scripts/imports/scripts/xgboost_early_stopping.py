"""Train with early stopping, and predict by the best rounds."""

import xgboost as xgb
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=1, stratify=y)
dtrain = xgb.DMatrix(X_train, label=y_train)
dtest = xgb.DMatrix(X_test, label=y_test)

params = {
    "objective": "binary:logistic",
    "eta": 0.1,
    "max_depth": 4,
    "subsample": 0.8,
    "colsample_bytree": 0.8,
    "eval_metric": ["error", "logloss"],
    "seed": 7,
}
history = {}
bst = xgb.train(
    params,
    dtrain,
    num_boost_round=200,
    evals=[(dtrain, "train"), (dtest, "test")],
    early_stopping_rounds=10,
    evals_result=history,
    verbose_eval=50,
)
p = bst.predict(dtest, iteration_range=(0, bst.best_iteration + 1))
assert len(history["test"]["logloss"]) <= bst.best_iteration + 11
print("score auc", roc_auc_score(y_test, p))
print("score logloss", log_loss(y_test, p), 0.15)
print("score best_score", bst.best_score, 0.15)
print("same columns", *bst.feature_names[:3], bst.num_features())
