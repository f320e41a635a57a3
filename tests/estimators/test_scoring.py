"""Scorers of scikit-learn get what ``predict_proba`` and ``predict`` return, for every loss."""

import numpy as np
import pytest
from sklearn.metrics import get_scorer

from pyopencl_gbdt import GBDTClassifier, GBDTRegressor
from pyopencl_gbdt.data.dataset import Dataset
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.estimators.held_out import HoldOut
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(3)
X = RNG.normal(size=(150, 4)).astype(np.float32)
SUM = X[:, 0] + X[:, 1] * X[:, 2] + RNG.normal(size=150) / 2
TWO = np.array(["no", "yes"])[(SUM > 0.4).astype(int)]
THREE = np.array(["a", "b", "c"])[np.digitize(SUM, [-0.5, 0.5])]
HOW = {
    "preset": "xgboost", "n_estimators": 12, "max_depth": 3, "early_stopping": True,
    "validation_fraction": 60, "refit": False, "device": TEST_DEVICE,
}  # fmt: skip


@pytest.mark.parametrize(
    ("objective", "labels"),
    [
        ("binary:logistic", TWO),
        ("binary:logitraw", TWO),
        ("binary:hinge", TWO),
        ("multi:softprob", THREE),
        ("multi:softmax", THREE),
    ],
)
@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "roc_auc_ovr"])
def test_the_best_score_is_that_of_the_model(objective, labels, scoring):
    model = GBDTClassifier(objective=objective, scoring=scoring, **HOW).fit(X, labels)
    codes = np.searchsorted(model.classes_, labels)
    _, held = HoldOut(60, classes=True).divide(Dataset(X, codes))
    found = get_scorer(scoring)(model, X[held], labels[held])
    assert model.best_score == pytest.approx(found, rel=1e-6)


@pytest.mark.parametrize("kind", ["labels", "quantiles", "words"])
def test_a_scorer_that_cannot_take_the_predictions_is_named(kind):
    if kind == "labels":
        model, labels, name = (
            GBDTClassifier(scoring="accuracy", **HOW),
            np.eye(2)[RNG.integers(0, 2, 150)],
            "accuracy",
        )
    elif kind == "quantiles":
        own = {"objective": "reg:quantileerror", "quantile_alpha": [0.1, 0.9]}
        model, labels, name = GBDTRegressor(scoring="r2", **own, **HOW), SUM, "r2"
    else:
        model, labels, name = (
            GBDTClassifier(scoring="neg_brier_score", **HOW),
            TWO,
            "neg_brier_score",
        )
    with pytest.raises(
        ParameterError, match=f"scoring='{name}': expected a scorer that takes .*loss"
    ):
        model.fit(X, labels)
