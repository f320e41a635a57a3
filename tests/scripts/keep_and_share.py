"""Pickle, copy, clone, save and load; ask for a file that is not there."""

import copy
import pickle
from pathlib import Path

import joblib
import numpy as np
from sklearn.base import clone

from pyopencl_gbdt import GBDTClassifier, Model

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 4))
y = X[:, 0] + X[:, 1] > 0
model = GBDTClassifier(n_estimators=8, random_state=3).fit(X, y)
expected = model.predict_proba(X)
joblib.dump(model, "model.joblib")
for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), joblib.load("model.joblib")):
    assert np.array_equal(other.predict_proba(X), expected)
assert clone(model).get_params() == model.get_params()
model.save_model(Path("model.json"))
loaded = GBDTClassifier()
loaded.load_model("model.json")
assert np.array_equal(loaded.predict_proba(X), expected)
try:
    Model.load_model("modle.json")
except (OSError, ValueError) as error:
    print(error)
    assert "modle.json" in str(error)
    assert len(str(error)) > 40
else:
    raise AssertionError("loaded a file that is not there")
