"""Dumps, tables, graphs, slices and attributes of models, beside XGBoost's."""

import copy
import io
import json

import numpy as np
import pandas as pd
import pytest
import xgboost

from pyopencl_gbdt import Dataset, GBDTClassifier, GBDTRegressor, Model, to_graphviz, train
from pyopencl_gbdt.errors import (
    DataError,
    ModelFormatError,
    NotFittedError,
    ParameterError,
    RoundIndexError,
)
from pyopencl_gbdt.model import dump_text, from_xgboost_json, to_xgboost_json
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE
from tests.model.samples import loaded, make_ensemble, saved
from tests.model.samples import train as train_xgboost

KINDS = ("weight", "gain", "cover", "total_gain", "total_cover")


@pytest.fixture(scope="module")
def numeric():
    """A model that XGBoost trained, and the same one here."""
    booster = train_xgboost(4, max_depth=4)
    return booster, Model(from_xgboost_json(saved(booster).decode()))


@pytest.fixture(scope="module")
def towns():
    """Rows with a column of towns and one of whole numbers that are levels; their labels."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "area": rng.gamma(9, 9, 300),
            "town": pd.Categorical(rng.choice(["Bern", "Lyon", 'Ulm, "new"', "Oslo <b>"], 300)),
            "floor": pd.Categorical(rng.integers(3, 9, 300)),
        }
    )
    rent = table["area"] * np.where(table["town"] == "Bern", 19, 11)
    rent += 250 * (table["floor"].astype(int) % 3)
    return table, rent.to_numpy()


@pytest.fixture(scope="module")
def by_level(towns):
    return train({"max_depth": 3, "device": TEST_DEVICE}, Dataset(*towns), 4)


def test_dumps_are_those_of_xgboost(numeric, tmp_path):
    booster, model = numeric
    for kind in ("text", "json", "dot"):
        for with_stats in (False, True):
            options = {"with_stats": with_stats, "dump_format": kind}
            assert model.get_dump(**options) == booster.get_dump(**options)
            ours, theirs = tmp_path / "ours", tmp_path / "theirs"
            model.dump_model(ours, **options)
            booster.dump_model(theirs, **options)
            assert ours.read_text() == theirs.read_text()
    opened = io.StringIO()
    model.dump_model(opened)
    assert opened.getvalue().startswith("booster[0]:\n0:[f")
    with pytest.raises(ParameterError, match="fout=3: expected the path of a file"):
        model.dump_model(3)


def test_dumps_of_sets_are_those_of_xgboost_by_code():
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"a": pd.Categorical(rng.integers(0, 9, 200)), "b": rng.normal(size=200)})
    labels = table["b"] * (table["a"].astype(int) % 3)
    matrix = xgboost.DMatrix(table, labels, enable_categorical=True)
    booster = xgboost.train({"max_depth": 4, "nthread": 1}, matrix, 3)
    model = Model(from_xgboost_json(saved(booster).decode()))
    for kind in ("text", "json", "dot"):
        options = {"with_stats": True, "dump_format": kind}
        assert model.get_dump(**options) == booster.get_dump(**options)
    pd.testing.assert_frame_equal(model.trees_to_dataframe(), booster.trees_to_dataframe())


def test_tables_scores_and_histograms_are_those_of_xgboost(numeric):
    booster, model = numeric
    pd.testing.assert_frame_equal(model.trees_to_dataframe(), booster.trees_to_dataframe())
    assert model.get_fscore() == booster.get_fscore()
    for kind in KINDS:
        theirs = booster.get_score(importance_type=kind)
        assert model.get_score(importance_type=kind) == pytest.approx(theirs, rel=1e-6)
    for bins in (None, 3, 1000):
        theirs = booster.get_split_value_histogram("f2", bins=bins)
        pd.testing.assert_frame_equal(model.get_split_value_histogram("f2", bins=bins), theirs)
    array = model.get_split_value_histogram(2, as_pandas=False)
    assert_same_bits(array, booster.get_split_value_histogram("f2", as_pandas=False))
    assert model.num_features() == booster.num_features() == 4


def test_names_of_a_feature_map(numeric, tmp_path):
    booster, model = numeric
    path = tmp_path / "map.txt"
    path.write_text("0 age q\n1 height int\n2 mass float\n3 width q\n")
    assert model.get_dump(path) == booster.get_dump(path)
    assert "mass" in str(model.to_graphviz(fmap=path))
    theirs = booster.trees_to_dataframe(path)
    pd.testing.assert_frame_equal(model.trees_to_dataframe(path), theirs)
    assert model.get_score(path) == booster.get_score(path)
    found = model.get_split_value_histogram("mass", path)
    pd.testing.assert_frame_equal(found, model.get_split_value_histogram("f2"))


def test_levels_have_their_names(by_level):
    text = by_level.get_dump()[0]
    assert '[town:{Lyon,Oslo <b>,"Ulm, \\"new\\""}] yes=2,no=1,missing=2' in text
    root = json.loads(by_level.get_dump(dump_format="json")[0])
    assert root["split_condition"] == ["Lyon", "Oslo <b>", 'Ulm, "new"']
    assert root["yes"] == 2
    frame = by_level.trees_to_dataframe()
    assert frame["Category"][0] == ["Lyon", "Oslo <b>", 'Ulm, "new"']
    assert 'town not in {Lyon,Oslo <b>,"Ulm' in dump_text(by_level.ensemble)
    floors = {
        level
        for levels, name in zip(frame["Category"], frame["Feature"], strict=True)
        if name == "floor"
        for level in levels
    }
    assert floors
    assert floors <= set("345678")
    assert by_level.feature_types == ["float", "c", "c"]
    with pytest.raises(DataError, match="feature='town': expected a feature whose splits are by"):
        by_level.get_split_value_histogram("town")


def test_graphs_without_graphviz(numeric, by_level):
    booster, model = numeric
    assert str(model.to_graphviz(1)) == booster.get_dump(dump_format="dot")[1]
    drawn = to_graphviz(
        model, 0, rankdir="LR", condition_node_params={"shape": "box"},
        leaf_node_params={"shape": "oval"}, dpi=80,
    )  # fmt: skip
    styled = {
        "graph_attrs": {"rankdir": "LR", "dpi": "80"}, "leaf_node_params": {"shape": "oval"},
        "condition_node_params": {"shape": "box"},
    }  # fmt: skip
    lines = booster.get_dump(dump_format=f"dot:{json.dumps(styled)}")[0].split("\n")
    assert sorted(drawn.source.split("\n")) == sorted(lines)  # XGBoost sorts the attributes
    asked = to_graphviz(by_level, 0, yes_color="green", no_color="red").source
    assert '0 -> 2 [label="yes, missing" color="green"]' in asked
    assert '0 -> 1 [label="no" color="red"]' in asked
    assert '\\"Ulm, \\\\\\"new\\\\\\"\\"' in asked  # quotes cannot end the label
    with pytest.raises(ParameterError, match=r"tree_idx=4: expected a whole number, 0\.\.3"):
        model.to_graphviz(4)
    with pytest.raises(ParameterError, match="leaf_node_params='oval': expected a dict"):
        model.to_graphviz(0, leaf_node_params="oval")


def test_slices_are_those_of_xgboost(numeric):
    booster, model = numeric
    rows = np.random.default_rng(5).normal(size=(50, 4)).astype(np.float32)
    matrix = xgboost.DMatrix(rows)
    for part in (slice(1, 3), slice(0, 4, 2), slice(2, 4), slice(None)):
        theirs = booster[part].predict(matrix, output_margin=True)
        ours = model[part].predict(rows, output_margin=True, device=TEST_DEVICE)
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
        assert model[part].get_dump() == booster[part].get_dump()
    assert [one.get_dump() for one in model] == [one.get_dump() for one in booster]
    assert model[-1].ensemble.trees == model[3].ensemble.trees == model.ensemble.trees[3:]
    assert model[...].get_dump() == model.get_dump()


def test_slices_keep_whole_rounds_and_levels(by_level):
    assert by_level[1:3].categories == by_level.categories
    three = {"n_outputs": 3, "base_margin": (0.0,) * 3, "base_score": (0.0,) * 3}
    ensemble = make_ensemble([3, 2, 4, 1, 5, 2], **three)
    assert Model(ensemble)[1].ensemble.trees == ensemble.trees[3:]
    stopped = Model(make_ensemble([2, 2, 2]), {"test": {"rmse": [1.0, 2.0, 3.0]}})
    stopped.set_attr(best_iteration=0, best_score=1.0, note="kept")
    assert stopped[:2].attributes() == {"note": "kept"}
    assert stopped[:2].history == {}
    assert stopped[:2].rounds_to_predict == 2


@pytest.mark.parametrize(
    ("asked", "text"),
    [(4, "4"), (-5, "-5"), (slice(2, 9), "2:9"), (slice(2, 2), "2:2"), (slice(3, 1), "3:1"),
     (slice(None, None, -1), "::-1"), (slice(None, None, 0), "::0"), (slice("a", None), "'a':"),
     (slice(0, 1.5), "0:1.5"), (slice(0, 2, "b"), "0:2:'b'"), (slice(True, None), "True:")],
)  # fmt: skip
def test_rounds_that_are_not_there(numeric, asked, text):
    with pytest.raises(RoundIndexError) as caught:
        numeric[1][asked]
    assert str(caught.value).startswith(rf"model[{text}]: expected one or more of the rounds 0..3")
    assert isinstance(caught.value, IndexError)
    with pytest.raises(TypeError, match=r"model\['a'\]: expected the number of a round or a slice"):
        numeric[1]["a"]


def test_attributes(tmp_path):
    model = Model(make_ensemble([3, 2]))
    model.set_attr(owner="Ada", version=3)
    assert model.attributes() == {"owner": "Ada", "version": "3"}
    assert model.attr("owner") == "Ada"
    assert model.attr("nobody") is None
    model.save_model(tmp_path / "m.json")
    assert xgboost.Booster(model_file=tmp_path / "m.json").attr("owner") == "Ada"
    with pytest.raises(ModelFormatError, match="best_iteration='soon': expected a string"):
        model.set_attr(owner=None, best_iteration="soon")
    assert model.attr("owner") == "Ada"  # unchanged
    model.set_attr(owner=None, best_iteration=0)
    assert model.attributes() == {"version": "3", "best_iteration": "0"}
    assert model.best_iteration == 0
    model.attributes()["version"] = "4"
    assert model.attr("version") == "3"


def test_copies_are_apart(by_level):
    for twin in (by_level.copy(), copy.deepcopy(by_level)):
        twin.set_attr(note="mine")
        twin.feature_names = ["x", "y", "z"]
        assert by_level.attr("note") is None
        assert by_level.feature_names == ["area", "town", "floor"]
        assert twin.ensemble.trees == by_level.ensemble.trees
        twin.ensemble.trees.pop()
        assert len(twin.ensemble.trees) < len(by_level.ensemble.trees)
        assert twin.training_device == by_level.training_device


def test_estimators_have_methods_of_xgboost(towns):
    table, rent = towns
    small = {"n_estimators": 3, "max_depth": 3, "device": TEST_DEVICE}
    for estimator, labels in (
        (GBDTRegressor(subsample=0.5, random_state=7, **small), rent),
        (GBDTClassifier(**small), np.digitize(rent, [600, 1200])),
    ):
        with pytest.raises(NotFittedError):
            estimator.get_booster()
        assert not hasattr(estimator, "coef_")
        with pytest.raises(AttributeError, match="has no coef_: its model is of trees"):
            _ = estimator.coef_
        estimator.fit(table, labels)
        booster = estimator.get_booster()
        assert booster is estimator.model_
        params = estimator.get_xgb_params()
        assert params["max_depth"] == 3
        assert "n_estimators" not in params
        again = train(params, Dataset(table, labels), estimator.get_num_boosting_rounds())
        assert again.ensemble.trees == booster.ensemble.trees
        assert estimator.intercept_.dtype == np.float32


def test_dumps_of_a_file_with_many_columns():
    """A small file may claim 2^31 columns."""
    model = Model(make_ensemble([3], n_features=2**31 - 1))
    assert model.get_dump()[0].startswith("0:[f")
    assert set(model.get_fscore()) <= {"f0", "f1", "f2", "f3"}
    assert model.get_split_value_histogram(0, as_pandas=False).shape[1] == 2
    text = to_xgboost_json(make_ensemble([3]))
    assert loaded(text).get_dump() == Model(make_ensemble([3])).get_dump()


def test_a_feature_that_is_not_there(numeric):
    for feature in ("f9", 4, -1, None, True):
        with pytest.raises(DataError, match=r"expected a name such as 'f0', .*, or 0\.\.3; choose"):
            numeric[1].get_split_value_histogram(feature)
    for bins in (0, 2.5, True):
        with pytest.raises(ParameterError, match="expected a whole number, 1 or more; raise bins"):
            numeric[1].get_split_value_histogram("f0", bins=bins)
