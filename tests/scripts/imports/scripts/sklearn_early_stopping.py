"""Early stopping by a share of the rows or by a scorer, and class_weight."""

from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=4, stratify=y)
for scoring in ("loss", "roc_auc"):
    clf = HistGradientBoostingClassifier(
        early_stopping=True,
        scoring=scoring,
        max_iter=60,
        validation_fraction=0.2,
        n_iter_no_change=5,
        class_weight="balanced",
        random_state=0,
    ).fit(X_train, y_train)
    assert len(clf.validation_score_) == clf.n_iter_ + 1
    print(f"score {scoring}", roc_auc_score(y_test, clf.predict_proba(X_test)[:, 1]))
    print(f"same {scoring}", clf.do_early_stopping_, clf.n_trees_per_iteration_, *clf.classes_)
calibrated = CalibratedClassifierCV(HistGradientBoostingClassifier(max_iter=20), cv=3)
p = calibrated.fit(X_train, y_train).predict_proba(X_test)
print("score calibrated", log_loss(y_test, p), 0.15)
