"""What ``compat.xgboost`` makes of parameters, beside XGBoost."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pyopencl_gbdt.compat import xgboost as xgb
from tests.compat.xgboost_data import small_integers

X, Y = small_integers()
CLASSES = (X[:, 0] // 3).astype(np.float32)


@pytest.fixture(scope="module")
def theirs():
    return pytest.importorskip("xgboost", "3.2", reason="needs XGBoost")


def squared(margins, matrix):
    return margins - matrix.get_label().reshape(margins.shape), np.ones_like(margins)


def softmax(margins, matrix):
    share = np.exp(margins) / np.exp(margins).sum(axis=1, keepdims=True)
    label = np.eye(3)[matrix.get_label().astype(int)]
    return share - label, np.maximum(2 * share * (1 - share), 1e-6)


# -- the number of classes -----------------------------------------------------------------------
@pytest.mark.parametrize("obj", [None, softmax])
@pytest.mark.parametrize("n_classes", [3, "3"])
def test_a_number_of_classes_alone_trains_classes(theirs, obj, n_classes):
    found = []
    for library in (xgb, theirs):
        matrix = library.DMatrix(X, CLASSES)
        booster = library.train({"num_class": n_classes}, matrix, 3, obj=obj)
        name = json.loads(booster.save_config())["learner"]["objective"]["name"]
        assert name == "multi:softmax"
        found.append((booster.predict(matrix), booster.predict(matrix, output_margin=True)))
    assert np.array_equal(found[0][0], found[1][0])
    np.testing.assert_allclose(found[0][1], found[1][1], atol=1e-5)


@pytest.mark.parametrize("n_classes", [0, 1])
def test_one_class_or_none_trains_a_regression(theirs, n_classes):
    found = []
    for library in (xgb, theirs):
        matrix = library.DMatrix(X, Y)
        found.append(library.train({"num_class": n_classes}, matrix, 3).predict(matrix))
    np.testing.assert_allclose(*found, rtol=1e-6)


def test_a_wrong_number_of_classes():
    with pytest.raises(ValueError, match="num_class='many'"):
        xgb.train({"num_class": "many"}, xgb.DMatrix(X, CLASSES), 1)


# -- gradients that continue a loss --------------------------------------------------------------
LOSSES = {
    "regression": ({}, Y, squared),
    "two classes": ({"objective": "binary:logistic"}, (Y > 4) * 1.0, squared),
    "classes": ({"objective": "multi:softprob", "num_class": 3}, CLASSES, softmax),
    "targets": ({}, np.stack([Y, CLASSES], axis=1), squared),
    "a base score": ({"base_score": 2.0}, Y, squared),
}


@pytest.mark.parametrize(("params", "label", "obj"), LOSSES.values(), ids=LOSSES)
def test_given_gradients_continue_a_model(theirs, params, label, obj):
    found = []
    for library in (xgb, theirs):
        matrix = library.DMatrix(X, label)
        first = library.train(params, matrix, 2)
        booster = library.train(params, matrix, 2, obj=obj, xgb_model=first)
        assert booster.num_boosted_rounds() == 4
        loaded = library.Booster(model_file=booster.save_raw())
        assert np.array_equal(loaded.predict(matrix), booster.predict(matrix))
        found.append(booster.predict(matrix))
    np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-6)


def test_rounds_of_the_loss_and_of_given_gradients(theirs):
    found = []
    for library in (xgb, theirs):
        matrix = library.DMatrix(X, Y)
        booster = library.Booster({}, [matrix])
        booster.update(matrix, 0)
        g, h = squared(booster.predict(matrix), matrix)
        booster.boost(matrix, 1, grad=g, hess=h)
        booster.update(matrix, 2)
        found.append(booster.predict(matrix))
    np.testing.assert_allclose(*found, rtol=1e-6)
