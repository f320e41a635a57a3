"""Targets of a classifier beyond two classes: one class alone, several labels a row."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict, cross_val_score

from pyopencl_gbdt import Dataset, GBDTClassifier, GBDTRandomForestClassifier, train
from pyopencl_gbdt.data import is_multilabel
from pyopencl_gbdt.errors import DataError, ParameterError
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(8)
X = RNG.standard_normal((200, 4)).astype(np.float32)
LABELS = (X[:, :3] + RNG.standard_normal((200, 3)) / 4 > 0).astype(int)
SMALL = {"n_estimators": 4, "max_depth": 3, "device": TEST_DEVICE}


def classifier(**more):
    return GBDTClassifier(**{"preset": "xgboost", **SMALL, **more})


@pytest.mark.parametrize("kind", [GBDTClassifier, GBDTRandomForestClassifier])
@pytest.mark.parametrize("label", ["cat", 7, 0.0, True, 1])
def test_one_class_is_predicted_with_probability_1(kind, label, tmp_path):
    y = np.full(200, label)
    model = kind(**SMALL).fit(X, y, eval_set=[(X, y)])
    assert model.classes_.tolist() == [label]
    assert model.classes_.dtype == y.dtype
    model.save_model(tmp_path / "m.json")
    read = kind(**SMALL).load_model(tmp_path / "m.json")
    for one in (model, pickle.loads(pickle.dumps(model)), read):
        np.testing.assert_array_equal(one.predict(X), y)
        np.testing.assert_array_equal(one.predict_proba(X), np.ones((200, 1)))
        assert one.score(X, y) == 1
    assert len(model.evals_result()["validation_0"]["logloss"]) == model.model_.num_boosted_rounds()


@pytest.mark.parametrize("given", [{"objective": "multi:softprob"}, {"class_weight": "balanced"},
                                   {"objective": "binary:hinge"}])  # fmt: skip
def test_one_class_with_other_parameters(given):
    model = classifier(**given).fit(X, np.full(200, "a"))
    assert set(model.predict(X)) == {"a"}
    assert model.predict_proba(X[:5]).tolist() == [[1.0]] * 5


def test_one_class_refuses_what_two_do():
    model = classifier().fit(X, np.full(200, "a"))
    with pytest.raises(DataError, match="3 features"):
        model.predict_proba(X[:, :3])
    with pytest.raises(DataError, match="y holds 'b' at row 0"):
        classifier().fit(X, np.full(200, "a"), eval_set=[(X, np.full(200, "b"))])


def test_a_fold_without_the_other_class():
    y = np.repeat(["a", "b"], 100)
    halves = [(np.arange(100), np.arange(100, 200)), (np.arange(0, 200, 2), np.arange(1, 200, 2))]
    scores = cross_val_score(classifier(), X, y, cv=halves)
    assert scores[0] == 0


def test_several_labels_are_a_binary_model_each():
    model = classifier().fit(X, LABELS, eval_set=[(X, LABELS)])
    proba = model.predict_proba(X)
    assert proba.shape == (200, 3)
    assert model.classes_.tolist() == [0, 1, 2]
    found = model.predict(X)
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, proba > 0.5)
    for label in range(3):
        alone = classifier().fit(X, LABELS[:, label])
        np.testing.assert_allclose(proba[:, label], alone.predict_proba(X)[:, 1], rtol=1e-5)
    wanted = train({**SMALL, "objective": "binary:logistic"}, Dataset(X, LABELS))
    assert model.model_.ensemble == wanted.ensemble
    np.testing.assert_array_equal(proba, wanted.predict(X, device=TEST_DEVICE))
    assert model.score(X, LABELS) == (found == LABELS).all(axis=1).mean() > 0.7
    margins = model.predict(X, output_margin=True)
    np.testing.assert_array_equal(margins > 0, found == 1)
    first = model.predict(X, output_margin=True, iteration_range=(0, 2))
    rest = model.predict_proba(X, base_margin=first, iteration_range=(2, 4))
    np.testing.assert_array_equal(rest, proba)


def test_labels_in_every_form(tmp_path):
    wanted = classifier().fit(X, LABELS).predict_proba(X)
    forms = [LABELS.tolist(), list(LABELS), LABELS.astype(bool), LABELS.astype(np.float64),
             pd.DataFrame(LABELS, columns=list("abc"))]  # fmt: skip
    for form in forms:
        assert is_multilabel(form)
        model = classifier().fit(X, form, eval_set=[(X, form)])
        np.testing.assert_array_equal(model.predict_proba(X), wanted)
    for form in (LABELS[:, 0], LABELS[:, :1], ["ab", "cd"], [], [["a"], ["b"]], pd.Series([1, 2])):
        assert not is_multilabel(form)
    model.save_model(tmp_path / "m.json")
    again = classifier().load_model(tmp_path / "m.json")
    assert again.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    more = classifier().fit(X, LABELS, xgb_model=again)
    assert more.model_.num_boosted_rounds() == 8


def test_as_xgboost(tmp_path):
    xgboost = pytest.importorskip("xgboost", reason="compares with XGBoost")
    ours = classifier().fit(X, LABELS)
    ours.save_model(tmp_path / "m.json")
    theirs = xgboost.XGBClassifier()
    theirs.load_model(tmp_path / "m.json")
    np.testing.assert_allclose(theirs.predict_proba(X), ours.predict_proba(X), rtol=1e-5)
    np.testing.assert_array_equal(theirs.predict(X), ours.predict(X))
    theirs = xgboost.XGBClassifier(n_estimators=4, max_depth=3, n_jobs=1).fit(X, LABELS)
    assert ours.score(X, LABELS) == pytest.approx(theirs.score(X, LABELS), abs=0.05)


def test_in_scikit_learns_tools():
    proba = cross_val_predict(classifier(), X, LABELS, cv=3, method="predict_proba")
    assert roc_auc_score(LABELS, proba) > 0.8
    scores = cross_val_score(classifier(), X, LABELS, cv=3, scoring="roc_auc")
    assert scores.min() > 0.8
    forest = GBDTRandomForestClassifier(**SMALL).fit(X, LABELS)
    assert forest.predict(X).shape == (200, 3)


@pytest.mark.parametrize(
    ("params", "fit", "error", "words"),
    [
        ({}, {"y": LABELS * 2}, DataError, r"shape \(200, 3\) and holds 2\.0 at row .*expected 0"),
        ({}, {"y": LABELS[:-1]}, DataError, "y has 199 values"),
        ({}, {"eval_set": [(X, LABELS[:, 0])]}, DataError, r"eval_set\[0\]: y has one column"),
        ({}, {"eval_set": [(X, LABELS[:, :2])]}, DataError, "has 2 targets"),
        ({"objective": "multi:softprob"}, {}, ParameterError, "where y has several columns"),
        ({"class_weight": "balanced"}, {}, ParameterError, "class_weight='balanced': expected No"),
    ],
)
def test_bad_labels(params, fit, error, words):
    model = classifier(**params)
    with pytest.raises(error, match=words):
        model.fit(X, **{"y": LABELS, **fit})
    assert not any(name.startswith("_new") for name in vars(model))
    assert not hasattr(model, "model_")
