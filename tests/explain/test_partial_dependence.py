"""Partial dependence: each response is the prediction of a changed row, and the mean is exact."""

from fractions import Fraction

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, GBDTClassifier, GBDTRegressor
from pyopencl_gbdt.errors import DataError, NoDeviceError, NotFittedError, ParameterError
from pyopencl_gbdt.explain import partial_dependence
from pyopencl_gbdt.prediction import walk_rows
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE
from tests.explain.samples import KINDS, TOWNS, model_of, numbers, rows_of, table

ON = {"device": TEST_DEVICE}


def brute(model, rows, name, values, **options):
    """Return the responses, shape (n_outputs, n_rows, len(values))."""
    found = [model.predict(rows.assign(**{name: v}), **options, **ON) for v in values]
    return np.stack([own.reshape(len(rows), -1).T for own in found], axis=2)


def exact_mean(values):
    return float(sum(map(Fraction, values.tolist())) / len(values))


@pytest.mark.parametrize("response", ["prediction", "margin"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "picked classes"])
def test_responses_are_predictions_of_changed_rows(kind, response):
    model, rows = model_of(kind), rows_of(kind)
    for name in {"sets": ["town", "area"], "statistics": ["town", "floor"]}.get(kind, ["area"]):
        found = partial_dependence(
            model, rows, name, kind="both", grid_resolution=6, response=response, **ON
        )
        wanted = brute(model, rows, name, found.grid[0], output_margin=response == "margin")
        assert_same_bits(found.individual, np.ascontiguousarray(wanted))
        mean = [
            [float(sum(map(Fraction, own.tolist())) / len(own)) for own in one.T] for one in wanted
        ]
        assert_same_bits(found.average, np.array(mean))
        assert found.feature_names == [name]


def test_shares_of_classes_where_predict_picks_one():
    model, rows = model_of("picked classes"), numbers()
    found = partial_dependence(model, rows, "floor", grid=[2, 5], **ON)
    margins = brute(model, rows, "floor", [2, 5], output_margin=True).astype(np.float64)
    shares = np.exp(margins) / np.exp(margins).sum(axis=0)
    np.testing.assert_allclose(found.average, shares.mean(axis=1), rtol=1e-5)


def test_levels_have_their_names():
    model, rows = model_of("sets"), table()
    found = partial_dependence(model, rows, "town", **ON)
    assert found.grid[0].tolist() == TOWNS.tolist()
    assert found.individual is None
    few = partial_dependence(model, rows, "town", grid=["Ulm", None], **ON)
    assert few.grid[0].tolist() == ["Ulm", None]
    assert few.average[0, 0] == found.average[0, 3]
    wanted = model.predict(rows.assign(town=None), **ON).mean(dtype=np.float64)
    np.testing.assert_allclose(few.average[0, 1], wanted, rtol=1e-7)


def test_two_features_and_weights():
    model, rows = model_of("sets"), table()
    weight = np.arange(len(rows)) % 3
    grid = {"town": ["Oslo", "Bern"], "area": [60, np.nan, 90]}
    found = partial_dependence(model, rows, ["area", 1], grid=grid, weight=weight, **ON)
    assert found.average.shape == (1, 3, 2)
    for i, area in enumerate(grid["area"]):
        for j, town in enumerate(grid["town"]):
            own = model.predict(rows.assign(area=area, town=town), **ON)
            wanted = np.average(own.astype(np.float64), weights=weight)
            np.testing.assert_allclose(found.average[0, i, j], wanted, rtol=1e-12)


def test_without_a_device_and_of_an_estimator(monkeypatch):
    model, rows = model_of("binary"), numbers()
    wanted = partial_dependence(model, rows, "area", kind="both", **ON)

    def none(*_):
        raise NoDeviceError("none")

    monkeypatch.setattr(walk_rows, "open_device", none)
    monkeypatch.setattr(walk_rows, "_found", {})
    monkeypatch.setenv("PYOPENCL_GBDT_DEVICE", "")
    found = partial_dependence(model, rows, "area", kind="both")
    assert_same_bits(found.individual, wanted.individual)
    assert_same_bits(found.average, wanted.average)


def test_equals_scikit_learns():
    inspection = pytest.importorskip("sklearn.inspection")
    X = numbers().fillna(50.0).astype(np.float64)
    y = (X["area"] * (X["age"] > 40)).to_numpy()
    small = {"n_estimators": 5, "max_depth": 3, **ON}
    regressor = GBDTRegressor(**small).fit(X, y)
    classifier = GBDTClassifier(**small).fit(X, np.digitize(y, [1, 70]))
    for model, features in ((regressor, ["area", "floor"]), (classifier, ["age"])):
        options = {"method": "brute", "kind": "both", "grid_resolution": 12}
        theirs = inspection.partial_dependence(model, X, features, **options)
        ours = partial_dependence(model, X, features, kind="both", grid_resolution=12)
        for one, other in zip(ours.grid, theirs["grid_values"], strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)
            # their means are float32
            np.testing.assert_allclose(ours.average, theirs["average"], rtol=1e-5)
        np.testing.assert_allclose(ours.individual, theirs["individual"], rtol=1e-6)


def test_rows_of_a_dataset_an_array_and_a_sparse_matrix(monkeypatch):
    model, array = model_of("numbers"), numbers().to_numpy()
    array[array == 0] = 0.5  # below the first border, as 0
    wanted = partial_dependence(model, array, 2, **ON)
    there = np.where(np.isnan(array), 0, array)
    sparse = pytest.importorskip("scipy.sparse").csr_matrix(there)
    for given in (Dataset(array), sparse):
        assert_same_bits(partial_dependence(model, given, 2, **ON).average, wanted.average)
    monkeypatch.setattr("pyopencl_gbdt.data.budget.UNQUESTIONED", 0)
    monkeypatch.setattr("pyopencl_gbdt.data.budget.available_memory", lambda: 100)
    with pytest.raises(DataError, match=r"220 x 4 values of X, which is sparse, .* fewer rows"):
        partial_dependence(model, sparse, 2, **ON)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": "flor"}, r"features='flor': expected .*did you mean 'floor'"),
        ({"features": 4}, r"features=4: expected .* 0\.\.3"),
        ({"features": ["area", "area"]}, "one feature, or two distinct ones"),
        ({"features": ["area", "floor", "age"]}, "one feature, or two distinct ones"),
        ({"kind": "all"}, "kind='all': expected one of average, individual, both"),
        ({"response": "proba"}, "response='proba': expected one of prediction, margin"),
        ({"grid_resolution": 1}, "grid_resolution=1: expected a whole number, 2 or more"),
        ({"percentiles": (0.9, 0.1)}, r"percentiles=\(0.9, 0.1\): expected two shares"),
        ({"features": "area", "grid": []}, r"grid=\[\]: expected one or more numbers"),
        ({"features": "area", "grid": ["a"]}, "expected one or more numbers of feature 'area'"),
        ({"grid": {"age": [1]}}, "grid has values of 'age': expected those of features alone"),
        ({"grid": ["Brn"]}, "grid has 'Brn' for feature 'town': .* did you mean 'Bern'"),
        ({"grid_resolution": 3}, "feature 'town' has 4 levels in X: expected 1..3"),
    ],
)
def test_what_is_refused(options, message):
    features = options.pop("features", "town")
    with pytest.raises(ParameterError, match=message):
        partial_dependence(model_of("sets"), table(), features, **options, **ON)
    options.setdefault("features", features)


def test_many_values_of_two_features():
    """They are counted before they are made."""
    given = {"area": np.arange(50_000.0), "age": np.arange(50_000.0)}
    words = "partial dependence at 2500000000 values take .*; give fewer values"
    with pytest.raises(DataError, match=words):
        partial_dependence(model_of("numbers"), numbers(), ["area", "age"], grid=given, **ON)


def test_rows_and_models_that_are_refused():
    rows, model = numbers(), model_of("numbers")
    for given, message in (
        (rows[:0], "X has 0 sample"),
        (rows.rename(columns={"age": "years"}), "X has 'years' as column 2.*expected 'age'"),
        (lambda: iter([rows]), "X comes in batches"),
    ):
        with pytest.raises(DataError, match=message):
            partial_dependence(model, given, "area", **ON)
    with pytest.raises(ParameterError, match="feature 'area' has only missing values in X"):
        partial_dependence(model, rows.assign(area=np.nan), "area", **ON)
    with pytest.raises(ParameterError, match="model=dict: expected a Model or a fitted estimator"):
        partial_dependence({}, rows, "area")
    with pytest.raises(NotFittedError):
        partial_dependence(GBDTRegressor(), rows, "area")
    with pytest.raises(DataError, match="weight"):
        partial_dependence(model, rows, "area", weight=[1], **ON)
