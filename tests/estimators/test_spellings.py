"""The estimators take XGBoost's other spellings, numbers as text, and what changes nothing."""

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from pyopencl_gbdt import (
    Dataset,
    GBDTClassifier,
    GBDTRandomForestClassifier,
    GBDTRandomForestRegressor,
    GBDTRanker,
    GBDTRegressor,
    train,
)
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.parameters.table import TABLE, XGBOOST_ONLY
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(5)
X = RNG.standard_normal((120, 4)).astype(np.float32)
Y = (X[:, 0] * X[:, 1] + X[:, 2]).astype(np.float32)
ESTIMATORS = (
    GBDTRegressor, GBDTClassifier, GBDTRanker, GBDTRandomForestRegressor,
    GBDTRandomForestClassifier,
)  # fmt: skip
ALIASES = [(alias, row.name) for row in TABLE for alias in row.aliases] + [("nthread", "n_jobs")]
OWN = inspect.signature(GBDTRegressor).parameters
#: What changes nothing, where it is no parameter of the estimators.
NEUTRAL = [(name, v) for name in sorted(XGBOOST_ONLY.keys() - OWN) for v in XGBOOST_ONLY[name]]


@pytest.mark.parametrize(("alias", "name"), ALIASES)
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_an_alias_sets_the_parameter(kind, alias, name):
    one = kind(**{alias: 2})
    assert getattr(one, name) == getattr(one, alias) == one.get_params()[name] == 2
    assert alias not in one.get_params()
    assert kind().set_params(**{alias: 2}).get_params()[name] == 2
    assert clone(one).get_params()[name] == 2
    assert getattr(pickle.loads(pickle.dumps(one)), alias) == 2
    assert repr(one) == repr(kind(**{name: 2}))


def test_what_an_alias_sets_is_trained_with():
    given = {"eta": 0.5, "num_boost_round": 2, "lambda": 3, "alpha": 0.1, "min_split_loss": 0.2,
             "seed": 7, "nthread": 1, "subsample": 0.5}  # fmt: skip
    wanted = train({**given, "device": TEST_DEVICE}, Dataset(X, Y)).ensemble
    plain = {"preset": "xgboost", "device": TEST_DEVICE}
    assert GBDTRegressor(**plain, **given).fit(X, Y).model_.ensemble == wanted
    assert GBDTRegressor(**plain).set_params(**given).fit(X, Y).model_.ensemble == wanted


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_two_spellings_are_refused(kind):
    for given in ({"learning_rate": 0.3, "eta": 0.1}, {"eta": 0.1, "learning_rate": 1.0}):
        words = "learning_rate and eta are two|eta and learning_rate are two"
        with pytest.raises(ParameterError, match=words):
            kind(**given)
        one = kind()
        with pytest.raises(ParameterError, match=words):
            one.set_params(max_depth=3, **given)
        assert one.max_depth is None
    assert kind(learning_rate=0.1, eta=0.1).learning_rate == 0.1


def test_two_spellings_from_a_subclass():
    class Twice(GBDTRegressor):
        def __init__(self):
            super().__init__(learning_rate=0.2, eta=0.1)

    with pytest.raises(ParameterError, match="learning_rate and eta are two spellings"):
        Twice()


def test_numbers_as_text():
    given = {"n_estimators": "2", "max_depth": "3", "learning_rate": "0.5", "random_state": "3"}
    text = clone(GBDTRegressor(device=TEST_DEVICE, **given))
    assert text.get_params()["max_depth"] == "3"
    plain = GBDTRegressor(n_estimators=2, max_depth=3, eta=0.5, seed=3, device=TEST_DEVICE)
    assert text.fit(X, Y).model_.ensemble == plain.fit(X, Y).model_.ensemble
    forest = GBDTRandomForestRegressor(n_estimators="2", device=TEST_DEVICE).fit(X, Y)
    assert forest.model_.ensemble.n_parallel == 2
    with pytest.raises(ParameterError, match="max_depth='deep': expected"):
        text.set_params(max_depth="deep").fit(X, Y)


@pytest.mark.parametrize(("name", "value"), NEUTRAL, ids=str)
def test_what_changes_nothing(name, value):
    plain = GBDTRegressor(n_estimators=1, device=TEST_DEVICE)
    one = GBDTRegressor(n_estimators=1, device=TEST_DEVICE, **{name: value})
    assert one.get_params()[name] is value
    assert name not in plain.get_params()
    assert clone(one).get_params()[name] == value
    assert plain.fit(X, Y).model_.ensemble == clone(one).fit(X, Y).model_.ensemble


def test_what_would_change_something_is_refused_by_fit():
    for given in ({"updater": "refresh"}, {"process_type": "update"}):
        (name,) = given
        one = GBDTRegressor(device=TEST_DEVICE, **given)  # as scikit-learn demands
        for late in (one, GBDTRegressor(device=TEST_DEVICE).set_params(**given)):
            with pytest.raises(
                ParameterError, match=f"^{name}=.*known from XGBoost, not supported"
            ):
                late.fit(X, Y)
            late.set_params(**{name: None}, n_estimators=1).fit(X, Y)


def test_in_a_search():
    grid = {"eta": [0.1, 0.5], "tree_method": ["hist"]}
    search = GridSearchCV(GBDTRegressor(n_estimators=2, device=TEST_DEVICE), grid, cv=2).fit(X, Y)
    assert search.best_estimator_.learning_rate == search.best_params_["eta"]


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_the_nearest_three_of_an_unknown_name(kind):
    words = rf"^unknown parameter of {kind.__name__} 'max_dept'; did you mean 'max_depth', '\w+' or"
    with pytest.raises(ParameterError, match=words) as first:
        kind(max_dept=3)
    with pytest.raises(ParameterError, match=words) as second:
        kind().set_params(max_dept=3)
    assert len(str(first.value)) == len(str(second.value)) < 150


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_what_an_estimator_has_by_another_name(kind):
    wrong = {"num_class": "leave it out, y has the classes"}
    if kind in (GBDTRandomForestRegressor, GBDTRandomForestClassifier):
        wrong["num_parallel_tree"] = "give n_estimators"
        assert "num_parallel_tree" not in inspect.signature(kind).parameters
        assert "num_parallel_tree" not in kind().get_params()
    for name, words in wrong.items():
        with pytest.raises(ParameterError, match=f"{name}: no parameter of .*{words}"):
            kind(**{name: 3})
        with pytest.raises(ParameterError, match=f"{name}: no parameter of .*{words}"):
            kind().set_params(**{name: 3})


def test_signatures_tell_the_parameters_and_their_defaults():
    for kind in ESTIMATORS:
        shown = inspect.signature(kind).parameters
        assert {*kind().get_params()} == {*shown}
        assert repr(kind()) == f"{kind.__name__}()"
        for name, value in kind().get_params().items():
            assert shown[name].default is value
    forest = inspect.signature(GBDTRandomForestRegressor).parameters
    assert (forest["learning_rate"].default, forest["reg_lambda"].default) == (1.0, 1e-5)
