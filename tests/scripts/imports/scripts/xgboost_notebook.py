"""The first cells of a notebook: matrices, train, predict, plot, confusion matrix."""

import matplotlib.pyplot as plt
import pandas as pd
import xgboost as xgb
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score, classification_report, confusion_matrix
from sklearn.model_selection import train_test_split

digits = load_digits(as_frame=True)
df = digits.frame.sample(900, random_state=0)
df.head()
X, y = df.drop(columns="target"), df["target"]
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=42)
dtrain = xgb.DMatrix(X_train, label=y_train)
dtest = xgb.DMatrix(X_test, label=y_test)
param = {"max_depth": 3, "eta": 0.3, "objective": "multi:softprob", "num_class": 10}
bst = xgb.train(param, dtrain, 20, evals=[(dtest, "eval")], verbose_eval=5)
probabilities = bst.predict(dtest)
preds = probabilities.argmax(axis=1)
print(classification_report(y_test, preds))
cm = confusion_matrix(y_test, preds)
xgb.plot_importance(bst, max_num_features=10)
plt.tight_layout()
plt.savefig("importance.png")
weights = pd.Series(bst.get_score(importance_type="weight")).sort_values(ascending=False)
print(bst.trees_to_dataframe().head(3))
print("score accuracy", accuracy_score(y_test, preds), 0.05)
print("same shape", probabilities.shape, cm.shape, cm.sum())
print("same table", *bst.trees_to_dataframe().columns)
