"""Random forests of XGBoost, and boosted forests."""

import xgboost as xgb
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score, train_test_split

X, y = load_digits(n_class=5, return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=2)
forest = xgb.XGBRFClassifier(n_estimators=20, max_depth=5, random_state=1)
print("score cv", cross_val_score(forest, X_train, y_train, cv=3).mean())
print("score forest", forest.fit(X_train, y_train).score(X_test, y_test))
boosted = xgb.XGBClassifier(
    n_estimators=3, num_parallel_tree=4, subsample=0.7, colsample_bynode=0.5, max_depth=4
)
boosted.fit(X_train, y_train)
print("score boosted", boosted.score(X_test, y_test))
print(
    "same trees", len(boosted.get_booster().get_dump()), boosted.get_booster().num_boosted_rounds()
)
