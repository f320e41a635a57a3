"""Keep a model by pickle and joblib, copy and slice it."""

import copy
import pickle

import joblib
import numpy as np
import xgboost as xgb
from sklearn.base import clone
from sklearn.datasets import load_wine

X, y = load_wine(return_X_y=True)
clf = xgb.XGBClassifier(n_estimators=12, max_depth=2, learning_rate=0.3).fit(X, y)
joblib.dump(clf, "model.joblib", compress=3)
again = joblib.load("model.joblib")
assert np.array_equal(again.predict_proba(X), clf.predict_proba(X))
assert np.array_equal(pickle.loads(pickle.dumps(clf)).predict(X), clf.predict(X))
assert clone(clf).get_params() == clf.get_params()

booster = clf.get_booster()
booster.set_attr(trained="today")
twin = copy.deepcopy(booster)
half = twin[:6]
d = xgb.DMatrix(X)
assert np.allclose(half.predict(d), booster.predict(d, iteration_range=(0, 6)))
raw = xgb.Booster()
raw.load_model(bytearray(booster.save_raw("json")))
assert np.array_equal(raw.predict(d), booster.predict(d))
clf.save_model("model.json")
other = xgb.XGBClassifier()
other.load_model("model.json")
print("score accuracy", other.score(X, y))
print("same attribute", raw.attr("trained"), half.num_boosted_rounds(), other.n_classes_)
