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
    of_losses |= {"quantile_alpha", "expectile_alpha", "tweedie_variance_power"}
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


# -- values that XGBoost refuses -----------------------------------------------------------------
REFUSED = [
    {"tree_method": "gpu_hist"}, {"tree_method": "foo"}, {"max_depth": 2.0}, {"max_depth": "2.0"},
    {"max_depth": -1}, {"max_depth": True}, {"max_leaves": 3.0}, {"max_bin": 256.0},
    {"seed": 1.0}, {"num_class": 2.0}, {"scale_pos_weight": -1}, {"grow_policy": "symmetric"},
    {"sampling_method": "goss"}, {"process_type": "none"}, {"updater": "shrub"},
    {"refresh_leaf": 3}, {"seed_per_iteration": "x"}, {"gpu_id": 1}, {"lambda": -1},
    {"eval_metric": "ams"},
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*(updater|not used):UserWarning")
@pytest.mark.parametrize("params", REFUSED, ids=str)
def test_values_that_xgboost_refuses(theirs, params):
    name, *_ = params
    for library, word in ((xgb, name), (theirs, ".")):
        with pytest.raises(library.core.XGBoostError, match=word):
            library.train(params, library.DMatrix(X, Y), 1)


def test_errors_have_the_names_that_were_given():
    for name in ("eta", "learning_rate", "seed", "random_state", "alpha", "reg_alpha"):
        with pytest.raises(ValueError, match=f"^{name}='x': expected"):
            xgb.train({name: "x"}, xgb.DMatrix(X, Y), 1)


def test_an_updater_is_a_tree_method():
    matrix = xgb.DMatrix(X + np.random.default_rng(0).normal(size=X.shape), Y)
    for updater, method in (("grow_colmaker,prune", "exact"), ("grow_histmaker", "approx")):
        found = xgb.train({"updater": updater, "max_bin": 4}, matrix, 2)
        wanted = xgb.train({"tree_method": method, "max_bin": 4}, matrix, 2)
        assert found.save_raw() == wanted.save_raw()


def test_notes_of_this_library_need_a_verbosity_of_two():
    for given, own in ((None, 0), (0, 0), (1, 0), ("1", 0), (2, 2), (3, 3)):
        assert Settings({"verbosity": given}).trained()["verbosity"] == own


# -- metrics, seeds of rounds --------------------------------------------------------------------
@pytest.mark.parametrize("share", ["0", "1", "0.15", "0.5", "2"])
@pytest.mark.parametrize("weighted", [False, True])
def test_ams(theirs, share, weighted):
    rng = np.random.default_rng(1)
    x, weight = rng.normal(size=(300, 3)), rng.integers(1, 9, 300) if weighted else None
    label = (x[:, 0] + rng.normal(size=300) > 0) * 1.0
    found = []
    for library in (xgb, theirs):
        matrix = library.DMatrix(x, label, weight=weight)
        booster = library.train({"objective": "binary:logistic", "max_depth": 9}, matrix, 12)
        margin = theirs.DMatrix(x).num_row() and np.argsort(np.argsort(x[:, 0])) / 100
        rows = library.DMatrix(x, label, weight=weight, base_margin=margin)
        empty = library.Booster({"eval_metric": f"ams@{share}"}, [rows])
        found.append(float(empty.eval(rows).split(":")[1]))
        assert "ams@" in library.Booster({"eval_metric": "ams@0.2"}, model_file=booster).eval(rows)
    assert found[0] == pytest.approx(found[1], rel=1e-6)


def test_seeds_of_rounds():
    """Rounds of one number draw the same rows, in whatever order they come."""
    matrix = xgb.DMatrix(X, Y)
    params = {"subsample": 0.3, "seed_per_iteration": True, "eta": 1e-30, "base_score": 0.0}

    def covers(*numbers, **more):
        booster = xgb.Booster({**params, **more}, [matrix])
        for number in numbers:
            booster.update(matrix, number)
        table = booster.trees_to_dataframe()
        return [table[table.Tree == n].Cover.tolist() for n in range(len(numbers))]

    once = covers(0, 1, 2)
    assert covers(2, 0, 1) == [once[2], once[0], once[1]]
    assert once[0] != once[1]
    assert covers(1, 1) == [once[1]] * 2
    assert covers(5, 9, 0, seed_per_iteration=False) == once
    first = xgb.train({**params}, matrix, 2)
    again = xgb.train({**params}, matrix, 2, xgb_model=first).trees_to_dataframe()
    assert again[again.Tree == 0].Cover.tolist() == again[again.Tree == 2].Cover.tolist()
