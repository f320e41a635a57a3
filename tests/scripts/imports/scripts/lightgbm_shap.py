"""Contributions of a LightGBM model, and shap's explainer."""

import lightgbm as lgb
import numpy as np
import shap
from sklearn.datasets import load_diabetes

X, y = load_diabetes(return_X_y=True, as_frame=True)
gbm = lgb.LGBMRegressor(n_estimators=40, num_leaves=8, learning_rate=0.1, verbose=-1).fit(X, y)
contribs = gbm.predict(X, pred_contrib=True)
assert np.allclose(contribs.sum(axis=1), gbm.predict(X))
values = shap.TreeExplainer(gbm.booster_).shap_values(X)
shap.summary_plot(values, X, show=False)
importance = np.abs(values).mean(axis=0)
order = np.argsort(-importance)
print("same first", *sorted(X.columns[order[:2]]))
print("score first", importance[order[0]], 0.08)
print("score contribs", np.abs(contribs[:, order[0]]).mean(), 0.08)
print("score base", contribs[0, -1])
print("same shape", values.shape, contribs.shape)
