"""What scripts ask of XGBoost's interface, of both libraries with the same rows."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pyopencl_gbdt.compat import xgboost as xgb
from tests.compat.xgboost_data import small_integers


@pytest.fixture(scope="module")
def libraries():
    return xgb, pytest.importorskip("xgboost", "3.2", reason="needs XGBoost")


def test_boosters_use_all_rounds_and_estimators_those_up_to_the_best(libraries):
    pytest.importorskip("sklearn")
    X, y = small_integers()
    seen = []
    for library in libraries:
        test = library.DMatrix(X[120:], y[120:])
        booster = library.train(
            {"eta": 1, "max_depth": 3}, library.DMatrix(X[:120], y[:120]), 20,
            evals=[(test, "a")], early_stopping_rounds=2, verbose_eval=False,
        )  # fmt: skip
        n_rounds, until = booster.num_boosted_rounds(), booster.best_iteration + 1
        found = booster.predict(test)
        everything = booster.predict(test, iteration_range=(0, n_rounds))
        best = booster.predict(test, iteration_range=(0, until))
        own = library.XGBRegressor(learning_rate=1, max_depth=3, early_stopping_rounds=2)
        own.fit(X[:120], y[:120], eval_set=[(X[120:], y[120:])], verbose=False)
        assert np.array_equal(found, everything)
        assert np.array_equal(own.predict(X[120:]), best)
        seen.append((until, n_rounds, own.apply(X).shape, everything, best))
    assert seen[0][:3] == seen[1][:3]
    assert seen[0][0] < seen[0][1]
    for own, other in zip(seen[0][3:], seen[1][3:], strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-5, atol=1e-6)


def test_weights_come_before_or_after_their_queries(libraries):
    X, y = small_integers(n_rows=40)
    for first in ("weight", "group"):
        booster = []
        for library in libraries:
            matrix = library.DMatrix(X, y % 3)
            calls = {"weight": lambda m: m.set_weight([1, 2, 3, 4]),
                     "group": lambda m: m.set_group([10] * 4)}  # fmt: skip
            for name in sorted(calls, key=lambda one: one != first):
                calls[name](matrix)
            assert matrix.get_weight().tolist() == [1, 2, 3, 4]
            own = library.train({"objective": "rank:ndcg", "max_depth": 2}, matrix, 2)
            booster.append(own.predict(matrix))
        np.testing.assert_allclose(*booster, rtol=1e-4, atol=1e-5)


def test_base_margins_can_be_set_and_read(libraries):
    X, y = small_integers(n_rows=40)
    found = []
    for library in libraries:
        matrix = library.DMatrix(X, y)
        matrix.set_base_margin(np.arange(40))
        assert matrix.get_base_margin().tolist() == list(range(40))
        found.append(library.train({"max_depth": 2}, matrix, 2).predict(matrix))
    np.testing.assert_allclose(*found, rtol=1e-5)


def test_text_attributes_and_drawings_of_a_booster(libraries):
    X, y = small_integers(n_rows=80)
    found = []
    for library in libraries:
        matrix = library.DMatrix(X, y)
        booster = library.train({"max_depth": 2}, matrix, 2)
        text = booster.eval(matrix, "rows", 7)
        assert booster.reset() is booster
        booster.update(matrix, 2)
        booster.set_attr(a=1, b="x")
        attributes = booster.attributes(), booster.attr("a"), booster.attr("z")
        booster.set_attr(a=None)
        dot = [line.partition("label=")[0] for line in booster.get_dump(dump_format="dot")]
        empty = booster.predict(library.DMatrix(X[:0].reshape(0, 3))).shape
        plain = np.array_equal(booster.predict(matrix, training=True), booster.predict(matrix))
        names = {"DEBUG", "USE_CUDA", "USE_NCCL", "USE_OPENMP", "libxgboost"}
        head, score = text.split(":")
        facts = head, attributes, booster.attributes(), dot, empty, plain
        found.append((facts, names <= set(library.build_info()), float(score)))
    assert found[0][:2] == found[1][:2]
    assert found[0][2] == pytest.approx(found[1][2], rel=1e-5)


@pytest.mark.parametrize("label", [0.0, 1.0])
@pytest.mark.parametrize("loss", ["binary:logistic", "reg:logistic"])
def test_base_scores_of_one_class(libraries, loss, label):
    X = np.arange(20.0)[:, None]
    for how in ({}, {"base_score": 0.0}, {"base_score": 1.0}, {"base_score": [1.0]}):
        found = []
        for library in libraries:
            matrix = library.DMatrix(X, np.full(20, label))
            booster = library.train({"objective": loss, **how}, matrix, 1)
            learner = json.loads(booster.save_config())["learner"]["learner_model_param"]
            found.append((json.loads(learner["base_score"]), booster.predict(matrix)))
        assert found[0][0] == found[1][0]
        if found[0][0] == [label]:
            np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-5)


def test_columns_without_values_have_cut_points(libraries):
    X = np.full((20, 2), np.nan)
    X[:, 0] = np.arange(20) % 5
    found = [library.QuantileDMatrix(X, X[:, 0]).get_quantile_cut() for library in libraries]
    for own, other in zip(*found, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-6)


@pytest.mark.parametrize("method", ["approx", "exact"])
def test_categories_by_the_other_tree_methods(libraries, method):
    pd = pytest.importorskip("pandas")
    levels = np.arange(60) % 4
    table = pd.DataFrame({"c": pd.Categorical(list("abcd"))[levels]})
    found = []
    for library in libraries:
        matrix = library.DMatrix(table, levels * levels, enable_categorical=True)
        params = {"tree_method": method, "max_depth": 2}
        if method == "exact":
            with pytest.raises(library.core.XGBoostError):
                library.train(params, matrix, 1)
        else:
            found.append(library.train(params, matrix, 3).predict(matrix))
    if found:
        np.testing.assert_allclose(*found, rtol=1e-5)
