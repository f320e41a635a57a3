"""``Dataset``: names, rows without labels, a number for missing values, what it says of itself."""

import pickle

import numpy as np
import pandas as pd
import pytest

from pyopencl_gbdt import Dataset, GBDTRanker, GBDTRegressor, Model, cv, train
from pyopencl_gbdt.errors import DataError, ModelFormatError, ParameterError
from pyopencl_gbdt.model import Ensemble, to_xgboost_json
from tests.conftest import TEST_DEVICE
from tests.model.samples import make_ensemble

SMALL = {"max_depth": 3, "device": TEST_DEVICE}
RNG = np.random.default_rng(5)
X = RNG.normal(size=(80, 3)).astype(np.float32)
X[::9, 1] = np.nan
Y = (X[:, 0] > 0) ^ np.isnan(X[:, 1])
ABC = ["a", "b", "c"]


@pytest.mark.parametrize("names", [tuple(ABC), np.array(ABC), pd.Index(ABC), [1, 2, 3]])
def test_names_of_many_kinds_are_kept(names, tmp_path):
    wanted = [str(name) for name in names]
    data = Dataset(X, Y, feature_names=names)
    assert data.feature_names == wanted
    assert data.slice([0, 1]).feature_names == wanted
    model = train(SMALL, data, 1)
    model.save_model(tmp_path / "model.json")
    assert Model.load_model(tmp_path / "model.json").feature_names == wanted


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "b"], "feature_names has 2 names, X has 3 columns"),
        ("abc", "expected a list of 3 names"),
        (["a", "a", "b"], "are both 'a'"),
        (["a", "b", None], r"feature_names\[2\]=None: expected a string"),
        (["a", "b", "\x00"], "without control characters"),
    ],
)
def test_bad_names_are_refused_at_once(names, message):
    with pytest.raises(DataError, match=message):
        Dataset(X, Y, feature_names=names)
    data = Dataset(X, Y, feature_names=ABC)
    with pytest.raises(DataError, match=message):
        data.feature_names = names
    assert data.feature_names == ABC


def test_names_of_a_frame_that_no_file_can_hold():
    with pytest.raises(DataError, match="without control characters"):
        Dataset(pd.DataFrame(X, columns=["a", "b", "c\x02"]), Y)


def test_names_of_an_ensemble():
    assert make_ensemble([3], feature_names=np.array(list("abcd"))).feature_names == list("abcd")
    for names in ("abcd", [1, 2, 3, 4]):
        with pytest.raises(ModelFormatError, match="expected a list of strings"):
            make_ensemble([3], feature_names=names)


def test_names_with_brackets_are_read_by_xgboost(tmp_path):
    xgboost = pytest.importorskip("xgboost")
    names = ["x[1]", "a<b", "c]"]
    model = train(SMALL, Dataset(X, Y, feature_names=names), 2)
    model.save_model(tmp_path / "model.json")
    assert Model.load_model(tmp_path / "model.json").feature_names == names
    booster = xgboost.Booster(model_file=tmp_path / "model.json")
    assert booster.feature_names == names
    np.testing.assert_allclose(booster.inplace_predict(X), model.predict(X), rtol=1e-6)


def test_sizes_by_xgboosts_names():
    data = Dataset(X)
    assert (data.num_row(), data.num_col()) == (80, 3)


def test_rows_without_labels():
    model = train(SMALL, Dataset(X, Y), 3)
    rows = Dataset(X)
    assert not rows.has_label
    assert rows.get_label().size == 0
    np.testing.assert_array_equal(model.predict(rows), model.predict(X))
    some = rows.slice([5, 7, 2])
    np.testing.assert_array_equal(model.predict(some), model.predict(X)[[5, 7, 2]])
    assert pickle.loads(pickle.dumps(rows)).num_row() == 80
    assert rows.digests()["label"] == ""
    with pytest.raises(DataError, match="label is None: expected a number per row"):
        _ = rows.label


def test_training_without_labels_is_refused():
    with pytest.raises(DataError, match="the training data: label is None: expected a number per"):
        train(SMALL, Dataset(X), 1)
    with pytest.raises(DataError, match="evals: 'test': label is None"):
        train(SMALL, Dataset(X, Y), 1, evals=[(Dataset(X), "test")])
    with pytest.raises(DataError, match="label is None"):
        cv(SMALL, Dataset(X), 1)


def test_base_margin_of_a_dataset_is_used():
    start = RNG.normal(size=80).astype(np.float32)
    model = train(SMALL, Dataset(X, Y, base_margin=start), 3)
    wanted = model.predict(X, base_margin=start)
    rows = Dataset(X, base_margin=start)
    np.testing.assert_array_equal(model.predict(rows), wanted)
    np.testing.assert_array_equal(model.predict(Dataset(X), base_margin=start), wanted)
    with pytest.raises(ParameterError, match="base_margin is given, and X has one"):
        model.predict(rows, base_margin=start)


def test_columns_of_a_dataset_are_counted():
    model = train(SMALL, Dataset(X, Y), 1)
    with pytest.raises(DataError, match="X has 2 features, but the model is expecting 3"):
        model.predict(Dataset(X[:, :2]))


@pytest.mark.parametrize("missing", [0, -999.0])
def test_missing_is_a_number(missing):
    given = np.where(np.isnan(X), np.float32(missing), X)
    before = given.copy()
    wanted = train(SMALL, Dataset(X, Y), 3)
    model = train(SMALL, Dataset(given, Y, missing=missing), 3)
    assert to_xgboost_json(model.ensemble) == to_xgboost_json(wanted.ensemble)
    for rows in (Dataset(given, missing=missing), Dataset(X)):
        np.testing.assert_array_equal(model.predict(rows), wanted.predict(X))
    np.testing.assert_array_equal(model.predict(given, missing=missing), wanted.predict(X))
    np.testing.assert_array_equal(given, before)
    assert (model.predict(given) != wanted.predict(X)).any()


@pytest.mark.parametrize("missing", [0, np.inf])
def test_missing_of_an_estimator(missing):
    given = np.where(np.isnan(X), np.float32(missing), X)
    wanted = GBDTRegressor(n_estimators=3, **SMALL).fit(X, Y, eval_set=[(X[:40], Y[:40])])
    estimator = GBDTRegressor(n_estimators=3, missing=missing, **SMALL)
    estimator.fit(given, Y, eval_set=[(given[:40], Y[:40])])
    assert estimator.evals_result() == wanted.evals_result()
    np.testing.assert_array_equal(estimator.predict(given), wanted.predict(X))
    ranker, other = (GBDTRanker(n_estimators=2, missing=m, **SMALL) for m in (missing, np.nan))
    ranker.fit(given, Y, group=[80])
    assert ranker.score(given, Y, group=[80]) == other.fit(X, Y, group=[80]).score(X, Y, group=[80])


def test_reprs():
    data = Dataset(X, Y)
    assert repr(data) == "Dataset(80 rows x 3 features, labels)"
    assert repr(Dataset(X)) == "Dataset(80 rows x 3 features, no labels)"
    full = Dataset(
        X, np.column_stack([Y, Y]), np.ones(2), ABC, base_margin=np.zeros((80, 2)), group=[40, 40]
    )
    assert repr(full) == (
        "Dataset(80 rows x 3 features ('a', 'b', 'c'), 2 labels a row, 2 queries, weight, "
        "base_margin)"
    )
    bounds = Dataset(
        X, label_lower_bound=np.ones(80), label_upper_bound=np.ones(80), feature_weights=[1, 2, 3]
    )
    assert repr(bounds) == "Dataset(80 rows x 3 features, label bounds, feature_weights)"
    model = train(SMALL, data, 2)
    assert repr(model) == (
        f"Model(reg:squarederror, 2 rounds, 3 features, trained on {model.training_device})"
    )
    stopped = train(SMALL, data, 9, evals=[(Dataset(-X, Y), "t")], early_stopping_rounds=1)
    assert f", best_iteration {stopped.best_iteration}, " in repr(stopped)
    ensemble = make_ensemble([3], feature_names=list("abcd"))
    assert isinstance(ensemble, Ensemble)
    assert repr(ensemble).startswith("Ensemble(")
    assert repr(ensemble).endswith("1 round, 4 features ('a', 'b', 'c', ...))")
