"""Train without scikit-learn, with evaluation sets, an own loss and an own metric."""

import numpy as np

from pyopencl_gbdt import Dataset, Model, train

rng = np.random.default_rng(0)
X = rng.normal(size=(1000, 6))
y = 2 * X[:, 0] + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=1000)
dtrain, dtest = Dataset(X[:800], label=y[:800]), Dataset(X[800:], label=y[800:])


def squared(predictions, data):
    """Half the squared error, as XGBoost's users write their own."""
    return predictions - data.get_label(), np.ones(len(predictions))


def largest(predictions, data):
    return "largest", float(np.abs(predictions - data.get_label()).max())


params = {
    "objective": "reg:squarederror",
    "eta": 0.2,
    "max_depth": 4,
    "eval_metric": ["rmse", "mae"],
}
results = {}
model = train(
    params,
    dtrain,
    num_boost_round=40,
    evals=[(dtrain, "train"), (dtest, "test")],
    evals_result=results,
    verbose_eval=False,
)
assert set(results) == {"train", "test"}
assert len(results["test"]["mae"]) == 40
assert results["test"]["rmse"][-1] < 0.8 < results["test"]["rmse"][0]

own = train(
    {"eta": 0.2, "max_depth": 4, "base_score": 0.0},
    dtrain,
    40,
    obj=squared,
    custom_metric=largest,
    evals=[(dtest, "test")],
    verbose_eval=False,
)
assert len(own.history["test"]["largest"]) == 40
model.save_model("model.json")
again = Model.load_model("model.json")
assert np.array_equal(again.predict(X), model.predict(X))
assert np.array_equal(model.predict(dtest), model.predict(X[800:]))
