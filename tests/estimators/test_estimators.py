"""The estimators: inputs of every kind, and what bad input gets."""

import pickle

import numpy as np
import pandas as pd
import pytest

from pyopencl_gbdt import GBDTClassifier, GBDTRegressor
from pyopencl_gbdt.errors import DataError, DeviceError, NotFittedError, ParameterError
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 4)).astype(np.float32)
Y = X[:, 0] - 2 * X[:, 1] + RNG.standard_normal(200) / 4
LABEL = Y > 0


def regressor(**more):
    return GBDTRegressor(**{"preset": "xgboost", "n_estimators": 5, "device": TEST_DEVICE, **more})


def classifier(**more):
    return GBDTClassifier(**{"n_estimators": 5, "device": TEST_DEVICE, **more})


def test_one_input_in_every_form():
    expected = regressor().fit(X, Y).predict(X)
    frame = pd.DataFrame(X.astype(np.float64), columns=list("abcd"))
    forms = [
        np.asfortranarray(X),
        X.astype(">f4"),
        X.astype(np.float64),
        X.tolist(),
        np.repeat(X, 2, axis=0)[::2],
        frame,
        frame.convert_dtypes(),
    ]
    for form in forms:
        np.testing.assert_array_equal(regressor().fit(form, Y).predict(form), expected)
    whole = (X * 10).astype(np.int8)
    for dtype in (np.int16, np.uint8, np.int64, np.float16):
        a, b = regressor().fit(whole, Y), regressor().fit(whole.astype(dtype), Y)
        if dtype is not np.uint8:
            np.testing.assert_array_equal(a.predict(whole), b.predict(whole.astype(dtype)))
    named = regressor().fit(frame, Y)
    assert list(named.feature_names_in_) == list("abcd")
    assert named.model_.ensemble.feature_names == list("abcd")


@pytest.mark.parametrize("labels", [["no", "yes"], [False, True], [-1, 1], [3.0, 7.0]])
def test_any_two_labels(labels, tmp_path):
    y = np.array(labels)[LABEL.astype(int)]
    model = classifier().fit(X, y, eval_set=[(X, y)])
    assert list(model.classes_) == labels
    assert model.score(X, y) > 0.9
    proba = model.predict_proba(X)
    assert proba.shape == (200, 2)
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-6)
    assert len(model.evals_result()["validation_0"]["logloss"]) == 5
    model.save_model(tmp_path / "m.json")
    again = classifier().load_model(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_verbose_prints_rounds(capsys):
    regressor().fit(X, Y, eval_set=[(X, Y)], verbose=2)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[0] for line in lines] == ["[0]", "[2]", "[4]"]
    assert "validation_0-rmse:" in lines[0]


BAD_FITS = [
    ({"max_bin": 1}, {}, ParameterError, "max_bin=1: expected 2..65535"),
    ({"max_depth": -2}, {}, ParameterError, "max_depth=-2"),
    ({"learning_rate": -1}, {}, ParameterError, "learning_rate=-1"),
    ({"reg_lambda": float("nan")}, {}, ParameterError, "reg_lambda=nan"),
    ({"histogram": "fast"}, {}, ParameterError, "bin_range_passes"),
    ({"eval_metric": "accuracy"}, {}, ParameterError, "eval_metric='accuracy'"),
    ({"device": "no such card"}, {}, DeviceError, "no such card"),
    ({"work_group_size": 100}, {}, ParameterError, "expected one of 0, 1, 8"),
    ({}, {"X": X[:0], "y": Y[:0]}, DataError, "0 sample"),
    ({}, {"X": X[:, :0]}, DataError, "0 feature"),
    ({}, {"X": X[0]}, DataError, "Reshape"),
    ({}, {"y": Y[:-1]}, DataError, "199 values"),
    ({}, {"y": np.where(LABEL, np.nan, Y)}, DataError, "y holds"),
    ({}, {"y": np.where(LABEL, np.inf, Y)}, DataError, "infin"),
    ({}, {"X": np.where(X > 2, np.inf, X)}, DataError, "row"),
    ({}, {"X": X.astype(str)[:, :2].astype(object) + "x"}, DataError, "row 0, column 0"),
    ({}, {"sample_weight": -np.ones(200)}, DataError, "weight"),
    ({}, {"sample_weight": np.full(200, np.nan)}, DataError, "weight"),
    ({}, {"sample_weight": np.zeros(200)}, DataError, "zero"),
    ({}, {"sample_weight": np.ones(3)}, DataError, "3 values"),
    ({}, {"eval_set": [(X[:, :2], Y)]}, DataError, r"eval_set\[0\]"),
    ({}, {"eval_set": [(X, Y[:3])]}, DataError, "3 values"),
]


@pytest.mark.parametrize(("params", "fit", "error", "words"), BAD_FITS)
def test_bad_input_says_what_and_leaves_nothing_behind(params, fit, error, words):
    estimator = regressor(**params)
    with pytest.raises(error, match=words):
        estimator.fit(**{"X": X, "y": Y, **fit})
    assert not hasattr(estimator, "model_")
    assert not hasattr(estimator, "n_features_in_")


def test_bad_labels():
    for y, words in [
        (Y, "continuous"),
        (np.c_[LABEL, LABEL] * 2, r"y has shape \(200, 2\) and holds 2"),
    ]:
        with pytest.raises(DataError, match=words):
            classifier().fit(X, y)
    with pytest.raises(DataError, match=r"eval_set\[0\]: y holds 2 at row 0.*expected the classes"):
        classifier().fit(X, LABEL, eval_set=[(X, np.full(200, 2))])
    with pytest.raises(DataError, match=r"eval_set\[0\]: y holds 'd' at row 5"):
        classifier().fit(X, THREE, eval_set=[(X, np.where(np.arange(200) == 5, "d", THREE))])
    with pytest.raises(DataError, match=r"eval_set\[0\]: y has 3 labels for 200 rows"):
        classifier().fit(X, THREE, eval_set=[(X, THREE[:3])])


THREE = np.array(["low", "middle", "top"])[np.digitize(Y, [-1, 1])]


@pytest.mark.parametrize("objective", [None, "multi:softprob", "multi:softmax"])
def test_three_classes(objective, tmp_path):
    model = classifier(objective=objective).fit(X, THREE, eval_set=[(X[:50], THREE[:50])])
    assert list(model.classes_) == ["low", "middle", "top"]
    assert model.model_.ensemble.objective == (objective or "multi:softprob")
    assert model.score(X, THREE) > 0.9
    proba = model.predict_proba(X)
    assert proba.shape == (200, 3)
    assert proba.dtype == np.float32
    np.testing.assert_allclose(proba.sum(axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), model.classes_[proba.argmax(axis=1)])
    margins = model.predict(X, output_margin=True)
    assert margins.shape == (200, 3)
    np.testing.assert_array_equal(margins.argmax(axis=1), proba.argmax(axis=1))
    first = model.predict(X, output_margin=True, iteration_range=(0, 2))
    rest = model.predict_proba(X, base_margin=first, iteration_range=(2, 5))
    np.testing.assert_array_equal(rest, proba)
    (values,) = model.evals_result()["validation_0"].values()
    own = proba[np.arange(50), model.classes_.searchsorted(THREE[:50])]
    assert values[-1] == pytest.approx(-np.log(own).mean(), rel=1e-5)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), proba)
    model.save_model(tmp_path / "m.json")
    again = classifier().load_model(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    more = classifier(objective=objective).fit(X, THREE, xgb_model=model)
    assert more.model_.num_boosted_rounds() == 10
    with pytest.raises(DataError, match="the model to continue has the classes"):
        classifier().fit(X, np.char.upper(THREE), xgb_model=model)


def test_numbered_classes_without_names(tmp_path):
    """A file that names no classes, as XGBoost writes it, has 0, 1, 2."""
    model = classifier().fit(X, THREE)
    model.model_.ensemble.attributes.clear()
    model.save_model(tmp_path / "m.json")
    again = classifier().load_model(tmp_path / "m.json")
    assert again.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(model.classes_[again.predict(X)], model.predict(X))


def test_several_targets(tmp_path):
    y = np.c_[Y, X[:, 0], Y * 3]
    model = regressor().fit(X, y, eval_set=[(X, y)])
    assert model.score(X, y) > 0.5
    found = model.predict(X)
    assert found.shape == y.shape
    for i in range(3):
        np.testing.assert_array_equal(found[:, i], regressor().fit(X, y[:, i]).predict(X))
    np.testing.assert_array_equal(model.predict(X, output_margin=True), found)
    model.save_model(tmp_path / "m.json")
    np.testing.assert_array_equal(regressor().load_model(tmp_path / "m.json").predict(X), found)
    frame = pd.DataFrame(y, columns=list("abc"))
    np.testing.assert_array_equal(regressor().fit(X, frame).predict(X), found)
    with pytest.raises(DataError, match="'validation_0' has 1 targets, the training data 3"):
        regressor().fit(X, y, eval_set=[(X, Y)])


def test_losses_of_the_other_estimator():
    with pytest.raises(ParameterError, match=r"objective='multi:softmax': .*use GBDTClassifier"):
        regressor(objective="multi:softmax").fit(X, LABEL)
    with pytest.raises(ParameterError, match="'reg:gamma': expected one of binary:logistic"):
        classifier(objective="reg:gamma").fit(X, LABEL)
    with pytest.raises(ParameterError, match=r"expected multi:softprob .* for the 3 classes of y"):
        classifier(objective="binary:hinge").fit(X, THREE)
    assert classifier(objective="multi:softprob").fit(X, LABEL).score(X, LABEL) > 0.9


def test_before_fit_and_wrong_columns(tmp_path):
    for call in (
        lambda: regressor().predict(X),
        lambda: classifier().predict_proba(X),
        lambda: regressor().feature_importances_,
        lambda: regressor().save_model(tmp_path / "m.json"),
    ):
        with pytest.raises(NotFittedError, match="not fitted"):
            call()
    assert not (tmp_path / "m.json").exists()
    with pytest.raises(DataError, match="X has 3 features, but GBDTRegressor is expecting 4"):
        regressor().fit(X, Y).predict(X[:, :3])


def test_a_failed_fit_keeps_the_old_model():
    estimator = regressor().fit(X, Y)
    before = estimator.predict(X)
    with pytest.raises(DataError):
        estimator.fit(X, Y[:5])
    np.testing.assert_array_equal(estimator.predict(X), before)
