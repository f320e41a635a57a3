"""Save a model as text, load it, continue it, and refit it."""

import pickle

import lightgbm as lgb
import numpy as np
from sklearn.datasets import load_diabetes

X, y = load_diabetes(return_X_y=True)
params = {"objective": "regression", "metric": "l2", "num_leaves": 8, "verbose": -1}
gbm = lgb.train(params, lgb.Dataset(X[:300], y[:300]), 20)
gbm.save_model("model.txt")
loaded = lgb.Booster(model_file="model.txt")
assert np.allclose(loaded.predict(X), gbm.predict(X))
assert np.allclose(lgb.Booster(model_str=gbm.model_to_string()).predict(X), gbm.predict(X))
assert np.allclose(pickle.loads(pickle.dumps(gbm)).predict(X), gbm.predict(X))
tree = gbm.dump_model()["tree_info"][0]["tree_structure"]
more = lgb.train(
    {**params, "lambda_l2": 1.0}, lgb.Dataset(X[:300], y[:300]), 20, init_model="model.txt"
)
fresh = gbm.refit(X[300:], y[300:], decay_rate=0.5)
for name, model in (("first", gbm), ("more", more), ("fresh", fresh)):
    print(f"score {name}", np.sqrt(np.mean((model.predict(X[300:]) - y[300:]) ** 2)), 0.05)
print("same root", tree["split_feature"], *sorted(gbm.dump_model())[:4])
print("same trees", loaded.num_trees(), more.num_trees(), len(gbm.trees_to_dataframe().columns))
