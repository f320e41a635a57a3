"""Classes of unequal size: class_weight, is_unbalance, calibrated probabilities."""

import numpy as np
from lightgbm import LGBMClassifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.metrics import average_precision_score, brier_score_loss
from sklearn.model_selection import train_test_split

X, digit = load_digits(return_X_y=True)
y = (digit == 8).astype(int)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
common = {"n_estimators": 40, "num_leaves": 8, "verbose": -1}
models = {
    "plain": LGBMClassifier(**common),
    "balanced": LGBMClassifier(class_weight="balanced", **common),
    "unbalance": LGBMClassifier(is_unbalance=True, **common),
    "calibrated": CalibratedClassifierCV(LGBMClassifier(**common), method="isotonic", cv=3),
}
for name, model in models.items():
    p = model.fit(X_train, y_train).predict_proba(X_test)[:, 1]
    print(f"score {name}", average_precision_score(y_test, p))
    print(f"score {name}_brier", brier_score_loss(y_test, p), 0.3)
names = np.array(["other", "eight"])
named = LGBMClassifier(**common).fit(X_train, names[y_train])
print("score names", named.score(X_test, names[y_test]))
print("same classes", *named.classes_)
