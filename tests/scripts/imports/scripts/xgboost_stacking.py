"""Stacking and voting with other models, calibrated."""

import xgboost as xgb
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss
from sklearn.model_selection import train_test_split

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=5)
base = [
    ("rf", RandomForestClassifier(n_estimators=20, random_state=0)),
    ("xgb", xgb.XGBClassifier(n_estimators=20, max_depth=3)),
]
stack = StackingClassifier(base, final_estimator=LogisticRegression(), cv=3)
vote = VotingClassifier(base, voting="soft")
calibrated = CalibratedClassifierCV(xgb.XGBClassifier(n_estimators=20), cv=3)
for name, model in (("stack", stack), ("vote", vote), ("calibrated", calibrated)):
    model.fit(X_train, y_train)
    print(f"score {name}", model.score(X_test, y_test))
    print(f"score {name}_brier", brier_score_loss(y_test, model.predict_proba(X_test)[:, 1]))
