"""Boosters whose rounds are not alike, beside XGBoost where it is installed."""

from __future__ import annotations

import numpy as np
import pytest

from pyopencl_gbdt.compat import xgboost as xgb
from tests.compat.xgboost_data import rows, small_integers


@pytest.fixture(scope="module")
def theirs():
    return pytest.importorskip("xgboost", "3", reason="needs XGBoost")


def _changing(library):
    """Return a callback that turns to the other kind of leaves after every round."""

    class Changes(library.callback.TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            kinds = ("multi_output_tree", "one_output_per_tree")
            model.set_param({"multi_strategy": kinds[epoch % 2]})
            return False

    return Changes()


@pytest.mark.parametrize("n_parallel", [1, 2])
def test_vector_leaves_and_a_tree_for_each_output_take_turns(theirs, n_parallel):
    X, y = small_integers(n_features=4)
    label = np.stack([y, y[::-1]], axis=1)
    params = {"max_depth": 2, "base_score": 0.5, "num_parallel_tree": n_parallel}
    predicted, own = [], None
    for library in (xgb, theirs):
        matrix = library.DMatrix(X, label)
        own = library.train(params, matrix, 4, callbacks=[_changing(library)])
        assert own.num_boosted_rounds() == len(list(own)) == 4
        margin = own.predict(matrix, output_margin=True)
        parts = sum(one.predict(matrix, output_margin=True) - 0.5 for one in own)
        np.testing.assert_allclose(margin, parts + 0.5, atol=1e-5)
        predicted.append(margin)
        again = library.Booster(model_file=own.save_raw())
        np.testing.assert_array_equal(again.predict(matrix), own.predict(matrix))
    np.testing.assert_allclose(*predicted, rtol=1e-4, atol=1e-4)


@pytest.mark.filterwarnings("ignore:.*updater:UserWarning")
def test_a_given_updater_is_told_once(theirs):
    X, y = rows()
    for library in (xgb, theirs):
        matrix = library.DMatrix(X, y)
        own = library.train({"max_depth": 2}, matrix, 2)
        given = {"updater": "prune", "process_type": "update"}
        if library is xgb:  # XGBoost warns once in a process
            with pytest.warns(UserWarning, match="specified the `updater` parameter"):
                own = library.train(given, matrix, 2, xgb_model=own)
        else:
            own = library.train(given, matrix, 2, xgb_model=own)
        assert own.num_boosted_rounds() == 2


@pytest.mark.filterwarnings("error")
def test_no_word_of_the_updater_of_linear_models():
    xgb.train({"booster": "gblinear", "updater": "coord_descent"}, xgb.DMatrix(*rows()), 1)


@pytest.mark.parametrize("name", ['"a" b', "\ttab", "line\nend", "back\\slash", "é"])
def test_names_in_dumps_have_backslashes(theirs, name):
    X, y = small_integers()
    texts = []
    for library in (xgb, theirs):
        matrix = library.DMatrix(X[:, :1], y, feature_names=[name])
        own = library.train({"max_depth": 1}, matrix, 1)
        texts.append(own.get_dump()[0].split("<")[0])
    assert texts[0] == texts[1]


@pytest.mark.parametrize("objective", ["reg:squarederror", "multi:softprob"])
@pytest.mark.parametrize("score", [{}, {"base_score": 0.25}])
def test_a_file_without_rounds_begins_anew(theirs, objective, score):
    """Where to start is found of the labels, unless it was given."""
    X, y = small_integers()
    label = y % 3
    params = {"objective": objective, "max_depth": 2}
    if objective == "multi:softprob":
        params["num_class"] = 3
    started = []
    for library in (xgb, theirs):
        matrix = library.DMatrix(X, label)
        none = library.train({**params, **score}, matrix, 0)
        file = library.Booster(model_file=none.save_raw())
        found = library.train(params, matrix, 2, xgb_model=file)
        wanted = library.train({**params, **score}, matrix, 2)
        np.testing.assert_array_equal(found.predict(matrix), wanted.predict(matrix))
        started.append(found.predict(matrix, output_margin=True))
    np.testing.assert_allclose(*started, rtol=1e-4, atol=1e-4)


def test_another_start_of_a_file_without_rounds():
    X, y = rows()
    matrix = xgb.DMatrix(X, y)
    file = xgb.Booster({"base_score": 2.0}, model_file=xgb.train({}, matrix, 0).save_raw())
    wanted = xgb.train({"base_score": 2.0}, matrix, 1)
    found = xgb.train({"base_score": 2.0}, matrix, 1, xgb_model=file)
    assert found.predict(matrix).tobytes() == wanted.predict(matrix).tobytes()


def test_weights_of_rows_that_differ_within_a_query(theirs):
    X, y = small_integers()
    for library in (xgb, theirs):
        matrix = library.DMatrix(X, y % 2, weight=np.arange(len(y)), group=[100, 100])
        with pytest.raises(ValueError, match="must equal to the number of query groups"):
            library.train({"objective": "rank:ndcg", "tree_method": "hist"}, matrix, 1)
    same = xgb.DMatrix(X, y % 2, weight=np.repeat([1, 2], 100), group=[100, 100])
    few = xgb.DMatrix(X, y % 2, weight=[1, 2], group=[100, 100])
    ranked = [xgb.train({"objective": "rank:ndcg"}, one, 1).save_raw() for one in (same, few)]
    assert ranked[0] == ranked[1]
