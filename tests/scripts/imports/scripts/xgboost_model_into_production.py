"""Save a model, load it in a new process, and walk its JSON without the library."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import xgboost as xgb
from sklearn.datasets import load_diabetes

X, y = load_diabetes(return_X_y=True)
X = X.astype(np.float32)

if len(sys.argv) > 1:  # the service
    served = [xgb.Booster(model_file=name).inplace_predict(X) for name in sys.argv[1:]]
    np.save("served.npy", served)
    sys.exit()

booster = xgb.train({"max_depth": 3, "eta": 0.2}, xgb.DMatrix(X, y), num_boost_round=20)
booster.save_model("model.json")
booster.save_model("model.ubj")
expected = booster.predict(xgb.DMatrix(X))
subprocess.run([sys.executable, __file__, "model.json", "model.ubj"], check=True)
assert np.allclose(np.load("served.npy"), [expected, expected])

model = json.loads(Path("model.json").read_text())["learner"]
base = float(model["learner_model_param"]["base_score"].strip("[]"))


def walk(tree, row):
    node = 0
    while tree["left_children"][node] != -1:
        value = row[tree["split_indices"][node]]
        left = value < np.float32(tree["split_conditions"][node])
        node = tree["left_children" if left else "right_children"][node]
    return tree["base_weights"][node]


trees = model["gradient_booster"]["model"]["trees"]
mine = [base + sum(walk(tree, row) for tree in trees) for row in X[:50]]
assert np.allclose(mine, expected[:50], rtol=1e-4)
print("score rmse", np.sqrt(np.mean((expected - y) ** 2)))
print("same trees", len(trees), model["objective"]["name"])
