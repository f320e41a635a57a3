"""A table of pandas with categories and missing values."""

import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.datasets import load_svmlight_file
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

X, y = load_svmlight_file("categorical.libsvm.gz", zero_based=True)
df = pd.DataFrame(X.toarray()).rename(columns="c{}".format)
df["level"] = pd.Categorical("level " + df.pop("c3").astype(int).astype(str))
df["shop"] = df.pop("c5").astype(int).astype("category")
df.loc[::5, "c0"] = np.nan
X_train, X_test, y_train, y_test = train_test_split(df, y, random_state=0)

clf = xgb.XGBClassifier(
    tree_method="hist", enable_categorical=True, n_estimators=30, max_depth=4, learning_rate=0.2
)
clf.fit(X_train, y_train)
dm = xgb.DMatrix(X_test, enable_categorical=True)
print("score auc", roc_auc_score(y_test, clf.predict_proba(X_test)[:, 1]))
print("score accuracy", clf.score(X_test, y_test))
print("same types", *dm.feature_types)
print("same missing", dm.num_nonmissing(), dm.num_row())
