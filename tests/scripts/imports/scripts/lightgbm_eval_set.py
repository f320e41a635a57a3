"""LGBMRegressor with eval_set, several metrics, early stopping and importances."""

import lightgbm as lgb
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.metrics import mean_absolute_error
from sklearn.model_selection import train_test_split

X, y = load_diabetes(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
gbm = lgb.LGBMRegressor(num_leaves=8, learning_rate=0.08, n_estimators=200, verbose=-1)
gbm.fit(
    X_train,
    y_train,
    eval_set=[(X_test, y_test)],
    eval_names=["test"],
    eval_metric=["l1", "rmse"],
    callbacks=[lgb.early_stopping(15, first_metric_only=True, verbose=False)],
)
importances = pd.Series(gbm.feature_importances_, index=gbm.feature_name_)
gain = gbm.booster_.feature_importance(importance_type="gain")
print("score mae", mean_absolute_error(y_test, gbm.predict(X_test)))
print("score l1", gbm.best_score_["test"]["l1"])
print("score gain", gain[list(X.columns).index("bmi")] / gain.sum(), 0.15)
print("same best", *importances.nlargest(2).index.sort_values())
print("same metrics", *gbm.evals_result_["test"])
assert np.allclose(gbm.predict(X_test, num_iteration=gbm.best_iteration_), gbm.predict(X_test))
