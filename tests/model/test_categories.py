"""Levels as part of a model: prediction on any table, files, and what is refused."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xgboost

from pyopencl_gbdt import Dataset, Model, train
from pyopencl_gbdt.data.categories.levels import Levels
from pyopencl_gbdt.errors import DataError, ModelFormatError, ParameterError
from pyopencl_gbdt.model import from_xgboost_json, to_xgboost_json
from tests.tables import polars

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "town": RNG.choice(["z", "q", "a b", "ä", ""], 120),
        "n": RNG.normal(size=120),
        "shop": pd.Categorical(RNG.integers(-3, 4, 120) * 10),
    }
)


@pytest.fixture(scope="module")
def model() -> Model:
    """Return a model of numeric splits on codes, which tells when a code is wrong."""
    data = Dataset(FRAME, RNG.normal(size=120))
    numeric = train({"max_depth": 4, "device": "cpu"}, Dataset(data.values, data.label), 3)
    names = list(FRAME)
    return Model(replace(numeric.ensemble, categories=data.categories, feature_names=names))


def reordered() -> pd.DataFrame:
    towns = pd.Categorical(FRAME.town, ["", "ä", "z", "q", "new", "a b"])
    return FRAME.assign(town=towns, shop=FRAME.shop.astype(int))


def test_any_table_gets_the_same_answer(model):
    expected = model.predict(Dataset(FRAME), device="cpu")
    given = [
        FRAME,
        reordered(),
        FRAME.assign(town=FRAME.town.astype(object)),
        *([] if polars is None else [polars.from_pandas(reordered())]),
        reordered().astype(object).to_numpy(),
        Dataset(reordered(), categorical_features=["town", "shop"]),
    ]
    loaded = Model(from_xgboost_json(to_xgboost_json(model.ensemble)))
    for one in (model, pickle.loads(pickle.dumps(model)), loaded):
        assert one.ensemble == model.ensemble
        for rows in given[:: 1 if one is model else 3]:
            assert np.array_equal(one.predict(rows, device="cpu"), expected)
    some = Dataset(FRAME[FRAME.town != "a b"].iloc[:9])
    assert np.array_equal(model.predict(some, device="cpu"), expected[FRAME.town != "a b"][:9])


def test_unseen_levels_are_missing(model):
    rows = FRAME.assign(town="new", shop=77)
    missing = FRAME.assign(town=None, shop=np.nan)
    assert np.array_equal(model.predict(rows, device="cpu"), model.predict(missing, device="cpu"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"town": 1}, r"column 0 \('town'\) holds whole numbers, such as 1: expected strings"),
        (
            {"shop": "10"},
            r"column 2 \('shop'\) holds strings, such as '10': expected whole",
        ),
        ({"shop": 2.5}, r"column 2 \('shop'\) holds 2\.5"),
        ({"n": "x"}, r"'x' at row 0, column 1 \('n'\)"),
        ({"n": FRAME.town.astype("category")}, r"column 1 \('n'\) has dtype category"),
    ],
)
def test_columns_of_another_kind_are_named(model, changes, message):
    with pytest.raises(DataError, match=message):
        model.predict(FRAME.assign(**changes), device="cpu")


def test_a_data_set_has_to_have_the_same_categories(model):
    with pytest.raises(DataError, match=r"column 1 \('n'\) is categorical: expected numbers"):
        model.predict(Dataset(FRAME.assign(n="x")), device="cpu")
    with pytest.raises(DataError, match=r"X has 2 features"):
        model.predict(Dataset(FRAME[["town", "n"]].to_numpy(), categorical_features=[0]))
    with pytest.raises(ParameterError, match=r"missing=0: expected None"):
        model.predict(Dataset(FRAME), missing=0)


def test_levels_of_another_kind_are_no_levels(model):
    for levels, message in (
        ({3: Levels(np.array([1]))}, r"categories\[3\]: expected a column, 0..2"),
        ({0: ["a"]}, r"categories\[0\] is of type list"),
        ({0: Levels(np.array([2, 1]))}, r"categories\[0\] does not ascend"),
        ({0: Levels(np.array(["a", 1], object))}, r"categories\[0\] mixes"),
        ({0: Levels(np.array([1.5]))}, r"categories\[0\] has dtype float64"),
    ):
        with pytest.raises(ModelFormatError, match=message):
            replace(model.ensemble, categories=levels)


def test_xgboost_writes_the_same_levels():
    frame = pd.DataFrame(
        {
            "n": np.arange(40.0),
            "c": pd.Categorical(list("zabq") * 10),
            "i": pd.Categorical([3, -1] * 20),
        }
    )
    rows = xgboost.DMatrix(frame, np.arange(40.0), enable_categorical=True)
    theirs = xgboost.train({"nthread": 1}, rows, 1).save_raw("json")
    found = json.loads(theirs)["learner"]["gradient_booster"]["model"]["cats"]
    numeric = train({"device": "cpu"}, Dataset(np.eye(3), [0, 1, 2]), 0).ensemble
    ours = to_xgboost_json(replace(numeric, categories=Dataset(frame).categories))
    assert json.loads(ours)["learner"]["gradient_booster"]["model"]["cats"] == found
    assert from_xgboost_json(ours).categories == Dataset(frame).categories


def test_xgboost_orders_levels_as_it_likes(tmp_path):
    names = ["mid", "low", "high", "none", "all"]
    own = RNG.choice(names, 200)
    frame = pd.DataFrame({"c": pd.Categorical(own, names), "n": RNG.normal(size=200)})
    rows = xgboost.DMatrix(frame, np.isin(own, ["mid", "all"]) + 0.1, enable_categorical=True)
    theirs = xgboost.train({"nthread": 1, "max_cat_to_onehot": 2}, rows, 3)
    theirs.save_model(tmp_path / "m.json")
    read = Model.load_model(tmp_path / "m.json")
    assert read.categories[0].values.tolist() == sorted(names)
    found = read.predict(frame.astype({"c": str}), device="cpu")
    np.testing.assert_allclose(found, theirs.predict(rows), rtol=1e-6)
    read.save_model(tmp_path / "ours.json")
    again = xgboost.Booster(model_file=tmp_path / "ours.json").predict(rows)
    np.testing.assert_allclose(again, found, rtol=1e-6)
    document = json.loads((tmp_path / "m.json").read_text())
    trees = document["learner"]["gradient_booster"]["model"]["trees"]
    trees[0]["categories"][0] = 7
    with pytest.raises(ModelFormatError, match=r"enc\[0\].*8 levels at least, as a tree has the"):
        from_xgboost_json(json.dumps(document))


CATS = "learner", "gradient_booster", "model", "cats"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("enc", 0, "values", 0), 200, r"enc\[0\].values\[0\]=200: expected an integer -128..127"),
        (("enc", 0, "values", 0), -1, "expected UTF-8"),
        (("enc", 0, "values"), [1], "has 1 entries: expected 7, the last offset"),
        (("enc", 0, "offsets", 1), 9, "offsets from 0 that ascend"),
        (("enc", 0, "values", 3), 122, "expected distinct levels;"),
        (("enc", 1, "values"), [1], "has 1 entries: expected 0, as it has no offsets"),
        (("enc", 2, "values", 0), 20, "expected distinct levels;"),
        (("enc", 2, "values", 0), 0.5, "expected an integer"),
        (("enc", 2, "type"), 7, "a type of whole numbers"),
        (("enc",), [], "feature_segments"),
        (("feature_segments", 1), 4, r"the numbers of levels added up"),
        (("sorted_idx",), [0], "sorted_idx has 1 entries: expected 12, one for each level"),
    ],
)
def test_files_that_lie_are_refused(model, path, value, message):
    document = json.loads(to_xgboost_json(model.ensemble))
    place = document
    for key in (*CATS, *path[:-1]):
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(ModelFormatError, match=message):
        from_xgboost_json(json.dumps(document))
