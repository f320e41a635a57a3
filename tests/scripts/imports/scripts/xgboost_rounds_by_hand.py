"""Rounds of one's own: update, eval, boost and sparse rows."""

import numpy as np
import xgboost as xgb
from scipy.special import expit
from sklearn.datasets import load_svmlight_file

X, y = load_svmlight_file("agaricus.train.libsvm.gz")
X_test, y_test = load_svmlight_file("agaricus.test.libsvm.gz", n_features=X.shape[1])
dtrain, dtest = xgb.DMatrix(X, label=y), xgb.DMatrix(X_test, label=y_test)
bst = xgb.Booster({"objective": "binary:logistic", "max_depth": 2, "eta": 1}, [dtrain, dtest])
for i in range(3):
    bst.update(dtrain, i)
    print(bst.eval_set([(dtrain, "train"), (dtest, "test")], i))
for i in range(3, 5):
    p = expit(bst.predict(dtrain, output_margin=True))
    bst.boost(dtrain, iteration=i, grad=p - y, hess=p * (1 - p))
p = bst.predict(dtest)
print("score error", np.mean((p > 0.5) != y_test))
print("score logloss", float(bst.eval(dtest).split(":")[-1]), 0.1)
print("same leaves", bst.predict(dtest, pred_leaf=True).shape, bst.num_boosted_rounds())
