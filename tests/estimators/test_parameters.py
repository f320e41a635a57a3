"""Every parameter of the table is one of the estimators, reaches training, and is checked."""

import ast
import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from pyopencl_gbdt import (
    Dataset,
    GBDTClassifier,
    GBDTRandomForestClassifier,
    GBDTRandomForestRegressor,
    GBDTRanker,
    GBDTRegressor,
    train,
)
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.estimators.constructor import _FOUND, _NOT_GIVEN, _TAKES, PARAMETERS
from pyopencl_gbdt.estimators.constructor import OWN as _OWN
from pyopencl_gbdt.parameters.table import TABLE
from tests.conftest import TEST_DEVICE
from tests.stubs import STUB, stub

RNG = np.random.default_rng(2)
X = RNG.standard_normal((300, 6)).astype(np.float32)
Y = (X[:, 0] * X[:, 1] + X[:, 2] + RNG.standard_normal(300) / 4).astype(np.float32)
SMALL = {"n_estimators": 3, "max_depth": 4, "device": TEST_DEVICE}
WEIGHTS = [5, 1, 1, 1, 1, 0.01]
#: Set otherwise than in the table.
OWN = {"num_class"}
#: Parameters of growth, at other values than the defaults.
GROWTH = [
    {"max_leaves": 5},
    {"max_leaves": 6, "grow_policy": "lossguide", "max_depth": 0},
    {"subsample": 0.5},
    {"subsample": 0.5, "sampling_method": "gradient_based"},
    {"sampling_method": "goss", "top_rate": 0.3, "other_rate": 0.2, "learning_rate": 0.9},
    {"colsample_bytree": 0.5},
    {"colsample_bylevel": 0.5},
    {"colsample_bynode": 0.5},
    {"monotone_constraints": {"f0": 1, "f2": 1}},
    {"monotone_constraints": (1, 0, 1)},
    {"interaction_constraints": [[0, 2], [1, 3, 4]]},
    {"num_parallel_tree": 2, "subsample": 0.7},
]


def regressor(**more):
    return GBDTRegressor(**{"preset": "xgboost", **SMALL, **more})


@pytest.mark.parametrize("estimator", [GBDTRegressor, GBDTClassifier, GBDTRanker])
def test_none_is_forgotten(estimator):
    signature = inspect.signature(estimator).parameters
    for row in TABLE:
        if row.name in OWN:
            assert row.name not in signature
            continue
        assert signature[row.name].default in (None, row.default), row.name
        assert estimator().get_params()[row.name] is signature[row.name].default
        assert f"\n    {row.name} : " in estimator.__doc__
    known = {row.name for row in TABLE} | {
        "callbacks", "categorical_features", "class_weight", "early_stopping_rounds", "eval_metric",
            "feature_weights",
        "importance_type", "missing", "n_jobs", "preset", "warm_start", "early_stopping",
        "validation_fraction", "n_iter_no_change", "tol", "scoring", "refit",
    }  # fmt: skip
    assert set(signature) <= known


def test_the_stub_is_of_the_table():
    """Editors and type checkers read it: run ``python -m tests.stubs``."""
    assert STUB.read_text(encoding="utf-8") == stub()
    arguments = ast.parse(stub()).body[-1].body[-1].args.kwonlyargs
    assert [argument.arg for argument in arguments] == list(PARAMETERS)
    assert {name for names in (_NOT_GIVEN, _FOUND, _OWN, _TAKES) for name in names} <= {
        *PARAMETERS, "num_class",
    }  # fmt: skip


@pytest.mark.few(3)
@pytest.mark.parametrize("given", GROWTH, ids=str)
def test_what_is_given_reaches_training(given):
    fitted = regressor(random_state=3, **given).fit(X, Y)
    wanted = train({**SMALL, "random_state": 3, **given}, Dataset(X, Y))
    assert fitted.model_.ensemble == wanted.ensemble
    assert wanted.ensemble != train({**SMALL, "random_state": 3}, Dataset(X, Y)).ensemble
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert regressor(random_state=3).set_params(**given).fit(X, Y).model_.ensemble == (
        wanted.ensemble
    )


def test_columns_by_their_names():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    for by_name, by_number in (
        ({"monotone_constraints": {"a": 1, "c": 1}}, {"monotone_constraints": [1, 0, 1]}),
        ({"interaction_constraints": [["a", "c"]]}, {"interaction_constraints": [[0, 2]]}),
    ):
        trees = [
            regressor(**given).fit(rows, Y).model_.ensemble.trees
            for given, rows in ((by_name, frame), (by_number, X))
        ]
        assert trees[0] == trees[1]
    with pytest.raises(ParameterError, match="names the column 'f0': expected one of 'a', 'b'"):
        regressor(monotone_constraints={"f0": 1}).fit(frame, Y)


def test_weights_of_columns():
    given = {"colsample_bynode": 0.4, "random_state": 1}
    wanted = train({**SMALL, **given}, Dataset(X, Y, feature_weights=WEIGHTS)).ensemble
    plain = regressor(**given).fit(X, Y).model_.ensemble
    for weights in (WEIGHTS, tuple(WEIGHTS), np.array(WEIGHTS)):
        fitted = clone(regressor(feature_weights=weights, **given)).fit(X, Y, eval_set=[(X, Y)])
        assert fitted.model_.ensemble == wanted != plain
    label = np.digitize(Y, [-0.5, 0.5])
    more = {"preset": "xgboost", **SMALL, **given}
    several = GBDTClassifier(feature_weights=WEIGHTS, **more).fit(X, label)
    assert several.model_.ensemble != GBDTClassifier(**more).fit(X, label).model_.ensemble


def test_a_number_gives_the_same_model_again():
    drawn = {"subsample": 0.5, "colsample_bytree": 0.7}
    one = regressor(random_state=5, **drawn)
    first = one.fit(X, Y).model_.ensemble
    assert one.fit(X, Y).model_.ensemble == first
    assert clone(one).fit(X, Y).model_.ensemble == first
    assert regressor(random_state=np.int64(5), **drawn).fit(X, Y).model_.ensemble == first
    assert regressor(random_state=6, **drawn).fit(X, Y).model_.ensemble != first
    zero = regressor(random_state=0, **drawn).fit(X, Y).model_.ensemble
    assert regressor(**drawn).fit(X, Y).model_.ensemble == zero


@pytest.mark.parametrize("kind", [np.random.RandomState, np.random.default_rng])
def test_a_generator_gives_seeds(kind):
    drawn = {"subsample": 0.5}
    one = regressor(random_state=kind(7), **drawn)
    first, second = one.fit(X, Y).model_.ensemble, one.fit(X, Y).model_.ensemble
    assert first != second
    again = regressor(random_state=kind(7), **drawn)
    assert again.fit(X, Y).model_.ensemble == first
    source = kind(7)
    seed = (source.randint if hasattr(source, "randint") else source.integers)(2**31 - 1)
    assert regressor(random_state=int(seed), **drawn).fit(X, Y).model_.ensemble == first


def test_scoring_a_ranker_draws_nothing():
    source = np.random.RandomState(1)
    ranker = GBDTRanker(random_state=source, **SMALL).fit(X, Y > 0, group=[100, 200])
    before = source.get_state()[2]
    ranker.score(X, Y > 0, group=[100, 200])
    assert source.get_state()[2] == before


def test_rows_and_columns_of_classes():
    labels = np.array(["a", "b", "c"])[np.digitize(Y, [-0.5, 0.5])]
    given = {"subsample": 0.7, "colsample_bynode": 0.5, "max_leaves": 6, "random_state": 4}
    fitted = GBDTClassifier(preset="xgboost", **SMALL, **given).fit(X, labels)
    params = {**SMALL, **given, "objective": "multi:softprob", "num_class": 3}
    codes = np.unique(labels, return_inverse=True)[1]
    assert fitted.model_.ensemble.trees == train(params, Dataset(X, codes)).ensemble.trees
    assert fitted.score(X, labels) > 0.7


@pytest.mark.parametrize("estimator", [GBDTRegressor, GBDTClassifier, GBDTRandomForestRegressor])
def test_the_kind_of_importance(estimator):
    fitted = estimator(**SMALL).fit(X, Y > 0)
    for kind in ("gain", "weight", "cover", "total_gain", "total_cover"):
        wanted = fitted.model_.feature_importances(kind)
        np.testing.assert_array_equal(
            fitted.set_params(importance_type=kind).feature_importances_, wanted
        )
        again = estimator(**SMALL, importance_type=kind).fit(X, Y > 0)
        np.testing.assert_array_equal(again.feature_importances_, wanted)
    by_count = fitted.set_params(importance_type="weight").feature_importances_
    np.testing.assert_array_equal(
        fitted.set_params(importance_type="split").feature_importances_, by_count
    )
    by_gain = fitted.set_params(importance_type="gain").feature_importances_
    assert not np.array_equal(by_gain, by_count)
    np.testing.assert_array_equal(
        fitted.set_params(importance_type=None).feature_importances_, by_gain
    )
    with pytest.raises(ParameterError, match="importance_type='gini': expected one of gain"):
        fitted.set_params(importance_type="gini").feature_importances_  # noqa: B018
    with pytest.raises(ParameterError, match="importance_type='gini': expected one of gain"):
        fitted.fit(X, Y > 0)


def test_several_quantiles():
    fitted = regressor(objective="reg:quantileerror", quantile_alpha=[0.1, 0.9])
    found = clone(fitted).fit(X, Y).predict(X)
    assert found.shape == (300, 2)
    assert (found[:, 1] >= found[:, 0]).mean() > 0.95


BAD = [
    ({"max_leaves": 1}, ParameterError, r"max_leaves=1: expected 0 \(no limit\) or 2 or more"),
    ({"max_leaves": -1}, ParameterError, "max_leaves=-1: expected"),
    ({"grow_policy": "level"}, ParameterError, "'lossguide' or 'symmetric'"),
    ({"num_parallel_tree": 0}, ParameterError, r"num_parallel_tree=0: expected 1..65536"),
    ({"subsample": 0}, ParameterError, r"subsample=0\.0: .* 0 < number <= 1; raise subsample"),
    ({"subsample": 1.1}, ParameterError, r"subsample=1\.1: .*lower subsample"),
    ({"subsample": "half"}, ParameterError, "subsample='half': expected .*give a number"),
    ({"sampling_method": "gos"}, ParameterError, "sampling_method='gos': .*did you mean 'goss'"),
    ({"sampling_method": "goss", "subsample": 0.5}, ParameterError, "give top_rate and other_rate"),
    ({"sampling_method": "goss", "top_rate": 0.95}, ParameterError, "lower top_rate or other_rate"),
    ({"sampling_method": "goss", "other_rate": 0}, ParameterError, r"other_rate=0\.0: expected"),
    ({"colsample_bytree": 0}, ParameterError, r"colsample_bytree=0\.0: expected"),
    ({"colsample_bylevel": 2}, ParameterError, r"colsample_bylevel=2\.0: expected"),
    ({"colsample_bynode": np.nan}, ParameterError, "colsample_bynode=nan: expected"),
    ({"monotone_constraints": (1,) * 7}, ParameterError, "has 7 entries: expected 6 at most"),
    ({"monotone_constraints": {"f9": 1}}, ParameterError, "names the column 'f9'"),
    ({"monotone_constraints": [0.5]}, ParameterError, r"holds 0\.5: expected 1, 0 or -1"),
    ({"monotone_constraints": [[1]]}, ParameterError, r"holds \[1\]: expected 1, 0 or -1"),
    ({"monotone_constraints": int}, ParameterError, "expected lists or dicts of columns"),
    ({"interaction_constraints": [[0, 6]]}, ParameterError, "names the column 6: expected one of"),
    ({"interaction_constraints": {"f0": 1}}, ParameterError, "give a list of lists"),
    ({"interaction_constraints": [[[0]]]}, ParameterError, r"names the column \[0\]"),
    ({"feature_weights": [1, 2]}, DataError, r"feature_weights has shape \(2,\), X has 6 columns"),
    ({"feature_weights": [1] * 5 + [0]}, DataError, r"holds 0\.0 for column 5: expected numbers"),
    ({"feature_weights": "heavy"}, DataError, "feature_weights is 'heavy': expected an array"),
    ({"random_state": -1}, ParameterError, r"random_state=-1: expected 0..4294967295"),
    ({"random_state": 2**32}, ParameterError, "lower random_state"),
    ({"random_state": "now"}, ParameterError, "random_state='now': expected"),
    ({"quantile_alpha": 2}, ParameterError, r"quantile_alpha=2\.0: expected"),
    ({"aft_loss_distribution": "gauss"}, ParameterError, "expected 'normal' or 'logistic' or"),
    ({"lambdarank_pair_method": "all"}, ParameterError, "expected 'topk' or 'mean'"),
]


#: Without an object's address, which is another one in every process that runs tests.
IDS = [str(given).split(" at 0x")[0] for given, _, _ in BAD]


@pytest.mark.parametrize(("given", "error", "words"), BAD, ids=IDS)
def test_bad_values(given, error, words):
    estimator = regressor(**given)
    with pytest.raises(error, match=words):
        estimator.fit(X, Y)
    assert not hasattr(estimator, "model_")
    assert not hasattr(estimator, "n_features_in_")
    fitted = regressor().fit(X, Y)
    before = fitted.model_
    with pytest.raises(error, match=words):
        fitted.set_params(**given).fit(X, Y)
    assert fitted.model_ is before


def test_weights_of_columns_are_no_parameter_of_train():
    with pytest.raises(ParameterError, match="feature_weights: expected as an argument of Dataset"):
        train({**SMALL, "feature_weights": WEIGHTS}, Dataset(X, Y))


@pytest.mark.parametrize(
    "estimator",
    [GBDTRegressor, GBDTRanker, GBDTRandomForestRegressor, GBDTRandomForestClassifier],
)
def test_parameters_without_names(estimator):
    class Own(estimator):
        pass

    for cls in (estimator, Own):
        words = rf"^{cls.__name__}\(5\): expected parameters by their names; give {cls.__name__}\("
        with pytest.raises(TypeError, match=words):
            cls(5)
