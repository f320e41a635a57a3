"""What ``compat.xgboost`` makes of parameters, beside XGBoost."""

from __future__ import annotations

import json
import re
import warnings

import numpy as np
import pytest

from pyopencl_gbdt.compat import xgboost as xgb
from pyopencl_gbdt.compat.xgboost import settings
from pyopencl_gbdt.compat.xgboost.settings import Settings
from pyopencl_gbdt.errors import NoDeviceError
from pyopencl_gbdt.parameters.table import DROPPING, TABLE
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


# -- parameters without use ----------------------------------------------------------------------
def told(library, params, label=CLASSES):
    """Return the warnings of a training of one round; other tests may have silenced XGBoost."""
    with warnings.catch_warnings(record=True) as caught, library.config_context(verbosity=1):
        warnings.simplefilter("always")
        library.train(params, library.DMatrix(X, label), 1)
    return [str(one.message) for one in caught]


def unused(library, params, label=CLASSES):
    """Return the parameters that a training says are not used."""
    return re.findall(r'"(\w+)"', " ".join(told(library, params, label)))


SOFTMAX = {"objective": "multi:softmax", "num_class": 3}


@pytest.mark.parametrize(
    "params",
    [
        {**SOFTMAX, "scale_pos_weight": 3},
        {**SOFTMAX, "scale_pos_weight": 1},
        {"objective": "count:poisson", "scale_pos_weight": 3},
        {"scale_pos_weight": 1},
        {"objective": "binary:logistic", "scale_pos_weight": 3},
        {"rate_drop": 0.5},
        {"extra_trees": True, "min_samples_leaf": 90, "colour": 1},
    ],
)
def test_unused_parameters_are_those_of_xgboost(theirs, params):
    label = (Y > 4) * 1.0 if params.get("objective") == "binary:logistic" else CLASSES
    assert unused(xgb, params, label) == unused(theirs, params, label)


def test_a_weight_of_ones_is_told_where_it_has_no_effect():
    assert unused(xgb, {"scale_pos_weight": 3}) == ["scale_pos_weight"]
    assert unused(xgb, {"scale_pos_weight": 3, "verbosity": 0}) == []


def test_own_parameters_of_trees_have_no_effect():
    matrix = xgb.DMatrix(X, Y)
    params = {"extra_trees": True, "min_samples_leaf": 90, "linear_tree": True}
    with pytest.warns(UserWarning, match="are not used"):
        found = xgb.train(params, matrix, 2)
    assert found.save_raw() == xgb.train({}, matrix, 2).save_raw()


def test_parameters_that_act_are_known_to_xgboost(theirs):
    """Losses have their own, and the device has some that change no model."""
    rows = [row for row in TABLE if row.default not in (None, "", ())]
    names = [row.name for row in rows if row.name in Settings({row.name: row.default}).values]
    of_losses = {name for name in names if re.match("aft_|lambdarank_|huber_|fair_|ndcg_", name)}
    of_losses |= {"quantile_alpha", "tweedie_variance_power"}
    of_device = {"histogram", "page", "device", "device_memory", "cache_dir", "work_group_size"}
    rest = {*names} - of_losses - of_device - {*DROPPING}
    given = {row.name: row.default for row in rows if row.name in rest}
    assert len(given) > 15
    assert unused(theirs, given) == []


def test_a_gpu_that_is_missing_is_told_once(monkeypatch):
    def no_device(name):
        raise NoDeviceError(name)

    monkeypatch.setattr(settings, "find", no_device)
    messages = told(xgb, {"device": "cuda"})
    assert messages == ["No visible GPU is found, device='cuda' becomes 'auto'."]


# -- seeds, rows of one dimension, columns of cv -------------------------------------------------
def test_seeds_are_taken_modulo_two_to_the_32(theirs):
    for library in (xgb, theirs):
        matrix = library.DMatrix(X, Y)
        found = []
        for seed in (-1, "-1", 2**32 - 1, 2**33 - 1, 7):
            params = {"seed": seed, "subsample": 0.3, "eta": 0.1}
            found.append(library.train(params, matrix, 2).predict(matrix))
        assert all(np.array_equal(found[0], other) for other in found[1:4])
        assert not np.array_equal(found[0], found[4])
        with pytest.raises(library.core.XGBoostError, match=str(2**63)):
            library.train({"seed": 2**63}, matrix, 1)


def test_one_dimension_is_a_column(theirs):
    for library in (xgb, theirs):
        model = library.XGBRegressor(n_estimators=2).fit(X, Y)
        booster = model.get_booster()
        for call in (model.predict, booster.inplace_predict):
            for how in (True, False):
                with pytest.raises(ValueError, match="3"):
                    call(X[0], validate_features=how)
        narrow = library.XGBRegressor(n_estimators=2).fit(X[:, :1], Y)
        assert np.array_equal(narrow.predict(X[:, 0]), narrow.predict(X[:, :1]))


def test_columns_of_cv_are_in_the_order_of_xgboost(theirs):
    found = []
    for library in (xgb, theirs):
        found.append(
            library.cv(
                {"eval_metric": ["rmse", "mae"]}, library.DMatrix(X, Y), 2, as_pandas=False,
                custom_metric=lambda margins, matrix: [("one", 1.0), ("two", 2.0)],
            )
        )  # fmt: skip
    assert list(found[0]) == list(found[1])
    assert len(found[0]) == 16
    for name, values in found[0].items():
        np.testing.assert_allclose(values, found[1][name], rtol=1e-5, err_msg=name)
