"""HistGradientBoosting with columns of categories, found by their types."""

import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import cross_val_score, train_test_split

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X["sex"] = X["sex"].map({1.0: "a", 2.0: "b"}).astype("category")
X["decade"] = pd.cut(X.pop("age"), [0, 30, 40, 50, 60, 90]).astype(str).astype("category")
X.loc[X.index % 9 == 0, "bmi"] = float("nan")
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)

model = HistGradientBoostingRegressor(
    categorical_features="from_dtype", max_iter=60, learning_rate=0.08, max_leaf_nodes=8
)
model.fit(X_train, y_train)
print("score mae", mean_absolute_error(y_test, model.predict(X_test)))
print("score cv", cross_val_score(model, X, y, cv=3).mean(), 0.08)
print("same categorical", *model.is_categorical_)
print("same iterations", model.n_iter_, *model.feature_names_in_[:2])
