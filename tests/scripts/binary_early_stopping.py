"""Train a classifier with early stopping, as one writes it for XGBoost's estimators."""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from pyopencl_gbdt import GBDTClassifier

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)

model = GBDTClassifier(
    n_estimators=200, learning_rate=0.3, max_depth=3, eval_metric="auc", early_stopping_rounds=5
)
model.fit(X_train, y_train, eval_set=(X_test, y_test), verbose=False)
auc = roc_auc_score(y_test, model.predict_proba(X_test)[:, 1])
print("best round", model.best_iteration, "of", model.model_.num_boosted_rounds(), "AUC", auc)
assert auc > 0.97
assert np.isclose(auc, model.best_score, atol=1e-6)
# All trees stay; predictions end with the best round.
assert model.model_.num_boosted_rounds() == model.best_iteration + 6
assert model.predict(X_test).dtype == y.dtype
