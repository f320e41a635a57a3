"""Columns by name: models and estimators refuse those in another order, or with other names."""

import numpy as np
import pandas as pd
import pytest
from sklearn.feature_selection import SelectFromModel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_dataframe_column_names_consistency

from pyopencl_gbdt import (
    Dataset,
    GBDTClassifier,
    GBDTRandomForestClassifier,
    GBDTRandomForestRegressor,
    GBDTRanker,
    GBDTRegressor,
    Model,
    train,
)
from pyopencl_gbdt.errors import DataError
from tests.conftest import TEST_DEVICE
from tests.estimators.test_checks import OneQuery

SMALL = {"n_estimators": 2, "max_depth": 3, "device": TEST_DEVICE}
RNG = np.random.default_rng(3)
NAMES = ["age", "height", "weight"]
FRAME = pd.DataFrame(RNG.normal(size=(60, 3)).astype(np.float32), columns=NAMES)
SWAPPED = FRAME[FRAME.columns[::-1]]
Y = (FRAME["age"] > 0).to_numpy(int)
FIRST = r"X has 'weight' as column 0, counted from 0: expected 'age', as in training; give the same"
EVERY = (
    GBDTRegressor,
    GBDTClassifier,
    GBDTRandomForestRegressor,
    GBDTRandomForestClassifier,
    OneQuery,
)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", EVERY)
def test_scikit_learns_check_of_names(kind):
    check_dataframe_column_names_consistency(kind.__name__, kind(**SMALL))


@pytest.mark.parametrize("kind", EVERY)
def test_estimators_refuse_columns_in_another_order(kind, tmp_path):
    fitted = kind(**SMALL).fit(FRAME, Y)
    fitted.save_model(tmp_path / "model.json")
    loaded = kind(**SMALL).load_model(tmp_path / "model.json")
    for estimator in (fitted, loaded):
        asked = [estimator.predict, lambda X, own=estimator: own.score(X, Y)]
        asked += [estimator.predict_proba] if hasattr(estimator, "predict_proba") else []
        for ask in asked:
            with pytest.raises(DataError, match=FIRST):
                ask(SWAPPED)
            with pytest.raises(DataError, match=r"X has 'Age' as column 0, .*expected 'age'"):
                ask(FRAME.rename(columns={"age": "Age"}))
        wanted = estimator.predict(FRAME)
        for same in (FRAME.to_numpy(), FRAME.set_axis(range(3), axis=1)):  # have no names
            np.testing.assert_array_equal(estimator.predict(same), wanted)


def test_the_ranker_with_queries_in_a_column():
    rows = FRAME.assign(qid=np.repeat([0, 1, 2], 20))
    ranker = GBDTRanker(**SMALL).fit(rows, Y)
    assert list(ranker.feature_names_in_) == NAMES
    np.testing.assert_array_equal(ranker.predict(FRAME), ranker.predict(rows))
    for swapped in (SWAPPED, rows[rows.columns[::-1]]):
        with pytest.raises(DataError, match=FIRST):
            ranker.predict(swapped)
    with pytest.raises(DataError, match=FIRST):
        ranker.score(rows[rows.columns[::-1]], Y)


def test_models_refuse_columns_in_another_order(tmp_path):
    model = train(SMALL, Dataset(FRAME, Y), 2)
    model.save_model(tmp_path / "model.json")
    for each in (model, Model.load_model(tmp_path / "model.json")):
        assert each.feature_names == NAMES
        for rows in (
            SWAPPED,
            Dataset(SWAPPED),
            Dataset(SWAPPED.to_numpy(), None, None, NAMES[::-1]),
        ):
            with pytest.raises(DataError, match=FIRST):
                each.predict(rows)
        with pytest.raises(DataError, match="X ends there at column 2"):
            each.predict(FRAME[NAMES[:2]])
    model.feature_names = None
    assert model.predict(SWAPPED).shape == (60,)
    model.feature_names = ("weight", "height", "age")
    assert model.predict(SWAPPED).shape == (60,)
    with pytest.raises(DataError, match="2 names, X has 3 columns"):
        model.feature_names = ["a", "b"]


def test_columns_with_numbers():
    for labels in ([0, 1, 2], [4, 7, 9]):
        frame = FRAME.set_axis(labels, axis=1)
        fitted = GBDTRegressor(**SMALL).fit(frame, Y)
        assert not hasattr(fitted, "feature_names_in_")  # as scikit-learn has it
        fitted.predict(frame)
        with pytest.raises(DataError, match=f"X has '{labels[2]}' as column 0"):
            fitted.predict(frame[labels[::-1]])
    assert GBDTRegressor(**SMALL).fit(frame, Y).model_.feature_names == ["4", "7", "9"]


def test_evaluation_sets_in_another_order():
    with pytest.raises(DataError, match=r"^eval_set\[0\] has 'weight' as column 0"):
        GBDTRegressor(**SMALL).fit(FRAME, Y, eval_set=[(SWAPPED, Y)])
    with pytest.raises(DataError, match=r"^evals: 'test' has 'weight' as column 0"):
        train(SMALL, Dataset(FRAME, Y), 2, evals=[(Dataset(SWAPPED, Y), "test")])
    model = train(SMALL, Dataset(FRAME, Y), 2)
    with pytest.raises(DataError, match=r"'age' as column 0, .*expected 'weight', as in the train"):
        train(SMALL, Dataset(SWAPPED, Y), 2, model=model)


@pytest.mark.parametrize("make", ["from_pandas", "arrow"])
def test_names_of_other_tables(make):
    pl = pytest.importorskip("polars")
    columns = {name: FRAME[name].to_numpy() for name in NAMES}
    table = pl.DataFrame(columns)
    table = table if make == "from_pandas" else table.to_arrow()
    swapped = table.select(NAMES[::-1])
    fitted = GBDTRegressor(**SMALL).fit(table, pl.Series(Y), sample_weight=pl.Series(Y + 1))
    assert fitted.feature_names_in_.tolist() == NAMES
    assert fitted.model_.feature_names == NAMES
    alone = GBDTRegressor(**SMALL).fit(FRAME, Y, Y + 1)
    for rows in (table, FRAME, pl.DataFrame(columns).lazy()):
        np.testing.assert_array_equal(fitted.predict(rows), alone.predict(FRAME))
    with pytest.raises(DataError, match=FIRST):
        fitted.predict(swapped)
    with pytest.raises(DataError, match=FIRST):
        fitted.predict(pl.DataFrame(columns).select(NAMES[::-1]).lazy())
    lazy = pl.DataFrame({**columns, "qid": np.repeat([0, 1, 2], 20)}).lazy()
    ranker = GBDTRanker(**SMALL).fit(lazy, Y)
    assert ranker.feature_names_in_.tolist() == NAMES


@pytest.mark.parametrize("output", ["pandas", "polars", "default"])
def test_pipelines_that_hand_tables_on(output):
    pytest.importorskip(output if output == "polars" else "pandas")
    pipeline = make_pipeline(StandardScaler(), GBDTRegressor(**SMALL))
    pipeline.set_output(transform=output).fit(FRAME, Y)
    assert hasattr(pipeline[-1], "feature_names_in_") == (output != "default")
    scaled = StandardScaler().fit_transform(FRAME)
    alone = GBDTRegressor(**SMALL).fit(scaled, Y)
    np.testing.assert_array_equal(pipeline.predict(FRAME), alone.predict(scaled))


@pytest.mark.filterwarnings("error")
def test_a_selection_by_importance_keeps_names():
    chosen = SelectFromModel(GBDTRegressor(**SMALL)).set_output(transform="pandas").fit(FRAME, Y)
    assert chosen.transform(FRAME).columns.tolist() == ["age"]
    numbered = FRAME.set_axis([4, 7, 9], axis=1)
    SelectFromModel(GBDTRegressor(**SMALL)).fit(numbered, Y).transform(numbered)
