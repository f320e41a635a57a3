"""Mistakes of a first hour: taken where the meaning is clear, else answered with the next move."""

import inspect
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pyopencl_gbdt import (
    Dataset,
    GBDTClassifier,
    GBDTRandomForestRegressor,
    GBDTRanker,
    GBDTRegressor,
    Model,
    train,
)
from pyopencl_gbdt.data import read_table
from pyopencl_gbdt.errors import (
    ArgumentError,
    DataError,
    MissingFileError,
    ModelFormatError,
    ParameterError,
)
from pyopencl_gbdt.estimators.evaluation_sets import pairs_of
from pyopencl_gbdt.messages import no_such_file
from pyopencl_gbdt.model import to_xgboost_json
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(3)
X = RNG.random((60, 3), np.float32)
Y = (X[:, 0] > 0.5).astype(int)
SMALL = {"n_estimators": 2, "max_depth": 2, "device": TEST_DEVICE}


# -- files that are not there --------------------------------------------------------------------
@pytest.fixture
def folder(tmp_path):
    for name in ("model.ubj", "modle.json", "table.csv"):
        (tmp_path / name).touch()
    return tmp_path


READERS = [
    Model.load_model, GBDTClassifier().load_model, Dataset.from_batches, read_table,
    lambda path: GBDTRegressor().fit(str(path)),
    lambda path: train(SMALL, Dataset(X, Y), 1, model=path),
]  # fmt: skip


@pytest.mark.parametrize("read", READERS)
def test_a_missing_file_is_told_with_its_folder_and_near_names(folder, read):
    words = f"model.json: no such file in the folder {folder}; did you mean 'model.ubj' or 'modle."
    with pytest.raises(MissingFileError, match=words.replace(".", r"\.")) as caught:
        read(folder / "model.json")
    assert isinstance(caught.value, FileNotFoundError)
    assert isinstance(caught.value, DataError)


@pytest.mark.parametrize("read", [READERS[0], READERS[1], READERS[5]])
def test_a_folder_is_no_model(folder, read):
    with pytest.raises(ModelFormatError, match="expected a model file, but it is a folder; name a"):
        read(folder)


def test_a_model_reads_a_file_into_itself_as_xgboosts(tmp_path):
    """It returned another model, and predicted as before."""
    model, other = (train(SMALL, Dataset(X, Y), rounds) for rounds in (1, 2))
    other.save_model(tmp_path / "m.json")
    read = model.load_model
    with pytest.raises(MissingFileError):
        read(tmp_path / "n.json")
    assert (model.predict(X) != other.predict(X)).any()
    assert read(tmp_path / "m.json") is model
    assert (model.predict(X) == other.predict(X)).all()
    assert model.training_device == ""


def test_nothing_near(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert no_such_file("zzz") == f"zzz: no such file in the folder {folder}; check the path"
    assert no_such_file("sub/zzz") == (
        f"sub/zzz: no such file, as there is no folder {folder / 'sub'}; check the path"
    )
    assert "'table.csv'?" in no_such_file(Path("table.cvs"))


# -- arguments of fit ----------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [GBDTClassifier, GBDTRandomForestRegressor, GBDTRanker])
def test_every_parameter_given_to_fit_is_sent_to_the_constructor(kind):
    names = {*kind._get_param_names(), "eta", "seed", "cat_features"}
    assert len(names) > 60
    for name in names - set(inspect.signature(kind.fit).parameters):
        model = kind(**{**SMALL, "n_estimators": 1})
        words = rf"^{name}=3: expected no such argument of fit.*give it to {kind.__name__}\({name}="
        with pytest.raises(ArgumentError, match=words) as caught:
            model.fit(X, Y, **{name: 3})
        assert isinstance(caught.value, TypeError)  # as for any function
        assert isinstance(caught.value, ParameterError)
        assert not hasattr(model, "model_")


def test_what_is_no_parameter_gets_the_nearest_argument():
    words = r"unknown argument of GBDTClassifier\.fit 'sample_weigth'; did you mean 'sample_weight'"
    with pytest.raises(ArgumentError, match=words):
        GBDTClassifier(**SMALL).fit(X, Y, sample_weigth=Y)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("metric", r"give it to GBDTClassifier\(metric=\.\.\.\)"),
        ("bagging_seed", "bagging_seed=3: random_state is the seed of all random numbers"),
        ("num_class", "num_class: no parameter of GBDTClassifier; leave it out, y has the classes"),
    ],
)
def test_a_name_of_another_library_gets_its_answer_at_once(name, words):
    with pytest.raises(ArgumentError, match=words):
        GBDTClassifier(**SMALL).fit(X, Y, **{name: 3})


# -- arguments of prediction ---------------------------------------------------------------------
@pytest.fixture(scope="module")
def fitted():
    own = {**SMALL, "n_estimators": 1}
    estimators = [GBDTClassifier(**own).fit(X, Y > 0), GBDTRegressor(**own).fit(X, Y)]
    estimators.append(GBDTRanker(**own).fit(X, (Y > 0).astype(int), group=[len(Y)]))
    return [*estimators, estimators[0].model_]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("raw_score", r"^raw_score=3: give output_margin=True to predict for margins"),
        ("prediction_type", "give output_margin=True"),
        ("ntree_limit", r"^ntree_limit=3: give iteration_range=\(begin, end\), the rounds from"),
        ("num_iteration", r"^num_iteration=3: give iteration_range="),
        ("start_iteration", r"^start_iteration=3: give iteration_range="),
        ("pred_contrib", r"^pred_contrib=3: give pred_contribs=True, pred_interactions=True or"),
        ("validate_features", "columns are always compared with those of training; leave it out"),
        ("strict_shape", r"have the shape \(n_rows,\), or"),
        ("iteration_rang", "unknown argument of .* 'iteration_rang'; did you mean 'iteration_rang"),
    ],
)
def test_an_argument_of_prediction_elsewhere_gets_its_answer(fitted, name, words):
    for model in fitted:
        for method in ("predict", "staged_predict", "predict_proba", "apply"):
            if hasattr(model, method):
                with pytest.raises(ArgumentError, match=words):
                    getattr(model, method)(X, **{name: 3})


def test_leaves_and_parameters_of_the_estimator(fitted):
    with pytest.raises(ArgumentError, match=r"^pred_leaf=True: call apply\(X\) of an estimator"):
        fitted[0].predict(X, pred_leaf=True)
    assert fitted[-1].predict(X, pred_leaf=True).shape == (len(X), 1)
    words = r"^device='cpu': .*give it to GBDTRegressor\(device=\.\.\.\), or to set_params"
    with pytest.raises(ArgumentError, match=words):
        fitted[1].predict(X, device="cpu")
    assert list(inspect.signature(fitted[1].predict).parameters) == [
        "X", "output_margin", "base_margin", "iteration_range",
    ]  # fmt: skip


# -- a path as rows ------------------------------------------------------------------------------
@pytest.mark.parametrize("given", ["a.csv", Path("a.csv")])
def test_a_path_is_no_array(given):
    words = r"X is the path 'a\.csv': .*read a file by Dataset\.from_batches\('a\.csv'\)"
    with pytest.raises(DataError, match=words):
        Dataset(given, Y)


# -- one evaluation set --------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [GBDTClassifier, GBDTRegressor, GBDTRanker])
def test_one_pair_is_one_evaluation_set(kind):
    own = {"qid": Y * 0} if kind is GBDTRanker else {}
    sets = {"eval_qid": [Y * 0]} if kind is GBDTRanker else {}
    one = kind(**SMALL).fit(X, Y, eval_set=(X, Y), **own, **sets)
    other = kind(**SMALL).fit(X, Y, eval_set=[(X, Y)], **own, **sets)
    assert one.evals_result() == other.evals_result()
    assert list(one.evals_result()) == ["validation_0"]


@pytest.mark.parametrize("as_list", [list, tuple, np.asarray, pd.Series])
def test_one_evaluation_set_has_one_array_of_each(as_list):
    weight, margin = as_list(Y + 1.0), as_list(Y / 2)
    given = {"sample_weight_eval_set": weight, "base_margin_eval_set": margin}
    one = GBDTRegressor(**SMALL).fit(X, Y, eval_set=(X, Y), **given)
    in_lists = {name: [value] for name, value in given.items()}
    other = GBDTRegressor(**SMALL).fit(X, Y, eval_set=[(X, Y)], **in_lists)
    plain = GBDTRegressor(**SMALL).fit(X, Y, eval_set=(X, Y))
    assert one.evals_result() == other.evals_result() != plain.evals_result()


@pytest.mark.parametrize(("name", "value"), [("eval_qid", np.arange(60) // 20),
                                             ("eval_group", [20, 20, 20])])  # fmt: skip
def test_one_evaluation_set_of_a_ranker_has_one_array_of_queries(name, value):
    ranker = GBDTRanker(**SMALL)
    results = [
        ranker.fit(X, Y, group=[60], eval_set=pairs, **{name: given}).evals_result()
        for pairs, given in (((X, Y), value), ([(X, Y)], [value]))
    ]
    assert results[0] == results[1]
    two = {"eval_set": [(X, Y), (X, Y)], name: value}
    with pytest.raises(ParameterError, match=f"{name}: .*expected a list with an entry for each"):
        ranker.fit(X, Y, group=[60], **two)


def test_pairs():
    lists = ([[1.0, 2.0], [3.0, 4.0]], [0, 1])
    assert pairs_of(lists) == [lists]
    assert pairs_of((X, Y))[0][0] is X
    assert pairs_of(("a.csv", None)) == [("a.csv", None)]
    two = ((X, Y), (X[:9], Y[:9]))
    assert [pair[1] is mine[1] for pair, mine in zip(pairs_of(two), two, strict=True)] == [True] * 2
    assert pairs_of([(X, Y)])[0][1] is Y
    assert pairs_of(None) == pairs_of(()) == []
    for wrong in ([X, Y], (X, Y, X), "ab", 3):
        with pytest.raises(ParameterError, match=r"eval_set.*expected"):
            pairs_of(wrong)


# -- no limit of depth ---------------------------------------------------------------------------
@pytest.mark.parametrize(
    "more",
    [{}, {"grow_policy": "lossguide"}, {"grow_policy": "lossguide", "max_leaves": 6}],
)
def test_a_depth_of_minus_one_is_no_limit(more):
    params = {"n_estimators": 2, "device": TEST_DEVICE, "min_child_weight": 0, **more}
    data = Dataset(X, X[:, 0] * X[:, 1])
    free, same, six = (
        to_xgboost_json(train({**params, "max_depth": depth}, data).ensemble)
        for depth in (-1, 0, 2)
    )
    assert free == same
    assert free != six


def test_symmetric_trees_have_a_limit():
    words = r"max_depth=0 \(no limit\): expected 1\.\.16 for grow_policy='symmetric'"
    with pytest.raises(ParameterError, match=words):
        train({"max_depth": -1, "grow_policy": "symmetric", "device": TEST_DEVICE}, Dataset(X, Y))


@pytest.mark.parametrize("depth", [-2, -1.5, -100])
def test_other_negative_depths_are_refused(depth):
    with pytest.raises(ParameterError, match=r"max_depth=.*expected 0\.\.32, or -1 for no limit"):
        GBDTRegressor(max_depth=depth).fit(X, Y)
