"""The estimator with eval_set, early stopping, importances and curves."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split
from xgboost import XGBClassifier

X, y = load_digits(n_class=4, return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
clf = XGBClassifier(
    n_estimators=60,
    max_depth=3,
    learning_rate=0.3,
    objective="multi:softprob",
    eval_metric=["merror", "mlogloss"],
    early_stopping_rounds=5,
    random_state=0,
    n_jobs=-1,
)
clf.fit(X_train, y_train, eval_set=[(X_train, y_train), (X_test, y_test)], verbose=False)
results = clf.evals_result()
assert len(results["validation_1"]["mlogloss"]) <= clf.best_iteration + 6
assert clf.feature_importances_.shape == (X.shape[1],)
assert np.isclose(clf.feature_importances_.sum(), 1)
proba = clf.predict_proba(X_test)
print("score accuracy", accuracy_score(y_test, clf.predict(X_test)))
print("score mlogloss", log_loss(y_test, proba), 0.2)
print("score best", clf.best_score, 0.2)
print("same curves", *results, *results["validation_0"])
print("same classes", *clf.classes_, proba.dtype)
