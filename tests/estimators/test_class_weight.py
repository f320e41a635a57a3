"""``class_weight`` of the classifier: scikit-learn's numbers, as weights of rows."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.class_weight import compute_sample_weight

from pyopencl_gbdt import GBDTClassifier, GBDTRegressor
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.estimators.gradient_boosting import weights_of_classes
from pyopencl_gbdt.model import to_xgboost_json
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(11)
X = RNG.standard_normal((300, 4)).astype(np.float32)
Y = np.where(X[:, 0] + RNG.standard_normal(300) > 1.2, "rare", "often")
WEIGHT = RNG.integers(0, 4, 300).astype(np.float64)


def classifier(class_weight=None, **more):
    return GBDTClassifier(
        **{"n_estimators": 4, "device": TEST_DEVICE, "class_weight": class_weight, **more}
    )


@pytest.mark.parametrize(
    "class_weight",
    ["balanced", {"rare": 3.0, "often": 0.5}, {"rare": 3}, {"rare": np.float32(2.5)}, {},
     {"rare": 2, "often": 1, "never": 5}],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weighted"])
def test_as_weights_of_rows(class_weight, weight):
    factor = compute_sample_weight(class_weight, Y)
    model = classifier(class_weight).fit(X, Y, weight)
    rows = classifier().fit(X, Y, factor if weight is None else factor * weight)
    assert to_xgboost_json(model.model_.ensemble) == to_xgboost_json(rows.model_.ensemble)


def test_more_than_two_classes_have_scikit_learns_weights():
    y = RNG.integers(0, 4, 200)
    y[:100] = 2
    classes, codes = np.unique(y, return_inverse=True)
    for class_weight in ("balanced", {0: 2.0, 3: 0.0}):
        mine = weights_of_classes(class_weight, classes, codes.astype(np.float32))
        np.testing.assert_array_equal(mine, compute_sample_weight(class_weight, y))


def test_balanced_finds_more_of_the_rare_class():
    plain, balanced = classifier().fit(X, Y), classifier("balanced").fit(X, Y)
    assert (balanced.predict(X) == "rare").sum() > (plain.predict(X) == "rare").sum()


def test_evaluation_sets_do_without():
    sets = [(X, Y), (X.copy(), Y.copy())]
    model = classifier("balanced").fit(X, Y, eval_set=sets)
    same, other = model.evals_result().values()
    assert same == other
    plain = -np.log(np.where(Y == "rare", *model.predict_proba(X).T[::-1])).mean()
    assert same["logloss"][-1] == pytest.approx(plain, rel=1e-5)


def test_numbers_and_truths_as_classes():
    for y, class_weight in ((Y == "rare", {True: 5}), ((Y == "rare") * 1.0, {1: 5})):
        model = classifier(class_weight).fit(X, y)
        expected = classifier().fit(X, y, np.where(y, 5, 1))
        np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


def test_a_parameter_of_the_classifier_alone():
    model = classifier({"rare": 2})
    assert model.get_params()["class_weight"] == {"rare": 2}
    assert clone(model).get_params() == model.get_params()
    assert pickle.loads(pickle.dumps(model)).class_weight == {"rare": 2}
    assert set(model.get_params()) == {*GBDTRegressor().get_params(), "class_weight"}
    assert "class_weight" in (GBDTClassifier.__doc__ or "")
    assert "class_weight" not in (GBDTRegressor.__doc__ or "")
    with pytest.raises(ParameterError, match="class_weight"):
        GBDTRegressor(class_weight="balanced")
    with pytest.raises(ParameterError, match="did you mean 'learning_rate'"):
        GBDTClassifier(lerning_rate=0.1)


@pytest.mark.parametrize(
    ("class_weight", "error", "words"),
    [
        ("balance", ParameterError, "class_weight='balance': expected 'balanced'"),
        ([1, 2], ParameterError, r"class_weight=\[1, 2\]: expected 'balanced', a dict"),
        ({"rare": -1}, ParameterError, "'rare': -1.*expected a finite number >= 0"),
        ({"rare": np.nan}, ParameterError, "expected a finite number"),
        ({"rare": "2"}, ParameterError, "expected a finite number"),
        ({"rear": 2}, ParameterError, "names 'rear': expected classes of y, .*'often', 'rare'"),
        ({"rare": 0, "often": 0}, DataError, "zero in every row"),
    ],
)
def test_bad_weights(class_weight, error, words):
    model = classifier(class_weight)
    with pytest.raises(error, match=words):
        model.fit(X, Y)
    assert not hasattr(model, "model_")
    with pytest.raises(DataError, match="299 values"):
        classifier("balanced").fit(X, Y, WEIGHT[1:])
