"""Explain a model: SHAP values of the booster, and shap's TreeExplainer and plots."""

import numpy as np
import shap
import xgboost as xgb
from sklearn.datasets import load_diabetes

X, y = load_diabetes(return_X_y=True, as_frame=True)
model = xgb.XGBRegressor(n_estimators=30, max_depth=3, learning_rate=0.1).fit(X, y)

contribs = model.get_booster().predict(xgb.DMatrix(X), pred_contribs=True)
assert np.allclose(contribs.sum(axis=1), model.predict(X), rtol=1e-4)

explainer = shap.TreeExplainer(model)
values = explainer.shap_values(X)
assert np.allclose(values, contribs[:, :-1], atol=1e-2)
explanation = explainer(X)
shap.plots.beeswarm(explanation, show=False)
shap.summary_plot(values, X, plot_type="bar", show=False)
importance = np.abs(values).mean(axis=0)
order = np.argsort(-importance)
print("same first", *X.columns[order[:3]])
print("score first", importance[order[0]], 0.06)
print("score bias", float(np.ravel(explainer.expected_value)[0]))
print("same shape", values.shape, contribs.shape, explanation.values.shape)
