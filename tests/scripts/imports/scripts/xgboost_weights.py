"""Classes of unequal size: scale_pos_weight, weights of rows, of columns."""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import average_precision_score, recall_score
from sklearn.model_selection import train_test_split
from sklearn.utils.class_weight import compute_sample_weight
from xgboost import XGBClassifier

X, y = load_breast_cancer(return_X_y=True)
y = 1 - y
kept = np.flatnonzero((y == 0) | (np.arange(len(y)) % 3 == 0))
X, y = X[kept], y[kept]
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
ratio = (y_train == 0).sum() / (y_train == 1).sum()
models = {
    "ratio": (XGBClassifier(n_estimators=30, max_depth=3, scale_pos_weight=ratio), None),
    "rows": (
        XGBClassifier(n_estimators=30, max_depth=3),
        compute_sample_weight("balanced", y_train),
    ),
    "aucpr": (XGBClassifier(n_estimators=30, max_depth=3, eval_metric="aucpr"), None),
}
for name, (model, weight) in models.items():
    model.fit(X_train, y_train, sample_weight=weight)
    p = model.predict_proba(X_test)[:, 1]
    print(f"score {name}", average_precision_score(y_test, p))
    print(f"score {name}_recall", recall_score(y_test, p > 0.5), 0.06)
print("same ratio", ratio)
