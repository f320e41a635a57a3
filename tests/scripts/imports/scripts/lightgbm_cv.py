"""cv with folds of one's own, return_cvbooster, then train."""

import lightgbm as lgb
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score
from sklearn.model_selection import StratifiedKFold, train_test_split

X, y = load_digits(n_class=4, return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
params = {
    "objective": "multiclass",
    "num_class": 4,
    "metric": "multi_logloss",
    "num_leaves": 7,
    "learning_rate": 0.2,
    "verbose": -1,
}
found = lgb.cv(
    params,
    lgb.Dataset(X_train, y_train),
    num_boost_round=40,
    folds=StratifiedKFold(3, shuffle=True, random_state=0),
    callbacks=[lgb.early_stopping(5, verbose=False)],
    return_cvbooster=True,
)
rounds = len(found["valid multi_logloss-mean"])
gbm = lgb.train(params, lgb.Dataset(X_train, y_train), rounds)
mean = np.mean(found["cvbooster"].predict(X_test), axis=0)
print("score cv", found["valid multi_logloss-mean"][-1], 0.1)
print("score accuracy", accuracy_score(y_test, gbm.predict(X_test).argmax(axis=1)))
print("score averaged", accuracy_score(y_test, mean.argmax(axis=1)))
print("same keys", *found)
