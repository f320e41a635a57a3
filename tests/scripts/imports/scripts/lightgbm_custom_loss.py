"""A loss and a metric of one's own, for train and for the estimator."""

import lightgbm as lgb
import numpy as np
from scipy.special import expit
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score

X, y = load_breast_cancer(return_X_y=True)
train = lgb.Dataset(X[::2], y[::2])
valid = train.create_valid(X[1::2], y[1::2])


def loglikelihood(preds, train_data):
    preds = expit(preds)
    return preds - train_data.get_label(), preds * (1.0 - preds)


def error(preds, train_data):
    return "my_error", np.mean(train_data.get_label() != (expit(preds) > 0.5)), False


record = {}
gbm = lgb.train(
    {"objective": loglikelihood, "num_leaves": 8, "metric": "None", "verbose": -1},
    train,
    num_boost_round=40,
    feval=error,
    valid_sets=[valid],
    callbacks=[lgb.record_evaluation(record)],
)
print("score auc", roc_auc_score(y[1::2], gbm.predict(X[1::2])))
print("score error", record["valid_0"]["my_error"][-1], 0.5)


def squared(y_true, y_pred):
    return y_pred - y_true, np.ones_like(y_true)


model = lgb.LGBMRegressor(objective=squared, n_estimators=40, verbose=-1)
model.fit(X[::2], y[::2].astype(float), eval_set=[(X[1::2], y[1::2])], eval_metric="l2")
print("score l2", model.evals_result_["valid_0"]["l2"][-1])
print("same metrics", *record["valid_0"], *model.evals_result_["valid_0"])
