"""Calibrated probabilities of classifiers."""

import json
import pickle

import numpy as np
import pytest

from pyopencl_gbdt import GBDTClassifier, GBDTRegressor, Model
from pyopencl_gbdt.errors import DataError, ModelFormatError, ParameterError
from pyopencl_gbdt.model.formats.base import CALIBRATION
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(4)
X = RNG.standard_normal((1600, 3)).astype(np.float32)
CHANCE = 1 / (1 + np.exp(-(X[:, 0] + X[:, 1])))
Y = (RNG.random(1600) < CHANCE).astype(int)
#: Trees that fit their rows too well: their probabilities lie too near to 0 and 1.
SMALL = {"preset": "xgboost", "n_estimators": 60, "max_depth": 6, "device": TEST_DEVICE}
TRAIN, OWN, TEST = slice(0, 500), slice(500, 1000), slice(1000, 1600)
KINDS = ["binary", "classes", "labels"]


def labels_of(kind):
    if kind == "binary":
        return np.where(Y, "yes", "no")
    if kind == "classes":
        return np.array(["a", "b", "c"])[Y + ((X[:, 2] > 0) & (Y == 1))]
    return np.column_stack([Y, X[:, 2] > 0]).astype(int)


@pytest.fixture(scope="module", params=KINDS)
def fitted(request):
    y = labels_of(request.param)
    return GBDTClassifier(**SMALL).fit(X[TRAIN], y[TRAIN]), y


def copied(model):
    return pickle.loads(pickle.dumps(model))


def log_loss(model, y):
    found = model.predict_proba(X[TEST]).astype(np.float64)
    if y.ndim == 2:
        return float(-np.log(np.where(y[TEST] == 1, found, 1 - found)).mean())
    place = np.searchsorted(model.classes_, y[TEST])
    return float(-np.log(found[np.arange(len(place)), place]).mean())


@pytest.mark.few(2)
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration_lowers_the_loss_of_trees_that_fit_too_well(fitted, method):
    model, y = fitted
    own = copied(model)
    before = log_loss(own, y)
    assert own.calibrate(X[OWN], y[OWN], method=method) is own
    assert log_loss(own, y) < 0.9 * before
    found = own.predict_proba(X[TEST])
    assert found.dtype == np.float32
    assert found.shape == model.predict_proba(X[TEST]).shape
    if y.ndim == 1:
        np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-6)
        np.testing.assert_array_equal(
            own.predict(X[TEST]), own.classes_[own.predict_proba(X[TEST]).argmax(axis=1)]
        )
    else:
        np.testing.assert_array_equal(own.predict(X[TEST]), found > 0.5)
    *_, last = own.staged_predict_proba(X[TEST])
    np.testing.assert_array_equal(last, found)
    margins = own.decision_function(X[TEST])
    np.testing.assert_array_equal(margins, model.decision_function(X[TEST]))
    own.fit(X[TRAIN], y[TRAIN])
    np.testing.assert_array_equal(own.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_files_keep_a_calibration_or_refuse_it(fitted, method, tmp_path):
    own, y = copied(fitted[0]), fitted[1]
    own.calibrate(X[OWN], y[OWN], method=method)
    for name in ("m.gbdt", "m.json"):
        own.save_model(tmp_path / name)
        read = GBDTClassifier(device=TEST_DEVICE).load_model(tmp_path / name)
        np.testing.assert_array_equal(read.predict_proba(X), own.predict_proba(X))
        assert CALIBRATION not in read.model_.ensemble.attributes
        again = Model.load_model(tmp_path / name)
        assert CALIBRATION in again.ensemble.attributes
        with pytest.raises(ModelFormatError, match="lacks calibrated probabilities"):
            again.save_model(tmp_path / "again.ubj")
    assert (tmp_path / "m.json").read_bytes().startswith(b'{"format":"pyopencl_gbdt"')
    for name in ("m.ubj", "m.txt", "m.onnx", "m.c", "m.py", "m.catboost.json"):
        with pytest.raises(ModelFormatError, match="lacks calibrated probabilities, which this"):
            own.save_model(tmp_path / name)


def test_margins_of_hinge_are_calibrated_too():
    model = GBDTClassifier(objective="binary:hinge", **SMALL).fit(X[TRAIN], Y[TRAIN])
    assert np.unique(model.predict_proba(X)).tolist() == [0, 1]
    assert np.unique(model.calibrate(X[OWN], Y[OWN]).predict_proba(X)).size > 100


def test_each_label_has_a_curve_of_its_own():
    y = labels_of("labels")
    model = GBDTClassifier(**SMALL).fit(X[TRAIN], y[TRAIN])
    found = model.calibrate(X[OWN], y[OWN]).predict_proba(X[TEST])
    other = np.column_stack([1 - y[:, 0], y[:, 1]])
    changed = model.calibrate(X[OWN], other[OWN]).predict_proba(X[TEST])
    np.testing.assert_array_equal(changed[:, 1], found[:, 1])
    assert (changed[:, 0] != found[:, 0]).all()


def test_labels_in_other_columns_are_refused():
    y = labels_of("labels")
    model = GBDTClassifier(**SMALL).fit(X[TRAIN], y[TRAIN])
    with pytest.raises(DataError, match="calibrate: y has 3 columns: expected 2, one for each"):
        model.calibrate(X[OWN], np.column_stack([y, y[:, 0]])[OWN])
    with pytest.raises(DataError, match="y has 3 values, X has 500 rows"):
        model.calibrate(X[OWN], y[:3])


def test_what_cannot_be_calibrated_by():
    model = GBDTClassifier(**SMALL).fit(X[TRAIN], Y[TRAIN])
    with pytest.raises(ParameterError, match="method='beta': expected 'sigmoid' or 'isotonic'"):
        model.calibrate(X[OWN], Y[OWN], method="beta")
    with pytest.raises(ParameterError, match="method=None: expected"):
        model.calibrate(X[OWN], Y[OWN], method=None)
    with pytest.raises(DataError, match=r"calibrate: y has 3 labels for 500 rows"):
        model.calibrate(X[OWN], Y[:3])
    with pytest.raises(DataError, match=r"calibrate: y has no row of class 0: expected rows of "):
        model.calibrate(X[OWN], np.ones(500, int))
    with pytest.raises(DataError, match="calibrate: y"):
        model.calibrate(X[OWN], Y[OWN] + 5)
    with pytest.raises(DataError, match="X has 2 features"):
        model.calibrate(X[OWN, :2], Y[OWN])
    assert not hasattr(GBDTRegressor, "_curves")


def test_each_class_needs_rows():
    y = labels_of("classes")
    model = GBDTClassifier(**SMALL | {"n_estimators": 2}).fit(X[TRAIN], y[TRAIN])
    some = np.flatnonzero(y != "b")
    with pytest.raises(
        DataError, match="calibrate: y has no row of class 'b': expected rows of all 3 classes"
    ):
        model.calibrate(X[some], y[some])
    one = GBDTClassifier(**SMALL | {"n_estimators": 2}).fit(X[:50], np.full(50, 7))
    with pytest.raises(
        DataError, match=r"calibrate: the model has one class \(7\): expected two or more; fit on"
    ):
        one.calibrate(X[:50], np.full(50, 7))


_GOOD = {"scores": [0, 1], "shares": [0.2, 0.4]}


@pytest.mark.parametrize("text", [
    "[]", "3", "{", "[3]", '[{"slope": 1}]', '[{"slope": NaN, "intercept": 0}]',
    json.dumps([_GOOD | {"scores": [1, 0]}]), json.dumps([_GOOD | {"shares": [0, 1]}]),
    json.dumps([_GOOD | {"shares": [0.5, 0.4]}]), json.dumps([_GOOD | {"scores": [0]}]),
    json.dumps([_GOOD, _GOOD]),
])  # fmt: skip
def test_wrong_curves_in_a_file(text, tmp_path):
    model = GBDTClassifier(**SMALL).fit(X[TRAIN], Y[TRAIN])
    model.model_.ensemble.attributes[CALIBRATION] = text
    model.model_.save_model(tmp_path / "m.gbdt")
    with pytest.raises(ModelFormatError, match="expected a JSON list of 1 curve"):
        GBDTClassifier().load_model(tmp_path / "m.gbdt")
