"""Permutation importance and partial dependence."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.inspection import PartialDependenceDisplay, partial_dependence, permutation_importance

X, y = load_diabetes(return_X_y=True, as_frame=True)
reg = HistGradientBoostingRegressor(max_iter=40, max_leaf_nodes=8, random_state=0).fit(X, y)
result = permutation_importance(reg, X, y, n_repeats=3, random_state=0)
order = np.argsort(-result.importances_mean)
curve = partial_dependence(reg, X, ["bmi"], kind="average", method="brute", grid_resolution=10)
PartialDependenceDisplay.from_estimator(
    reg, X, ["bmi", "bp"], kind="both", grid_resolution=8, method="brute", subsample=50
)
plt.savefig("dependence.png")
print("same first", *X.columns[order[:3]])
print("score importance", result.importances_mean[order[0]], 0.08)
print("score low", curve["average"][0, 0])
print("score high", curve["average"][0, -1])
print("score r2", reg.score(X, y))
