"""Presets of the estimators: what they set, what wins, and who takes none."""

import numpy as np
import pytest
from sklearn.base import clone

from pyopencl_gbdt import GBDTClassifier, GBDTRandomForestRegressor, GBDTRanker, GBDTRegressor
from pyopencl_gbdt.callbacks import TrainingCheckPoint
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.estimators import presets
from pyopencl_gbdt.estimators.constructor import PARAMETERS
from pyopencl_gbdt.estimators.presets import NEWEST, PRESETS, SET_BY_PRESETS, Preset, complete
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.parameters.table import TABLE
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(5)
X = RNG.standard_normal((120, 3)).astype(np.float32)
Y = X[:, 0] * X[:, 1] + RNG.standard_normal(120) / 4
TASKS = ("regression", "binary", "multiclass", "ranking")
TRIAL = Preset(
    "A preset for these tests.",
    {"grow_policy": "symmetric", "n_estimators": 4, "subsample": 0.5, "max_depth": 3},
    {"binary": {"learning_rate": 0.25}},
)


@pytest.fixture
def trial(monkeypatch):
    monkeypatch.setitem(PRESETS, "trial-1", TRIAL)
    monkeypatch.setitem(NEWEST, "trial", "trial-1")


def used(estimator, labels=Y, **arguments):
    return estimator.set_params(device=TEST_DEVICE).fit(X, labels, **arguments).model_.parameters


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("task", TASKS)
def test_every_value_of_the_table_is_one_that_train_takes(name, task):
    classes = {"num_class": 3, "objective": "multi:softprob"} if task == "multiclass" else {}
    found = complete(name, classes, task, 1000)
    known = {row.name for row in TABLE}
    Parameters.from_dict({name: value for name, value in found.items() if name in known})


def test_what_a_preset_sets_is_none_where_it_is_not_given():
    for preset in PRESETS.values():
        assert {name for task in TASKS for name in preset.values(task)} <= SET_BY_PRESETS
    for name in SET_BY_PRESETS:
        assert PARAMETERS[name].default is None, name


def test_xgboosts_defaults_are_an_empty_preset():
    assert [PRESETS["xgboost"].values(task) for task in TASKS] == [{}] * 4
    assert NEWEST["xgboost"] == "xgboost"
    assert set(NEWEST.values()) <= set(PRESETS)


def test_get_params_and_clone_keep_none(trial):
    fitted = GBDTRegressor(preset="trial", device=TEST_DEVICE).fit(X, Y)
    assert fitted.get_params()["n_estimators"] is None is fitted.n_estimators
    assert clone(fitted).get_params()["subsample"] is None
    assert clone(fitted).preset == "trial"
    assert fitted.get_num_boosting_rounds() == 4
    assert fitted.get_xgb_params()["grow_policy"] == "symmetric"
    assert GBDTRegressor().get_num_boosting_rounds() == 100


def test_the_model_tells_what_was_used(trial):
    found = used(GBDTRegressor(preset="trial"))
    assert (found["grow_policy"], found["n_estimators"], found["subsample"]) == (
        "symmetric", 4, 0.5,
    )  # fmt: skip
    assert found["learning_rate"] == 0.3  # only the other task has one
    assert used(GBDTClassifier(preset="trial-1"), Y > 0)["learning_rate"] == 0.25
    assert used(GBDTRegressor(preset="xgboost"))["grow_policy"] == "depthwise"


def test_explicit_parameters_win(trial):
    found = used(GBDTRegressor(preset="trial", iterations=3, subsample=1, eta=0.5))
    assert (found["n_estimators"], found["subsample"], found["learning_rate"]) == (3, 1, 0.5)
    assert found["max_depth"] == 3


@pytest.mark.parametrize(
    "given", [{"max_leaves": 5}, {"tree_method": "exact"}, {"max_depth": 0, "max_leaves": 7}]
)
def test_a_value_that_does_not_go_with_an_explicit_one_is_left_out(trial, given):
    found = used(GBDTRegressor(preset="trial", **given))
    assert found["grow_policy"] == "depthwise"
    assert found["n_estimators"] == 4
    assert {name: found[name] for name in given} == given


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "given", [{"tree_method": "exact"}, {"multi_strategy": "multi_output_tree"}]
)
def test_noise_that_does_not_go_with_an_explicit_value_is_left_out(given):
    labels = np.digitize(Y, [-0.5, 0.5])
    found = used(GBDTClassifier(preset="fast", n_estimators=2, **given), labels)
    assert found["random_strength"] == 0
    assert {name: found[name] for name in given} == given
    assert used(GBDTClassifier(preset="fast", n_estimators=2), labels)["random_strength"] == 1


def test_explicit_values_that_do_not_go_together_raise_as_without_a_preset(trial):
    with pytest.raises(ParameterError, match=r"subsample=0\.7: expected 1 for sampling_method"):
        used(GBDTRegressor(preset="trial", sampling_method="goss", subsample=0.7))


def test_rankers_and_own_losses(trial):
    ranks = np.repeat([0, 1, 2, 1], 30)
    found = used(GBDTRanker(preset="trial"), ranks, group=[60, 60])
    assert found["n_estimators"] == 100

    def squares(truth, margins):
        return margins - truth, np.ones_like(margins)

    assert used(GBDTRegressor(preset="trial", objective=squares))["grow_policy"] == "symmetric"


def test_who_takes_no_preset(trial, monkeypatch, tmp_path):
    monkeypatch.setattr(presets, "USUAL", "trial")
    assert used(GBDTRegressor())["n_estimators"] == 4
    assert used(GBDTRandomForestRegressor())["num_parallel_tree"] == 100
    few = {"n_estimators": 2}
    assert used(GBDTRegressor(warm_start=True, **few))["grow_policy"] == "depthwise"
    first = GBDTRegressor(preset="xgboost", device=TEST_DEVICE, **few).fit(X, Y)
    assert used(GBDTRegressor(**few), xgb_model=first)["grow_policy"] == "depthwise"
    resumed = GBDTRegressor(callbacks=[TrainingCheckPoint(tmp_path)], **few)
    assert used(resumed)["grow_policy"] == "depthwise"


@pytest.mark.parametrize(
    ("preset", "message"),
    [
        ("balance", "unknown preset 'balance'; did you mean 'balanced'"),
        (3, "preset=3: expected one of .*balanced"),
        ("qqq", "unknown preset 'qqq': expected one of"),
    ],
)
def test_presets_that_are_not_there(preset, message):
    with pytest.raises(ParameterError, match=message):
        GBDTRegressor(preset=preset).fit(X, Y)
