"""select_features drops what does not matter, step by step, and trains on the rest."""

import numpy as np
import pandas as pd
import pytest

from pyopencl_gbdt import GBDTClassifier, GBDTRanker, GBDTRegressor, Model
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.explain import select_features
from pyopencl_gbdt.explain.selection import eliminate
from pyopencl_gbdt.metrics import rmse
from tests.conftest import TEST_DEVICE

SMALL = {"n_estimators": 8, "max_depth": 3, "learning_rate": 0.5, "device": TEST_DEVICE}
NAMES = [*"abcdef"]
RNG = np.random.default_rng(4)
ROWS = pd.DataFrame(RNG.normal(size=(400, 6)).astype(np.float32), columns=NAMES)
#: Only b, d and e matter, in this order.
TARGET = (3 * ROWS["b"] - 2 * ROWS["d"] + ROWS["e"] * (ROWS["b"] > 0)).to_numpy()
TRAINING, HELD_BACK = (ROWS[:300], TARGET[:300]), (ROWS[300:], TARGET[300:])


def selected(model, y=TARGET, X=ROWS, **options):
    given = {"num_features_to_select": 3, "steps": 2, **options}
    return select_features(model, X[:300], y[:300], eval_set=(X[300:], y[300:]), **given)


def test_parameters_of_train():
    found = selected({"objective": "reg:squarederror", **SMALL})
    assert found.selected == ["b", "d", "e"]
    assert sorted(found.eliminated) == ["a", "c", "f"]
    assert (found.metric, found.n_features) == ("rmse", [6, 4, 3])
    assert isinstance(found.model, Model)
    assert found.model.feature_names == ["b", "d", "e"]
    rows, y = HELD_BACK
    for count, loss in zip(found.n_features, found.losses, strict=True):
        assert loss < 0.5 * np.std(y), count
    prediction = found.model.predict(rows[["b", "d", "e"]], device=TEST_DEVICE)
    assert found.losses[-1] == rmse(y.astype(np.float32), prediction, None)


def test_an_estimator_stays_as_it_is():
    X = ROWS.copy()
    X["town"] = pd.Categorical(RNG.choice(["Bern", "Lyon"], len(X)))
    y = np.where(TARGET * np.where(X["town"] == "Bern", 1, -1) > 0, "yes", "no")
    model = GBDTClassifier(preset="xgboost", early_stopping_rounds=3, **SMALL)
    found = selected(model, y, X, num_features_to_select=2, metric="auc")
    assert not hasattr(model, "model_")
    assert found.selected == ["b", "town"]
    assert found.metric == "auc"
    assert found.losses[-1] > 0.8
    assert set(found.model.predict(X[["b", "town"]])) == {"yes", "no"}
    with_list = GBDTRegressor(preset="xgboost", categorical_features=["town"], **SMALL)
    found = selected(with_list, TARGET, X, num_features_to_select=1, features=["a", "town", "c"])
    assert found.selected[:2] != ["a", "c"]
    assert {"b", "d", "e", "f"} < set(found.selected)
    assert len(found.selected) == 5


def test_classes_arrays_weights_and_queries():
    classes = np.digitize(TARGET, [-1, 1])
    weight = np.ones(300)
    found = selected(
        {"objective": "multi:softprob", "num_class": 3, **SMALL}, classes, ROWS.to_numpy(),
        weight=weight, eval_weight=weight[:100], steps=1,
    )  # fmt: skip
    assert found.selected == ["f1", "f3", "f4"]
    assert found.metric == "mlogloss"
    queries = {"group": np.full(30, 10), "eval_group": np.full(10, 10)}
    found = selected(GBDTRanker(**SMALL), classes, num_features_to_select=2, **queries)
    assert found.selected == ["b", "d"]
    assert found.metric.startswith("ndcg")


def test_what_is_dropped_leaves_the_best_loss():
    """Features that repeat each other: after one of them went, the other one stays."""
    y = RNG.normal(size=50)
    own = {
        0: 0.5 * y, 1: 0.5 * y, 2: 0.01 * RNG.normal(size=50), 3: np.zeros(50), 4: np.zeros(50),
    }  # fmt: skip
    own = {feature: values[:, None] for feature, values in own.items()}
    margins = sum(own.values())

    def loss(margins):
        return float(np.abs(margins[:, 0] - y).mean())

    assert eliminate(own, margins, loss, 0) == []
    order, rest, left = eliminate(own, margins, loss, 5), margins, dict(own)
    for feature in order:
        assert feature == min(left, key=lambda one: (loss(rest - left[one]), one))
        rest = rest - left.pop(feature)
    assert not left


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_features_to_select": 0}, r"num_features_to_select=0: .* 1\.\.6"),
        ({"num_features_to_select": 7}, r"num_features_to_select=7: .* 1\.\.6"),
        ({"steps": 9}, r"steps=9: expected a whole number, 1\.\.3"),
        ({"features": ["bb"]}, "features='bb': expected .*did you mean 'b'"),
        ({"metric": "rmsee"}, "did you mean 'rmse'"),
        ({"model": Model}, "model=type: expected an estimator or a dict of parameters"),
    ],
)
def test_what_is_refused(options, message):
    model = options.pop("model", GBDTRegressor(**SMALL))
    with pytest.raises(ParameterError, match=message):
        selected(model, **options)


def test_sets_that_are_refused():
    model, given = GBDTRegressor(**SMALL), {"num_features_to_select": 2}
    with pytest.raises(ParameterError, match=r"eval_set=None: expected a pair \(X, y\)"):
        select_features(model, *TRAINING, eval_set=None, **given)
    rows, y = HELD_BACK
    with pytest.raises(DataError, match="eval_set has 'g' as column 0"):
        select_features(model, *TRAINING, eval_set=(rows.rename(columns={"a": "g"}), y), **given)
    with pytest.raises(DataError, match="that of eval_set"):
        select_features(model, *TRAINING, eval_set=(rows.drop(columns="a"), y), **given)
    with pytest.raises(ParameterError, match=r"categorical_features=.* an estimator has its own"):
        selected(model, categorical_features=["a"])
