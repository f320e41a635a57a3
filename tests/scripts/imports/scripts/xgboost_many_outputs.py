"""Several targets: a tree for each, and trees of vectors."""

import numpy as np
from sklearn.datasets import load_diabetes, load_linnerud
from sklearn.metrics import mean_absolute_error
from sklearn.multioutput import MultiOutputRegressor
from xgboost import XGBRegressor

X, first = load_diabetes(return_X_y=True)
targets = np.column_stack([first, np.sqrt(first), X[:, 2] * 100])
train, test = slice(0, 330), slice(330, None)
for strategy in ("one_output_per_tree", "multi_output_tree"):
    reg = XGBRegressor(
        n_estimators=40, max_depth=3, learning_rate=0.1, multi_strategy=strategy, tree_method="hist"
    )
    reg.fit(X[train], targets[train], eval_set=[(X[test], targets[test])], verbose=False)
    p = reg.predict(X[test])
    print(f"score {strategy}", mean_absolute_error(targets[test], p))
    print(f"same {strategy}", p.shape, len(reg.evals_result()["validation_0"]["rmse"]))

X, y = load_linnerud(return_X_y=True)
wrapped = MultiOutputRegressor(XGBRegressor(n_estimators=10, max_depth=1)).fit(X, y)
print("score wrapped", mean_absolute_error(y, wrapped.predict(X)))
