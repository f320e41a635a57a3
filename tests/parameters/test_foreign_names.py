"""Names of LightGBM, CatBoost, scikit-learn and old XGBoost: each is taken, or gets an answer."""

import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from pyopencl_gbdt import Dataset, GBDTClassifier, GBDTRanker, GBDTRegressor, cv, train
from pyopencl_gbdt.cli import build_parser
from pyopencl_gbdt.cli.configuration import read
from pyopencl_gbdt.errors import ArgumentError, ParameterError
from pyopencl_gbdt.estimators.constructor import PARAMETERS
from pyopencl_gbdt.metrics import METRICS, get_metric, metric_name
from pyopencl_gbdt.parameters.foreign import (
    ALIASES,
    ANSWERS,
    CONVERTED,
    OWN_NAMES,
    VALUE_ANSWERS,
    VALUES,
)
from pyopencl_gbdt.parameters.parameters import ROWS, Parameters, check_foreign, unknown
from pyopencl_gbdt.parameters.table import IGNORED, TABLE, XGBOOST_ONLY
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(5)
X = RNG.standard_normal((150, 4)).astype(np.float32)
Y = (X[:, 0] * X[:, 1] + X[:, 2]).astype(np.float32)
TWO, THREE = (Y > 0).astype(int), np.digitize(Y, [-0.5, 0.5])
SMALL = {"device": TEST_DEVICE, "n_estimators": 2, "max_depth": 2}
OWN = {row.name for row in TABLE}
#: Names by which users of the other libraries begin, and of old versions of XGBoost.
USUAL = (
    "iterations", "depth", "l2_leaf_reg", "bagging_fraction", "feature_fraction", "lambda_l1",
    "lambda_l2", "num_leaves", "num_iterations", "min_child_samples", "min_data_in_leaf",
    "min_sum_hessian_in_leaf", "bagging_freq", "subsample_freq", "loss_function", "metric",
    "silent", "use_label_encoder", "predictor", "random_seed", "rsm", "border_count", "od_wait",
    "od_type", "bagging_temperature", "random_strength", "thread_count", "task_type",
    "logging_level", "use_best_model", "auto_class_weights", "class_weights", "bootstrap_type",
    "nan_mode", "one_hot_max_size", "cat_features", "leaf_estimation_iterations", "max_iter",
    "max_leaf_nodes", "min_samples_leaf", "l2_regularization", "max_bins", "loss",
    "n_iter_no_change", "validation_fraction", "tol", "max_features", "early_stopping",
    "monotonic_cst", "interaction_cst", "min_split_gain", "is_unbalance",
    "early_stopping_round", "verbose", "num_threads", "device_type", "extra_trees",
    "data_sample_strategy", "boosting", "gpu_id", "shrinkage_rate",
    "poisson_max_delta_step", "num_classes", "feature_fraction_bynode", "deterministic",
    "force_col_wise", "metrics", "eval_at", "drop_rate", "max_drop", "uniform_drop",
    "xgboost_dart_mode", "drop_seed",
)  # fmt: skip


def made(name, value):
    return Parameters.from_dict({name: value})


def test_every_usual_name_is_in_the_table():
    assert len(USUAL) > 60
    assert set(USUAL) <= OWN | OWN_NAMES.keys() | CONVERTED.keys() | ANSWERS.keys()


def test_names_are_of_one_kind():
    every = [*OWN_NAMES, *CONVERTED, *ANSWERS]
    assert (
        len(every)
        == len(set(every))
        == sum(map(len, ALIASES.values())) + len(CONVERTED) + len(ANSWERS)
    )
    aliases = {name for row in TABLE for name in row.aliases}
    assert not set(every) & ({*OWN, *aliases, *XGBOOST_ONLY, *IGNORED} - {"nthread"})
    outside = {"eval_metric", "early_stopping_rounds", "categorical_features", "n_jobs"}
    assert set(ALIASES) <= OWN | outside
    assert {own for own, _ in CONVERTED.values()} <= OWN


def test_values_are_of_one_kind():
    for name in {*VALUES, *VALUE_ANSWERS}:
        own = set(METRICS) if name == "eval_metric" else set(ROWS[name].allowed)
        assert set(VALUES.get(name, ())) <= own
        others = [other for known in VALUES.get(name, {}).values() for other in known]
        others += VALUE_ANSWERS.get(name, {})
        assert len(others) == len(set(others))
        assert not set(others) & own


@pytest.mark.parametrize("other", [n for n, own in OWN_NAMES.items() if own in OWN - {"device"}])
def test_an_alias_means_the_parameter(other):
    own = OWN_NAMES[other]
    value = {"num_class": 3, "objective": "fair", "boosting_type": "ordered", "subsample": 0.5,
             "sampling_method": "goss", "extra_trees": True, "monotone_constraints": [1],
             "interaction_constraints": [[0]], "max_bin": 7,
             }.get(own, 2 if ROWS[own].kind is int else 0.25)  # fmt: skip
    more = {"objective": "multi:softprob"} if own == "num_class" else {}
    assert Parameters.from_dict({other: value, **more}) == Parameters.from_dict(
        {own: value, **more}
    )
    with pytest.raises(
        ParameterError, match=f"{own} and {other} are two|{other} and {own} are two"
    ):
        Parameters.from_dict({own: value, other: value, **more})
    if own == "num_class":
        return
    for estimator in (
        GBDTRegressor(**{other: value}),
        GBDTRegressor().set_params(**{other: value}),
    ):
        assert estimator.get_params()[own] == clone(estimator).get_params()[own] == value
        assert other not in estimator.get_params()


def test_values_that_are_written_otherwise():
    assert made("border_count", 254) == made("max_bin", 255)
    assert made("silent", True) == made("verbosity", 0) == made("silent", "1")
    assert made("silent", False) == made("verbosity", 1)
    assert made("verbose", -1) == made("verbose", False) == made("verbosity", 0)
    for name in CONVERTED:
        assert made(name, None) == Parameters.from_dict({})
    assert made("task_type", "CPU") == made("device", "cpu")
    assert GBDTRegressor(border_count=31, silent=True).get_params()["max_bin"] == 32
    for name, value in (("border_count", "x"), ("silent", "maybe"), ("verbose", 100)):
        with pytest.raises(ParameterError, match=f"^{name}={value!r}: expected"):
            made(name, value)


PAIRS = [(name, own, other) for name, known in VALUES.items() for own, others in known.items()
         for other in others]  # fmt: skip


def test_a_value_means_ours():
    for name, own, other in PAIRS:
        if name == "eval_metric":
            assert metric_name(other) == own
            assert get_metric(other)
            continue
        more = {"num_class": 3} if own.startswith("multi:") else {}
        found, wanted = (Parameters.from_dict({name: word, **more}) for word in (other, own))
        assert found == wanted, (name, other)


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer(name):
    answer = ANSWERS[name]
    own = name in PARAMETERS  # of the estimators
    for value in (*answer.harmless, None):
        assert made(name, value) == Parameters.from_dict({})
        one = GBDTRegressor(**{name: value})
        assert one.get_params()[name] is clone(one).get_params()[name] is value
    words = f"^{name}='yes!': {re.escape(answer.text)}$"
    of_estimators = (
        lambda: GBDTRegressor(**{name: "yes!"}),
        lambda: GBDTClassifier().set_params(max_depth=3, **{name: "yes!"}),
    )
    for asks in (
        lambda: train({name: "yes!"}, Dataset(X, Y)),
        lambda: cv({name: "yes!"}, Dataset(X, Y)),
        *(() if own else of_estimators),
    ):
        with pytest.raises(ParameterError, match=words):
            asks()


TEXTS = sorted({answer.text for answer in ANSWERS.values()} | {
    text for known in VALUE_ANSWERS.values() for text in known.values()})  # fmt: skip


def test_answers_name_what_is_taken():
    besides = {"class_weight", "eval_set", "early_stopping_rounds", "iteration_range",
               "metric_name", "min_delta", "eval_metric"}  # fmt: skip
    of_values = ("objective", "sampling_method", "booster", "sample_type")
    known = [value for name in of_values for value in ROWS[name].allowed]
    for text in TEXTS:
        values = re.findall(r"'([^']+)'", text)
        named = set(re.findall(r"[a-z]+(?:_[a-z]+)+", re.sub(r"'[^']+'", "", text)))
        assert named <= OWN | besides, text
        assert set(values) <= {*known, *METRICS, "balanced", "gpu:0", "gpu:1", "ndcg@5"}, text


@pytest.mark.parametrize("name", ["text_features", "embedding_features"])
def test_columns_of_text_and_embeddings_are_refused_by_fit(name):
    """The constructor and ``train`` refuse them, too, as all answers."""
    words = f"^{name}=\\['note'\\]: {re.escape(ANSWERS[name].text)}$"
    with pytest.raises(ParameterError, match=words):
        GBDTClassifier(**{name: ["note"]})
    with pytest.raises(ArgumentError, match=words):
        GBDTClassifier(**SMALL).fit(X, Y > 0, **{name: ["note"]})


def test_dictionaries_of_other_libraries():
    lightgbm = {
        "objective": "binary", "boosting_type": "gbdt", "num_iterations": 3, "num_leaves": 5,
        "learning_rate": 0.2, "bagging_fraction": 0.8, "bagging_freq": 1, "feature_fraction": 0.7,
        "lambda_l2": 2.0, "seed": 4, "verbose": -1, "num_threads": 2, "force_col_wise": True,
        "device_type": "cpu", "grow_policy": "Lossguide",
    }  # fmt: skip
    assert Parameters.from_dict(lightgbm) == Parameters.from_dict(
        {"objective": "binary:logistic", "n_estimators": 3, "max_leaves": 5, "eta": 0.2,
         "subsample": 0.8, "colsample_bytree": 0.7, "reg_lambda": 2.0, "random_state": 4,
         "verbosity": 0, "device": "cpu", "grow_policy": "lossguide"}
    )  # fmt: skip
    catboost = {
        "loss_function": "Logloss", "iterations": 3, "depth": 2, "l2_leaf_reg": 2.0,
        "random_seed": 4, "border_count": 31, "grow_policy": "SymmetricTree", "thread_count": 2,
    }  # fmt: skip
    own = {"objective": "binary:logistic", "n_estimators": 3, "max_depth": 2, "reg_lambda": 2.0,
           "random_state": 4, "max_bin": 32, "grow_policy": "symmetric"}  # fmt: skip
    assert Parameters.from_dict(catboost) == Parameters.from_dict(own)
    params = GBDTClassifier(**catboost).get_params()
    assert params == {**GBDTClassifier(**own, n_jobs=2).get_params(), "objective": "Logloss",
                      "grow_policy": "SymmetricTree"}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "label", "objective", "own"),
    [
        (GBDTClassifier, TWO, "binary", "binary:logistic"),
        (GBDTClassifier, TWO, "log_loss", "binary:logistic"),
        (GBDTClassifier, THREE, "multiclass", "multi:softprob"),
        (GBDTClassifier, THREE, "MultiClass", "multi:softprob"),
        (GBDTRegressor, Y, "reg:linear", "reg:squarederror"),
        (GBDTRegressor, Y, "MAE", "reg:absoluteerror"),
        (GBDTRanker, THREE, "lambdarank", "rank:ndcg"),
    ],
)
def test_estimators_take_losses_of_other_names(kind, label, objective, own, tmp_path):
    more = {"group": [30] * 5} if kind is GBDTRanker else {}
    estimator = clone(kind(loss=objective, **SMALL)).fit(X, label, **more)
    assert estimator.get_params()["objective"] == objective
    assert estimator.model_.ensemble.objective == own
    estimator.save_model(tmp_path / "m.json")
    again = kind(objective=objective).load_model(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict(X), estimator.predict(X))


@pytest.mark.parametrize("kind", [GBDTClassifier, GBDTRegressor, GBDTRanker])
def test_estimators_answer_losses_that_are_not_here(kind):
    more = {"group": [30] * 5} if kind is GBDTRanker else {}
    for loss, answer in VALUE_ANSWERS["objective"].items():
        with pytest.raises(ParameterError, match=f"^objective='{loss}': {re.escape(answer)}$"):
            kind(loss_function=loss, **SMALL).fit(X, TWO, **more)


@pytest.mark.parametrize(("loss", "words"), [
    ("Quantile:alpha=0.9", "give 'reg:quantileerror', and the quantile by quantile_alpha"),
    ("Tweedie:variance_power=1.5", "give 'reg:tweedie', and the power by tweedie_variance_power"),
    ("Huber:delta=1", "give 'huber', and delta by huber_alpha"),
])  # fmt: skip
def test_losses_with_parameters_as_catboost_writes_them(loss, words):
    with pytest.raises(ParameterError, match=f"^objective='{loss}': {words}$"):
        train({"loss_function": loss}, Dataset(X, Y))


def test_estimators_take_metrics_of_other_names():
    own = GBDTClassifier(metric="MultiClass", od_wait=2, thread_count=1, **SMALL)
    assert (own.eval_metric, own.early_stopping_rounds, own.n_jobs) == ("MultiClass", 2, 1)
    own.fit(X, THREE, eval_set=[(X, THREE)])
    assert list(own.evals_result()["validation_0"]) == ["mlogloss"]
    ranker = GBDTRanker(eval_metric="MAP", objective="rank:map", **SMALL)
    assert 0.5 < ranker.fit(X, TWO, group=[30] * 5).score(X, TWO, group=[30] * 5) <= 1
    search = GridSearchCV(GBDTRegressor(**SMALL), {"depth": [1, 2], "loss": ["RMSE"]}, cv=2)
    assert search.fit(X, Y).best_estimator_.max_depth == search.best_params_["depth"]


def test_metrics_in_params():
    data = Dataset(X, Y)
    for given in ({"metric": "RMSE"}, [("metric", "RMSE")], {"metrics": ["rmse"]}):
        pairs = [*SMALL.items(), *(given.items() if isinstance(given, dict) else given)]
        assert list(train(pairs, data, evals=[(data, "a")]).history["a"]) == ["rmse"]
    several = [*SMALL.items(), ("metric", "mae"), ("eval_metric", "rmse")]
    assert list(train(several, data, evals=[(data, "a")]).history["a"]) == ["mae", "rmse"]
    with pytest.raises(ParameterError, match="metric and eval_metric are two spellings"):
        train({"metric": "mae", "eval_metric": "rmse"}, data)
    with pytest.raises(ParameterError, match="eval_metric='mse': the metric here is its root; giv"):
        train({**SMALL, "metric": "mse"}, data)
    with pytest.raises(ParameterError, match="early_stopping_rounds: expected as an argument"):
        train({**SMALL, "early_stopping_round": 5}, data)


def test_arguments_take_precedence_over_every_spelling():
    data = Dataset(X, Y)
    assert (
        train({**SMALL, "n_estimators": None, "iterations": 5}, data, 3).num_boosted_rounds() == 3
    )
    found = cv({"iterations": 5, "device": TEST_DEVICE}, data, 2, nfold=2, as_pandas=False)
    assert len(found["test-rmse-mean"]) == 2


def test_an_attribute_of_a_subclass_is_no_parameter():
    class Own(GBDTRegressor):
        def __init__(self, n_estimators=2):
            super().__init__(n_estimators=n_estimators, device=TEST_DEVICE)
            self.tol, self.devices, self.metric = 1, 2, 3

    own = clone(Own()).fit(X, Y)
    assert own.get_params() == {"n_estimators": 2}
    assert (own.tol, own.devices, own.metric, own.eval_metric) == (1, 2, 3, None)


def test_a_subclass_may_use_a_foreign_name_for_itself():
    class Deep(GBDTRegressor):
        def __init__(self, depth=3, verbose=1, **others):
            super().__init__(max_depth=depth + 1, **others)
            self.depth, self.verbose = depth, verbose

    deep = clone(Deep(depth=5, n_estimators=2)).set_params(depth=4, max_depth=9, verbose=100)
    assert (deep.depth, deep.max_depth, deep.verbose) == (4, 9, 100)
    assert deep.get_params()["depth"] == 4


@pytest.mark.parametrize("word", ["metrix", "max_dept", "num_leavs", "booste", "missin"])
def test_hints_name_what_is_taken(word):
    with pytest.raises(ParameterError) as error:
        Parameters.from_dict({word: 3})
    hints = re.findall(r"'([^']+)'", str(error.value))[1:]
    assert 1 <= len(set(hints)) == len(hints) <= 3
    assert set(hints) <= set(ROWS) | {"eval_metric", "n_jobs"}
    with pytest.raises(ParameterError) as error:
        GBDTRegressor(**{word: 3})
    for hint in re.findall(r"'([^']+)'", str(error.value))[1:]:
        GBDTRegressor(**{hint: None})


@pytest.mark.parametrize("word", ["z", "zzz", "qwertz" * 9, 7])
def test_there_is_no_hint_where_nothing_is_near(word):
    words = (
        r"^unknown parameter .*: none is named like it; docs/parameters\.md lists those that are$"
    )
    with pytest.raises(ParameterError, match=words) as error:
        Parameters.from_dict({word: 3})
    assert "did you mean" not in str(error.value)
    few = "unknown suffix 'zzz': expected one of 'format', 'label_column'; give one of them"
    assert str(unknown("zzz", ["format", "label_column"], "suffix")) == few


def test_the_command_line_takes_them(tmp_path):
    words = ["iterations=7", "depth=3", "loss_function=Logloss", "border_count=31", "silent=1",
             "metric=AUC,Logloss", "thread_count=2", "use_label_encoder=false", "rsm=0.5",
             "early_stopping_round=4"]  # fmt: skip
    found = read(build_parser().parse_args(["train", "data=a.csv", *words]))
    p = Parameters.from_dict(found.params)
    assert (p.n_estimators, p.max_depth, p.objective, p.max_bin) == (7, 3, "binary:logistic", 32)
    assert (p.verbosity, p.colsample_bylevel) == (0, 0.5)
    assert found.metrics == ["AUC", "Logloss"]
    assert found.options["early_stopping_rounds"] == 4
    assert found.without_effect == ["thread_count", "use_label_encoder"]
    for word, text in (("max_drop=5", "any number of trees"), ("depht=3", "did you mean")):
        with pytest.raises(ParameterError, match=text):
            read(build_parser().parse_args(["train", "data=a.csv", word]))


def test_the_error_of_an_unknown_name_repeats_nothing():
    text = str(unknown("metri", ["eval_metric", "eval_metric", "device", "gamma"]))
    assert text.count("'eval_metric'") == 1
    with pytest.raises(ParameterError, match="known from XGBoost, not supported yet"):
        check_foreign("process_type", "update")
