"""``learning_rate="auto"`` and ``n_estimators="auto"``: numbers from a table, by rows and task."""

import numpy as np
import pytest

from pyopencl_gbdt import GBDTRegressor
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.estimators.presets import (
    LENGTHS,
    MOST_STOPPED,
    ROUNDS,
    STOPPED_LENGTH,
    STOPPED_RATE,
    ByRows,
    resolve_auto,
)
from tests.conftest import TEST_DEVICE

TASKS = ("regression", "binary", "multiclass", "ranking")
RNG = np.random.default_rng(4)
X = RNG.standard_normal((60, 2)).astype(np.float32)
Y = X[:, 0] + RNG.standard_normal(60) / 4


@pytest.fixture
def table(monkeypatch):
    monkeypatch.setitem(LENGTHS, "regression", ByRows(((100, 20.0), (1000, 40.0)), 60.0))
    monkeypatch.setitem(ROUNDS, "regression", ByRows(((100, 250),), 500))


@pytest.mark.parametrize(("n_rows", "value"), [(0, 1), (10, 1), (11, 2), (20, 2), (21, 3)])
def test_a_step_takes_the_rows_up_to_its_number(n_rows, value):
    assert ByRows(((10, 1), (20, 2)), 3).of(n_rows) == value


@pytest.mark.parametrize("task", TASKS)
def test_steps_ascend_and_values_are_positive(task):
    for one in (LENGTHS[task], ROUNDS[task]):
        most = [rows for rows, _ in one.steps]
        assert most == sorted(set(most))
        assert min([value for _, value in one.steps] + [one.beyond]) > 0
    assert all(value == int(value) for _, value in ROUNDS[task].steps)


@pytest.mark.parametrize(
    ("given", "n_rows", "rounds", "rate"),
    [
        ({"n_estimators": "auto", "learning_rate": "auto"}, 100, 250, 20 / 250),
        ({"n_estimators": "auto", "learning_rate": "auto"}, 500, 500, 40 / 500),
        ({"n_estimators": 1000, "learning_rate": "auto"}, 5000, 1000, 0.06),
        ({"n_estimators": 10, "learning_rate": "auto"}, 50, 10, 0.3),
        ({"n_estimators": 0, "learning_rate": "auto"}, 50, 0, 0.3),
        ({"n_estimators": "auto", "learning_rate": 0.1}, 50, 200, 0.1),
        ({"n_estimators": "auto", "learning_rate": 1}, 50, 50, 1),
        ({"n_estimators": "auto", "learning_rate": 0}, 50, 2000, 0),
        ({"n_estimators": "auto", "learning_rate": 1e-9}, 50, 2000, 1e-9),
        ({"n_estimators": 7, "learning_rate": 0.5}, 50, 7, 0.5),
    ],
)
def test_numbers_of_auto(table, given, n_rows, rounds, rate):
    found = resolve_auto(given, "regression", n_rows)
    assert (found["n_estimators"], found["learning_rate"]) == (rounds, rate)


def test_one_alone(table):
    assert resolve_auto({"learning_rate": "auto"}, "regression", 50) == {"learning_rate": 0.2}
    assert resolve_auto({"n_estimators": "auto"}, "regression", 50) == {"n_estimators": 67}
    assert resolve_auto({"n_estimators": "auto"}, "binary", 50) == {"n_estimators": 50}  # 15 / 0.3


def test_early_stopping_has_a_rate_and_most_rounds(table):
    both = {"n_estimators": "auto", "learning_rate": "auto"}
    found = resolve_auto(both, "regression", 500, stops=True)
    rate, length = STOPPED_RATE, STOPPED_LENGTH
    assert found == {"n_estimators": round(length / rate), "learning_rate": rate}
    given = {"n_estimators": "auto", "learning_rate": 0.01}
    assert resolve_auto(given, "regression", 500, stops=True)["n_estimators"] == length * 100
    given = {"n_estimators": "auto", "learning_rate": 0}
    most = resolve_auto(given, "regression", 500, stops=True)["n_estimators"]
    assert most == MOST_STOPPED


def test_the_model_has_numbers(table):
    fitted = GBDTRegressor(
        preset="xgboost", n_estimators="auto", learning_rate="auto", max_depth=2, device=TEST_DEVICE
    ).fit(X, Y)
    assert fitted.model_.parameters["n_estimators"] == 250 == fitted.get_num_boosting_rounds()
    assert fitted.model_.parameters["learning_rate"] == 20 / 250
    assert fitted.get_params()["learning_rate"] == "auto"
    assert fitted.get_xgb_params()["learning_rate"] == 20 / 250
    assert fitted.get_xgb_params()["device"] == TEST_DEVICE


@pytest.mark.parametrize("given", [{"learning_rate": "fast"}, {"n_estimators": "many"}])
def test_other_words_are_refused(given):
    (name,) = given
    other = {"learning_rate": "auto", "n_estimators": "auto", **given}
    with pytest.raises(ParameterError, match=f"{name}='.*': expected .*; give a number"):
        GBDTRegressor(device=TEST_DEVICE, **other).fit(X, Y)
