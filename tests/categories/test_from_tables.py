"""Categories from tables to predictions: training, evaluation sets, estimators, continuing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from pyopencl_gbdt import Dataset, cv, train
from pyopencl_gbdt.callbacks import TrainingCheckPoint
from pyopencl_gbdt.categories.statistic_values import WideRows
from pyopencl_gbdt.data.categories.levels import as_cells, codes_of
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.estimators.gradient_boosting import GBDTClassifier, GBDTRegressor
from pyopencl_gbdt.estimators.ranking import GBDTRanker
from pyopencl_gbdt.model import to_json
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.conftest import TEST_DEVICE
from tests.tables import polars

RNG = np.random.default_rng(3)
TOWN = RNG.choice(["z", "q", "a b", "ä", "l", "m"], 300)
FRAME = pd.DataFrame(
    {"town": TOWN, "n": RNG.normal(size=300), "shop": RNG.integers(0, 9, 300) * 10 - 30}
).astype({"shop": "category"})
Y = np.isin(TOWN, ["q", "ä"]) * 2.0 + (FRAME["shop"].astype(int) == 0) + 0.1 * FRAME["n"]
#: The same rows: other orders of categories, other types, a level that training lacks.
OTHER = FRAME.assign(
    town=pd.Categorical(TOWN, ["m", "l", "new", "ä", "a b", "q", "z"]),
    shop=FRAME["shop"].astype(int),
)
PARAMS = {"max_depth": 3, "device": TEST_DEVICE}


def fitted(**more) -> GBDTRegressor:
    return GBDTRegressor(n_estimators=3, preset="xgboost", **{**PARAMS, **more})


@pytest.fixture(scope="module")
def model():
    return train(PARAMS, Dataset(FRAME, Y), 3)


@pytest.mark.parametrize("method", ["sets", "statistics"])
def test_evaluation_sets_have_the_codes_of_training(method):
    rows = OTHER.iloc[200:].assign(town=OTHER["town"].iloc[200:].where(FRAME["n"] < 1, "new"))
    rows = rows.assign(shop=rows["shop"].astype("category"))
    training, held_out = Dataset(FRAME.iloc[:200], Y[:200]), Dataset(rows, Y[200:])
    evals = [(training, "own"), (held_out, "held out")]
    model = train({**PARAMS, "cat_method": method}, training, 3, evals=evals)
    rmse = float(np.sqrt(np.mean((model.predict(rows) - Y[200:]) ** 2)))
    assert model.history["held out"]["rmse"][-1] == pytest.approx(rmse, rel=1e-5)
    assert held_out.categories[0].n_levels == len(set(rows["town"]))


def test_levels_that_the_model_to_continue_lacks_are_missing():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 8, (400, 2)).astype(np.float32)
    y, known = X[:, 0] % 3 + X[:, 1], X[:, 0] < 5
    params = {"cat_method": "sets", "max_depth": 3, "device": TEST_DEVICE}
    model = train(params, Dataset(X[known], y[known], categorical_features=[0, 1]), 2)
    missing = X.copy()
    missing[~known, 0] = np.nan
    found, wanted = (
        train(params, Dataset(values, y, categorical_features=[0, 1]), 2, model=model)
        for values in (X, missing)
    )
    assert to_json(found.ensemble) == to_json(wanted.ensemble)


def test_a_model_is_continued_by_its_own_levels(model):
    whole = train(PARAMS, Dataset(FRAME, Y), 5)
    same = Dataset(OTHER, Y, categorical_features=["town", "shop"])
    assert train(PARAMS, same, 2, model=model).ensemble == whole.ensemble
    some = Dataset(FRAME[TOWN != "z"].assign(town="new"), Y[TOWN != "z"])
    more = train(PARAMS, some, 1, model=model, evals=[(some, "some")])
    assert more.ensemble.categories == model.ensemble.categories
    with pytest.raises(DataError, match=r"the training data: column 0 \('town'\) holds numbers"):
        train(PARAMS, Dataset(FRAME.assign(town=1), Y), 1, model=model)


def test_checkpoints_know_the_levels(tmp_path):
    params = {**PARAMS, "cat_method": "statistics"}
    saver = TrainingCheckPoint(tmp_path, interval=1)
    first = train(params, Dataset(FRAME, Y), 2, callbacks=[saver])
    resumed = train(params, Dataset(FRAME, Y), 3, callbacks=[saver])
    assert resumed.ensemble.categories == first.ensemble.categories
    with pytest.raises(ParameterError, match="categories"):
        train(params, Dataset(FRAME.replace("m", "n"), Y), 3, callbacks=[saver])


def test_cells_hold_all_codes(device):
    """Also those that float32 does not count; levels there tell unseen ones from missing ones."""
    codes = np.array([0, 7, *range(2**24 - 2, 2**24 + 4), 9 * 10**7, -1, 10**8], np.int32)
    cells = as_cells(codes, 10**8)
    assert cells[:4].tolist() == codes[:4].tolist()
    assert np.isnan(cells).tolist() == [False] * 9 + [True] * 2
    assert codes_of(cells, 10**8).tolist() == codes.tolist()
    rows = WideRows(device, np.stack([cells, cells], axis=1), 1)
    levels = rows.levels(1, 10**8, empty=True).get()
    assert levels.tolist() == [*codes[:9].tolist(), 10**8, 10**8 + 1]
    assert rows.host()[:, 0].tobytes() == cells.tobytes()
    assert np.isnan(rows.host()[:, 1]).all()


def test_folds_have_the_levels_of_all_rows():
    log = cv(PARAMS, Dataset(FRAME, Y), 2, nfold=3, as_pandas=False)
    assert log["test-rmse-mean"][-1] < log["test-rmse-mean"][0]


def test_estimators_take_tables(model):
    estimator = fitted().fit(FRAME, Y, eval_set=[(OTHER[:50], Y[:50])])
    expected = model.predict(FRAME)
    more = [] if polars is None else [polars.from_pandas(OTHER)]
    for rows in (FRAME, OTHER, *more):
        assert np.array_equal(estimator.predict(rows), expected)
    assert estimator.feature_names_in_.tolist() == list(FRAME)
    assert estimator.n_features_in_ == 3
    steps = make_pipeline(FunctionTransformer(), fitted()).fit(FRAME, Y)
    assert np.array_equal(steps.predict(OTHER), expected)
    with_statistics = fitted(cat_method="statistics").fit(FRAME, Y)
    assert with_statistics.model_.ensemble.statistics is not None
    assert np.array_equal(with_statistics.predict(OTHER), with_statistics.predict(FRAME))
    labels = GBDTClassifier(n_estimators=3, preset="xgboost", **PARAMS).fit(FRAME, TOWN == "q")
    assert labels.score(OTHER, TOWN == "q") == 1
    rank = GBDTRanker(n_estimators=1, **PARAMS).fit(FRAME, Y > 1, group=[300])
    assert rank.score(OTHER, Y > 1, group=[300]) > 0.9


def test_names_of_categorical_features(model):
    rows, expected = OTHER.astype({"town": object}).to_numpy(), model.predict(FRAME)
    for given in (
        {"categorical_features": [0, 2]},
        {"categorical_features": np.array([True, False, True])},
        {"categorical_feature": [2, 0]},
        {"cat_features": "0,2"},
        {"feature_types": ["c", "q", "c"], "enable_categorical": True},
    ):
        estimator = clone(fitted(**given)).fit(rows, Y)
        assert np.array_equal(estimator.predict(rows), expected)
    named = fitted(categorical_features=["shop", "town"]).fit(OTHER, Y)
    assert np.array_equal(named.predict(FRAME), expected)
    by_dtype = fitted(enable_categorical=True).fit(OTHER, Y)
    assert by_dtype.model_.categories.keys() == {0}
    with pytest.raises(DataError, match="there is no column 'towm'; did you mean 'town'"):
        fitted(categorical_features=["towm"]).fit(OTHER, Y)
    with pytest.raises(DataError, match=r"X: column 0 \('town'\) has dtype category"):
        fitted(enable_categorical=False).fit(OTHER, Y)
    with pytest.raises(DataError, match="or name the column in categorical_features"):
        fitted().fit(rows, Y)


def test_fit_takes_names_of_other_libraries(model):
    rows, expected = OTHER.astype({"town": object}).to_numpy(), model.predict(FRAME)
    for given in ({"cat_features": [0, 2]}, {"categorical_feature": "0,2"}):
        assert np.array_equal(fitted().fit(rows, Y, **given).predict(rows), expected)
    with pytest.raises(ParameterError, match="two names of one parameter"):
        fitted().fit(rows, Y, cat_features=[0], categorical_feature=[0])
    with pytest.raises(ParameterError, match=r"\[0\]: expected none beside those that the est"):
        fitted(cat_features=[2]).fit(rows, Y, cat_features=[0])
    with pytest.raises(DataError, match=r"shape \(2,\): expected \(3,\)"):
        fitted(feature_types=["c", "q"]).fit(rows, Y)
    ranks = GBDTRanker(n_estimators=1, **PARAMS)
    ranks.fit(rows, Y > 1, group=[300], cat_features=[0, 2])
    assert ranks.model_.categories.keys() == {0, 2}


def test_one_hot_max_size_is_one_less():
    for make in (Parameters.from_dict, lambda given: fitted(**given)):
        assert make({"one_hot_max_size": 6}).max_cat_to_onehot == 7
    assert fitted().set_params(one_hot_max_size=2).max_cat_to_onehot == 3
    with pytest.raises(ParameterError, match="one_hot_max_size and max_cat_to_onehot are two"):
        Parameters.from_dict({"one_hot_max_size": 6, "max_cat_to_onehot": 7})
    with pytest.raises(ParameterError, match="one_hot_max_size='x': expected"):
        Parameters.from_dict({"one_hot_max_size": "x"})


@pytest.mark.parametrize("name", ["categorical_features", "cat_features", "feature_types"])
def test_train_asks_for_them_in_the_data(name):
    with pytest.raises(ParameterError, match=f"{name}: expected as an argument of Dataset"):
        train({**PARAMS, name: [0]}, Dataset(FRAME, Y), 1)
