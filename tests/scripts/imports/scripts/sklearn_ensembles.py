"""Voting, stacking and several outputs, with constraints of columns."""

import numpy as np
from sklearn import ensemble
from sklearn.datasets import load_diabetes, load_linnerud
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.multioutput import MultiOutputRegressor

X, y = load_diabetes(return_X_y=True, as_frame=True)
hist = HistGradientBoostingRegressor(
    max_iter=40,
    max_leaf_nodes=8,
    monotonic_cst={"bmi": 1, "bp": 1},
    interaction_cst=[{2, 3, 8}, {0, 1, 4, 5, 6, 7, 9}],
)
models = {
    "hist": hist,
    "vote": ensemble.VotingRegressor([("hist", hist), ("ridge", RidgeCV())]),
    "stack": ensemble.StackingRegressor([("hist", hist), ("ridge", RidgeCV())], RidgeCV(), cv=3),
}
folds = KFold(3, shuffle=True, random_state=0)
for name, model in models.items():
    print(f"score {name}", mean_absolute_error(y, cross_val_predict(model, X, y, cv=folds)))
grid = X.iloc[[0] * 20].assign(bmi=np.linspace(-0.08, 0.16, 20))
assert (np.diff(hist.fit(X, y).predict(grid)) >= 0).all()

X, y = load_linnerud(return_X_y=True)
several = MultiOutputRegressor(HistGradientBoostingRegressor(max_iter=10, min_samples_leaf=5))
print("score several", mean_absolute_error(y, several.fit(X, y).predict(X)), 0.05)
