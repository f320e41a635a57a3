"""More rounds by warm_start, staged predictions, pickles."""

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

X, y = load_digits(n_class=5, return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=1)
clf = HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=7, warm_start=True, random_state=0)
for rounds in (5, 10, 15):
    clf.set_params(max_iter=rounds).fit(X_train, y_train)
    print(f"score after_{rounds}", clf.score(X_test, y_test), 0.04)
staged = [np.mean(p == y_test) for p in clf.staged_predict(X_test)]
joblib.dump(clf, "clf.joblib")
assert np.array_equal(joblib.load("clf.joblib").predict_proba(X_test), clf.predict_proba(X_test))
assert not hasattr(clone(clf), "classes_")
print("score staged", staged[-1], 0.04)
print("same rounds", clf.n_iter_, len(staged), clf.decision_function(X_test).shape)
