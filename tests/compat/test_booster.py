"""``Booster`` and ``train`` of ``compat.xgboost``, beside XGBoost where it is installed."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest

from pyopencl_gbdt.compat import xgboost as xgb
from tests.compat.xgboost_data import rows, small_integers

PARAMS = {"max_depth": 3, "eta": 0.3}


@pytest.fixture(scope="module")
def theirs():
    return pytest.importorskip("xgboost", "3", reason="needs XGBoost")


@pytest.fixture(scope="module")
def matrix():
    return xgb.DMatrix(*rows())


@pytest.fixture(scope="module")
def booster(matrix):
    return xgb.train(PARAMS, matrix, 4)


def squared(margins, matrix):
    return margins - matrix.get_label(), np.ones_like(margins)


# -- rounds --------------------------------------------------------------------------------------
def test_updates_are_the_rounds_of_train(matrix, booster):
    own = xgb.Booster(PARAMS, [matrix])
    for number in range(4):
        own.update(matrix, number)
    assert own.save_raw("json") == booster.save_raw("json")


def test_a_model_that_goes_on_is_that_of_all_rounds(matrix, booster):
    first = xgb.train(PARAMS, matrix, 2)
    assert xgb.train(PARAMS, matrix, 2, xgb_model=first).save_raw() == booster.save_raw()
    assert first.num_boosted_rounds() == 2


def test_gradients_of_the_loss_give_its_model(matrix):
    given = {**PARAMS, "base_score": 0.5}
    by_loss = xgb.train(given, matrix, 3)
    by_function = xgb.train(given, matrix, 3, obj=squared)
    assert by_function.save_raw("json") == by_loss.save_raw("json")
    by_arrays = xgb.Booster(given, [matrix])
    for number in range(3):
        g, h = squared(by_arrays.predict(matrix), matrix)
        by_arrays.boost(matrix, number, grad=g, hess=h)
    assert by_arrays.save_raw("json") == by_loss.save_raw("json")


def test_gradients_of_several_classes():
    X, y = rows()
    matrix = xgb.DMatrix(X, (y > 0) + (y > 0.5))
    shapes = []

    def softmax(margins, rows):
        shapes.append(margins.shape)
        share = np.exp(margins) / np.exp(margins).sum(axis=1, keepdims=True)
        label = np.eye(3)[rows.get_label().astype(int)]
        return share - label, np.maximum(2 * share * (1 - share), 1e-6)

    params = {"objective": "multi:softprob", "num_class": 3, **PARAMS}
    found = xgb.train(params, matrix, 2, obj=softmax)
    usual = xgb.train({**params, "base_score": 0.5}, matrix, 2)
    assert shapes == [(120, 3)] * 2
    np.testing.assert_allclose(found.predict(matrix), usual.predict(matrix), atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, "Either the gradient or the objective should have a valid value"),
        ({"grad": [1], "hess": [1], "fobj": squared}, "not both"),
        ({"grad": np.ones(3), "hess": np.ones(3)}, "is required to be"),
        ({"grad": np.full(120, np.nan), "hess": np.ones(120)}, "expected finite"),
        ({"fobj": lambda margins, rows: margins}, "return .grad, hess."),
    ],
)
def test_wrong_gradients(matrix, arguments, words):
    with pytest.raises(ValueError, match=words):
        xgb.Booster(PARAMS, [matrix]).boost(matrix, 0, **arguments)


def test_a_new_learning_rate_holds_from_the_next_round_on(matrix):
    own = xgb.Booster(PARAMS, [matrix])
    own.update(matrix, 0)
    own.set_param("learning_rate", 0)
    own.update(matrix, 1)
    assert np.array_equal(own.predict(matrix), own[:1].predict(matrix))
    own.set_param({"max_depth": 1, "eta": 0.3})
    own.update(matrix, 2)
    assert own.get_dump()[2].count("leaf") == 2


def test_unused_parameters_are_told(matrix):
    with pytest.warns(UserWarning, match='Parameters: { "colour" } are not used'):
        xgb.train({"colour": 1}, matrix, 1)


# -- metrics -------------------------------------------------------------------------------------
def test_metrics_are_those_of_xgboost(theirs):
    X, y = small_integers()
    params = {**PARAMS, "eval_metric": ["rmse", "mae"]}
    found, wanted = {}, {}
    for library, result in ((xgb, found), (theirs, wanted)):
        matrix, test = library.DMatrix(X, y), library.DMatrix(X[:50], y[:50])
        library.train(
            params, matrix, 5, evals=[(test, "test"), (matrix, "train")], evals_result=result,
            verbose_eval=False,
        )  # fmt: skip
    assert [list(own) for own in (found, found["test"])] == [["test", "train"], ["rmse", "mae"]]
    for name, metrics in found.items():
        for metric, values in metrics.items():
            np.testing.assert_allclose(values, wanted[name][metric], rtol=1e-4)


def test_metrics_of_a_finished_booster_are_those_of_its_last_round(matrix):
    result = {}
    params = {"eval_metric": ["rmse", "mae"], **PARAMS}
    own = xgb.train(params, matrix, 3, evals=[(matrix, "a")], evals_result=result)
    text = own.eval_set([(matrix, "a")], 7)
    parts = dict(part.split(":") for part in text.split("\t")[1:])
    assert text.startswith("[7]\t")
    assert float(parts["a-rmse"]) == pytest.approx(result["a"]["rmse"][-1], rel=1e-6)
    assert own.eval(matrix, "a", 7) == text


def test_a_function_may_measure_several_things(matrix):
    seen = []

    def measure(prediction, rows):
        seen.append(rows)
        return [("low", prediction.min()), ("high", prediction.max())]

    result = {}
    xgb.train(
        {**PARAMS, "disable_default_eval_metric": 1}, matrix, 2, evals=[(matrix, "a")],
        custom_metric=measure, evals_result=result,
    )  # fmt: skip
    assert list(result["a"]) == ["low", "high"]
    assert seen == [matrix, matrix]
    with pytest.raises(ValueError, match="expected a name and a number"):
        xgb.train(PARAMS, matrix, 1, evals=[(matrix, "a")], custom_metric=lambda p, d: 5)


def test_a_metric_gets_margins_beside_a_loss_of_ones_own(matrix):
    seen = {}
    binary = xgb.DMatrix(rows()[0], rows()[1] > 0)
    params = {"objective": "binary:logistic", **PARAMS}

    def keep(name):
        return lambda prediction, rows: (name, seen.setdefault(name, prediction).size)

    def logistic(margins, rows):
        share = 1 / (1 + np.exp(-margins))
        return share - rows.get_label(), share * (1 - share)

    xgb.train(params, binary, 1, evals=[(binary, "a")], custom_metric=keep("share"))
    own = xgb.train(
        params, binary, 1, evals=[(binary, "a")], custom_metric=keep("margin"), obj=logistic
    )
    assert 0 < seen["share"].min() < seen["share"].max() < 1
    assert np.array_equal(seen["margin"], own.predict(binary, output_margin=True))


# -- predictions ---------------------------------------------------------------------------------
@pytest.mark.parametrize("n_rounds", [1, 2])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"objective": "multi:softprob", "num_class": 3},
        {"objective": "multi:softmax", "num_class": 3},
        {"num_parallel_tree": 2},
    ],
)
def test_shapes_are_those_of_xgboost(theirs, more, n_rounds):
    X, y = small_integers()
    labels = y % 3 if "num_class" in more else y
    kinds = (
        "output_margin", "pred_leaf", "pred_contribs", "pred_interactions", "validate_features",
    )  # fmt: skip
    shapes = []
    for library in (xgb, theirs):
        own = library.train({**PARAMS, **more}, library.DMatrix(X, labels), n_rounds)
        shapes.append([
            own.predict(library.DMatrix(X), strict_shape=strict, **{kind: True}).shape
            for kind in kinds
            for strict in (False, True)
        ])  # fmt: skip
    assert shapes[0] == shapes[1]


def test_predictions_and_leaves_are_those_of_xgboost(theirs):
    X, y = small_integers()
    ours = xgb.train(PARAMS, xgb.DMatrix(X, y), 3)
    other = theirs.Booster()
    other.load_model(ours.save_raw())
    for how in (
        {}, {"output_margin": True}, {"pred_leaf": True}, {"pred_contribs": True},
        {"iteration_range": (1, 3)}, {"pred_contribs": True, "approx_contribs": True},
    ):  # fmt: skip
        wanted = other.predict(theirs.DMatrix(X), **how)
        found = ours.predict(xgb.DMatrix(X), **how)
        assert found.dtype == wanted.dtype
        np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5)
    np.testing.assert_allclose(ours.inplace_predict(X), other.inplace_predict(X), rtol=2e-6)


@pytest.mark.parametrize(
    ("how", "error", "words"),
    [
        ({"iteration_range": (0, 9)}, ValueError, "Out of range for tree layers"),
        ({"iteration_range": "all"}, ValueError, "expected two numbers"),
        ({"pred_leaf": True, "pred_contribs": True}, ValueError, "One type of prediction"),
    ],
)
def test_wrong_options_of_predict(matrix, booster, how, error, words):
    with pytest.raises(error, match=words):
        booster.predict(matrix, **how)


def test_wrong_rows_to_predict(booster):
    X, _ = rows()
    with pytest.raises(TypeError, match="Expecting data to be a DMatrix object"):
        booster.predict(X)
    with pytest.raises(ValueError, match="Feature shape mismatch, expected: 4, got 2"):
        booster.inplace_predict(X[:, :2])
    with pytest.raises(ValueError, match="Number of columns does not match"):
        booster.predict(xgb.DMatrix(np.ones((2, 9))))
    with pytest.raises(ValueError, match="expected 'value' or 'margin'"):
        booster.inplace_predict(X, predict_type="leaf")


def test_names_of_columns_are_those_of_training():
    X, y = rows()
    named = xgb.DMatrix(X, y, feature_names=list("abcd"))
    own = xgb.train(PARAMS, named, 1)
    with pytest.raises(ValueError, match=r"feature_names mismatch: .*\nexpected d in input data"):
        own.predict(xgb.DMatrix(X, feature_names=list("abce")))
    with pytest.raises(ValueError, match="data did not contain feature names, but"):
        own.predict(xgb.DMatrix(X))
    found = own.predict(xgb.DMatrix(X), validate_features=False)
    assert np.array_equal(found, own.predict(named))
    assert np.array_equal(found, own.inplace_predict(X))


# -- models --------------------------------------------------------------------------------------
def test_slices_are_those_of_xgboost(matrix, booster):
    assert [part.num_boosted_rounds() for part in booster] == [1] * 4
    assert booster[1:3].num_boosted_rounds() == 2
    assert booster[...].num_boosted_rounds() == 4
    assert booster[::2].get_dump() == booster.get_dump()[::2]
    for index, error in ((9, IndexError), (slice(1, 9), IndexError), ("a", TypeError),
                         (slice(3, 2), ValueError), (slice(2, 2), ValueError), (-1, ValueError),
                         ((1, 2), ValueError)):  # fmt: skip
        with pytest.raises(error):
            booster[index]


def test_copies_and_pickles_are_boosters_of_their_own(matrix, booster):
    for twin in (booster.copy(), copy.deepcopy(booster), pickle.loads(pickle.dumps(booster))):
        assert twin.save_raw() == booster.save_raw()
        twin.set_attr(mark="x")
        twin.update(matrix, 4)
        assert twin.num_boosted_rounds() == 5
    assert booster.num_boosted_rounds() == 4
    assert booster.attr("mark") is None


def test_files_go_both_ways(theirs, tmp_path, matrix, booster):
    booster.set_attr(mark=3)
    for name in ("a.json", "a.ubj"):
        booster.save_model(tmp_path / name)
        other = theirs.Booster(model_file=tmp_path / name)
        assert other.attr("mark") == "3"
        other.save_model(tmp_path / f"b{name}")
        back = xgb.Booster(model_file=tmp_path / f"b{name}")
        assert np.array_equal(back.predict(matrix), booster.predict(matrix))
        assert back.attributes() == {"mark": "3"}
    booster.set_attr(mark=None)
    with pytest.warns(UserWarning, match="Saving model in the UBJSON format as default"):
        booster.save_model(tmp_path / "a.bin")
    with pytest.warns(UserWarning, match="Unknown file format: `bin`. Using UBJSON"):
        xgb.Booster(model_file=tmp_path / "a.bin")
    with pytest.raises(TypeError, match="fname must be a string"):
        booster.save_model(3)
    with pytest.raises(ValueError, match="Unknown model format"):
        booster.save_raw("deprecated")


def test_types_of_columns_are_kept_in_files(theirs):
    X, y = rows()
    types = ["int", "q", "float", "i"]
    own = xgb.train(PARAMS, xgb.DMatrix(X, y, feature_types=types), 1)
    for raw in (own.save_raw("json"), own.save_raw("ubj")):
        assert xgb.Booster(model_file=raw).feature_types == types
        assert theirs.Booster(model_file=raw).feature_types == types


def test_configurations_hold_the_parameters(theirs, matrix):
    params = {"max_depth": 2, "eta": 0.125, "objective": "reg:tweedie", "eval_metric": "mae",
              "tweedie_variance_power": 1.25}  # fmt: skip
    own = xgb.Booster(params, [matrix])
    config = json.loads(own.save_config())
    kept = theirs.DMatrix(*rows())  # their booster does not keep it
    other = json.loads(theirs.Booster(params, [kept]).save_config())
    trees = config["learner"]["gradient_booster"]["tree_train_param"]
    wanted = other["learner"]["gradient_booster"]["tree_train_param"]
    assert {name: trees[name] for name in ("eta", "max_depth", "lambda", "subsample")} == {
        name: wanted[name] for name in ("eta", "max_depth", "lambda", "subsample")
    }
    twin = xgb.Booster({}, [matrix])
    twin.load_config(own.save_config())
    assert twin.save_config() == own.save_config()
    with pytest.raises(ValueError, match="not a configuration"):
        twin.load_config("{}")


def test_configurations_go_both_ways(theirs, matrix):
    params = {"max_depth": 2, "monotone_constraints": (1, 0, 0, 0), "device": "cpu"}
    given = theirs.DMatrix(*rows())
    for more in ({}, {"base_score": 0.25}, {"booster": "dart"}):
        own, other = xgb.Booster(params | more, [matrix]), theirs.Booster(params | more, [given])
        texts = own.save_config(), other.save_config()
        means = [
            json.loads(text)["learner"]["learner_model_param"]["boost_from_average"]
            for text in texts
        ]
        assert means[0] == means[1]
        own.load_config(texts[1])
        other.load_config(texts[0])
        for text in (own.save_config(), other.save_config()):
            learner = json.loads(text)["learner"]
            trees = learner["gradient_booster"]
            trees = trees.get("gbtree", trees)["tree_train_param"]
            assert (trees["max_depth"], trees["monotone_constraints"]) == ("2", "(1,0,0,0)")


def test_what_is_asked_of_a_booster_before_training(matrix):
    empty = xgb.Booster({"base_score": 0.25}, [matrix])
    assert empty.num_boosted_rounds() == 0
    assert empty.get_dump() == []
    assert np.array_equal(empty.predict(matrix), np.full(120, 0.25, np.float32))
    for call in (xgb.Booster().num_boosted_rounds, xgb.Booster().save_config):
        with pytest.raises(ValueError, match="0 feature is supplied"):
            call()
    with pytest.raises(AttributeError, match="only defined when early stopping is used"):
        _ = empty.best_iteration
    with pytest.raises(TypeError, match="Invalid cache item"):
        xgb.Booster({}, [rows()[0]])
    with pytest.raises(TypeError, match="Unknown file type"):
        empty.load_model(5)


def test_trees_are_told_as_by_xgboost(theirs):
    X, y = small_integers()
    ours = xgb.train(PARAMS, xgb.DMatrix(X, y), 2)
    other = theirs.Booster(model_file=ours.save_raw())
    for kind in ("weight", "gain", "cover", "total_gain", "total_cover"):
        found, wanted = (one.get_score(importance_type=kind) for one in (ours, other))
        assert found == pytest.approx(wanted, rel=1e-5)
    assert ours.get_fscore() == other.get_fscore()
    assert ours.get_dump(dump_format="text") == other.get_dump(dump_format="text")
    assert len(ours.get_split_value_histogram("f0", bins=0)) == 1  # as one bin
    found, wanted = (one.get_split_value_histogram("f0", bins=3) for one in (ours, other))
    np.testing.assert_allclose(found.to_numpy(), wanted.to_numpy())
    assert list(ours.trees_to_dataframe().columns) == list(other.trees_to_dataframe().columns)
    with pytest.raises(ValueError, match="Unknown feature importance type"):
        ours.get_score(importance_type="colour")
