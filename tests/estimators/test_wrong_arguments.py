"""Wrong kinds of arguments: taken, or refused by one of the library's errors and no other."""

import inspect

import numpy as np
import pytest

from pyopencl_gbdt import (
    Dataset,
    DeviceObjective,
    GBDTClassifier,
    GBDTRanker,
    GBDTRegressor,
    KernelObjective,
    Model,
    callbacks,
    cv,
    train,
)
from pyopencl_gbdt.device import choose, open_device
from pyopencl_gbdt.errors import DataError, DataTypeError, GBDTError, ParameterError
from pyopencl_gbdt.model import dump_text, feature_importances
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.parameters.table import TABLE, XGBOOST_ONLY
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(3)
X = RNG.standard_normal((30, 3)).astype(np.float32)
Y = X[:, 0]
DATA = Dataset(X, Y)
SMALL = {"n_estimators": 1, "max_depth": 2, "device": TEST_DEVICE}
#: Of every kind, and none of them a function or an existing file.
VALUES = [
    None, True, -1, 0, 3.5, float("nan"), "x", "", b"x", [], (), {}, {"a": 1}, {1, 2}, object(),
    np.zeros((2, 2)), np.zeros(0), [1], [[1, 2], [3]], ["a"], 1j, np.array(None),
    np.datetime64("2020"), DATA, range(3), [None], [(1, 2)], [("a", DATA)], [(DATA,)], [(DATA, 1)],
    np.int64(3), np.array(["a"]), "\0",
]  # fmt: skip
HUGE = [*VALUES, 10**400, -(10**30), "\udc80"]
#: A file that is not there is the operating system's error.
ALLOWED = (GBDTError, FileNotFoundError)


def refuses_well(function, values=VALUES):
    wrong = []
    for value in values:
        try:
            function(value)
        except ALLOWED:
            continue
        except Exception as error:
            wrong.append(f"{value!r:.40}: {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)


def test_parameters():
    for name in (*(row.name for row in TABLE), *XGBOOST_ONLY):
        refuses_well(lambda value, name=name: Parameters.from_dict({name: value}), HUGE)


@pytest.mark.parametrize(
    "name",
    ["eval_metric", "callbacks", "early_stopping_rounds", "monotone_constraints", "objective",
     "interaction_constraints", "device", "feature_weights", "missing"],
)  # fmt: skip
def test_parameters_of_train(name):
    refuses_well(lambda value: train({**SMALL, name: value}, DATA))


@pytest.mark.parametrize("name", [*inspect.signature(train).parameters])
def test_arguments_of_train(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    given = {"params": SMALL, "data": DATA, "evals": [(DATA, "a")], "report": lambda line: None}

    def call(value):
        if name == "params" and isinstance(value, (list, tuple, dict, set)) and not len(value):
            value = [("device", TEST_DEVICE), ("n_estimators", 1)]
        train(**{**given, name: value})

    refuses_well(call)


@pytest.mark.parametrize("name", [*inspect.signature(cv).parameters])
def test_arguments_of_cv(name):
    given = {"params": SMALL, "data": DATA, "n_rounds": 1, "nfold": 2, "report": lambda line: None}

    def call(value):
        if name == "params" and isinstance(value, (list, tuple, dict, set)) and not len(value):
            value = [("device", TEST_DEVICE)]
        cv(**{**given, name: value})

    refuses_well(call)


def test_what_the_errors_say():
    for call, error, words in (
        (lambda: train({}, X, 2), DataTypeError, "data is of type ndarray: expected a Dataset;"),
        (lambda: cv({}, X, 2), DataTypeError, r"make one of the rows .*: Dataset\(X, y\)"),
        (lambda: train({}, DATA, "x"), ParameterError, "^n_rounds='x': expected 0..2147483647"),
        (lambda: train({}, DATA, 1.5), ParameterError, "^n_rounds=1.5: .*give a whole number"),
        (lambda: train({}, DATA, evals={"a": DATA}), ParameterError, "^evals is of type dict: exp"),
        (lambda: train({}, DATA, evals=(DATA, "a")), ParameterError, r"^evals\[0\]=Dataset: exp"),
        (lambda: train({}, DATA, custom_metric="x"), ParameterError, "^custom_metric='x': exp"),
        (lambda: train({}, DATA, verbose="x"), ParameterError, "^verbose='x': expected True,"),
        (lambda: train("x", DATA), ParameterError, "^params: str: expected a dict of names to"),
        (lambda: cv({}, DATA, None), ParameterError, "^n_rounds=None: expected an integer"),
        (lambda: train({"missing": 3}, DATA), ParameterError, "^missing: expected as an argument"),
        (lambda: Model.load_model(3), ParameterError, "^load_model: path=3: expected the path"),
        (lambda: choose("x", None), ParameterError, "^kernel='x': expected one of"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            call()


def test_pairs_of_parameters():
    pairs = [*SMALL.items(), ("eval_metric", "rmse"), ("max_depth", 1), ("eval_metric", "mae")]
    found = train(pairs, DATA, 2, evals=[(DATA, "a")])
    wanted = train({**SMALL, "max_depth": 1}, DATA, 2)
    assert found.ensemble == wanted.ensemble
    assert list(found.history["a"]) == ["rmse", "mae"]
    table = cv(pairs, DATA, 2, nfold=2, as_pandas=False)
    assert [name for name in table if name.startswith("test")] == [
        "test-rmse-mean", "test-rmse-std", "test-mae-mean", "test-mae-std"
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["X", "output_margin", "iteration_range", "base_margin", "device"])
def test_arguments_of_predict(name):
    model = train(SMALL, DATA)
    refuses_well(lambda v: model.predict(**{"X": X, "device": TEST_DEVICE, name: v}))


def test_other_arguments_of_models(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    model = train(SMALL, DATA)
    for function, values in (
        (model.save_model, VALUES),
        (Model.load_model, VALUES),
        (model.feature_importances, VALUES),
        (feature_importances, VALUES),
        (dump_text, VALUES),
    ):
        refuses_well(function, values)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (kind, name)
        for kind in ("EarlyStopping", "EvaluationMonitor", "LearningRateScheduler",
                     "TrainingCheckPoint", "ProgressBar")
        for name in inspect.signature(getattr(callbacks, kind)).parameters
        if name not in ("options", "description")
    ],
)  # fmt: skip
def test_arguments_of_callbacks(kind, name, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    given = {"EarlyStopping": {"rounds": 1}, "TrainingCheckPoint": {"directory": "c"}}
    evals = [(DATA, "a")]

    def call(value):
        made = getattr(callbacks, kind)(**{**given.get(kind, {}), name: value})
        train(SMALL, DATA, evals=evals, callbacks=[made])

    refuses_well(call)


@pytest.mark.parametrize(
    ("kind", "name"),
    [(GBDTRegressor, name) for name in inspect.signature(GBDTRegressor).parameters
     if name not in {row.name for row in TABLE}]
    + [(GBDTClassifier, name) for name in ("class_weight", "objective", "eval_metric")]
    + [(GBDTRanker, name) for name in ("objective", "eval_metric")],
)  # fmt: skip
def test_parameters_of_estimators(kind, name):
    queries = {"group": [15, 15]} if kind is GBDTRanker else {}
    y = Y if kind is GBDTRegressor else (Y > 0).astype(int)
    refuses_well(lambda value: kind(**{**SMALL, name: value}).fit(X, y, **queries))


@pytest.mark.parametrize(
    "name",
    ["X", "y", "sample_weight", "base_margin", "eval_set", "xgb_model", "init_model", "verbose",
     "profile", "cat_features"],
)  # fmt: skip
@pytest.mark.parametrize("kind", [GBDTRegressor, GBDTClassifier, GBDTRanker])
def test_arguments_of_fit(kind, name, capsys):
    queries = {"group": [15, 15]} if kind is GBDTRanker else {}
    y = Y if kind is GBDTRegressor else (Y > 0).astype(int)
    refuses_well(lambda value: kind(**SMALL).fit(**{"X": X, "y": y, **queries, name: value}))


def test_arguments_of_own_losses():
    device = open_device(TEST_DEVICE)
    refuses_well(lambda value: DeviceObjective(lambda *arrays: None, value))
    refuses_well(DeviceObjective)
    refuses_well(KernelObjective)
    refuses_well(lambda value: choose(value, device.caps))
    refuses_well(lambda value: choose("histogram", device.caps, value))


@pytest.mark.parametrize("name", [*inspect.signature(Dataset).parameters])
def test_arguments_of_a_dataset(name):
    refuses_well(lambda value: Dataset(**{"X": X, "label": Y, name: value}), HUGE)


def test_rows_of_a_slice():
    refuses_well(DATA.slice, HUGE)
    for rows, words in (
        ([30], r"^rows=\[30\]: expected a list of whole numbers, -30..29; give numbers of rows"),
        ([-31], r"rows=\[-31\]"),
        ([0.5], r"rows=\[0.5\]"),
        (None, "rows=None"),
    ):
        with pytest.raises(DataError, match=words):
            DATA.slice(rows)
    np.testing.assert_array_equal(DATA.slice([-1, 0]).values, X[[-1, 0]])


def test_arrays_of_a_device(device):
    small = [v for v in HUGE if not isinstance(v, np.ndarray) or v.dtype.kind == "f"]
    refuses_well(device.upload, small)
    for make in (device.empty, device.zeros):
        refuses_well(lambda value, make=make: make(value, np.float32), HUGE)
        refuses_well(lambda value, make=make: make(3, value), HUGE)
    with pytest.raises(ParameterError, match=r"^shape=\(3, -1\): expected a size or a tuple"):
        device.empty((3, -1), np.float32)
