"""A Dataset with categorical_feature, and a table of pandas with categories."""

import lightgbm as lgb
import numpy as np
import pandas as pd
from sklearn.datasets import load_svmlight_file
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

X, y = load_svmlight_file("categorical.libsvm.gz", zero_based=True)
X_train, X_test, y_train, y_test = train_test_split(X.toarray(), y, random_state=0)
params = {"objective": "binary", "num_leaves": 15, "learning_rate": 0.1, "verbosity": -1}
columns = [f"c{k}" for k in range(X.shape[1])]

train = lgb.Dataset(X_train, y_train, feature_name=columns, categorical_feature=["c0", "c1", "c2"])
gbm = lgb.train(params, train, num_boost_round=30)
print("score codes", roc_auc_score(y_test, gbm.predict(X_test)))

table = pd.DataFrame(X_train, columns=columns).astype({"c0": int, "c1": int})
known = {
    name: pd.CategoricalDtype(np.unique(X[:, k].toarray())) for k, name in enumerate(columns[:2])
}
train = lgb.Dataset(table.astype(known), y_train)
gbm = lgb.train(params, train, num_boost_round=30)
test = pd.DataFrame(X_test, columns=columns).astype({"c0": int, "c1": int}).astype(known)
print("score table", roc_auc_score(y_test, gbm.predict(test)))
print("same names", *gbm.feature_name(), gbm.num_trees())
