"""Subclasses of the estimators, with constructors of their own."""

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from pyopencl_gbdt import (
    GBDTClassifier,
    GBDTRandomForestRegressor,
    GBDTRanker,
    GBDTRegressor,
)
from pyopencl_gbdt.errors import ParameterError
from tests.conftest import TEST_DEVICE

RNG = np.random.default_rng(5)
X = RNG.standard_normal((120, 4)).astype(np.float32)
Y = (X[:, 0] * X[:, 1] + X[:, 2]).astype(np.float32)
LABEL = np.where(Y > 0, "yes", "no")


class Short(GBDTRegressor):
    """Has one parameter, and sets others by itself."""

    def __init__(self, n_estimators=3):
        super().__init__(
            n_estimators=n_estimators, learning_rate=0.01, max_depth=2, device=TEST_DEVICE
        )


class Wide(GBDTRegressor):
    """Hands everything on, beside a parameter of its own."""

    def __init__(self, shift=0.0, **kw):
        super().__init__(**kw)
        self.shift = shift

    def fit(self, X, y, **options):
        return super().fit(X, y + self.shift, **options)


class Fixed(GBDTRegressor):
    """Hands everything on, and sets one parameter by itself."""

    def __init__(self, **kw):
        super().__init__(max_depth=2, **kw)


class Renamed(GBDTRegressor):
    """Names a parameter by XGBoost's alias."""

    def __init__(self, eta=0.05, n_estimators=2):
        super().__init__(eta=eta, n_estimators=n_estimators, device=TEST_DEVICE)


class ShortClassifier(GBDTClassifier):
    def __init__(self, max_depth=2):
        super().__init__(
            n_estimators=3, max_depth=max_depth, class_weight="balanced", device=TEST_DEVICE
        )


class ShortForest(GBDTRandomForestRegressor):
    def __init__(self, n_estimators=3):
        super().__init__(n_estimators=n_estimators, max_depth=2, device=TEST_DEVICE)


class ShortRanker(GBDTRanker):
    def __init__(self, max_depth=2):
        super().__init__(n_estimators=3, max_depth=max_depth, device=TEST_DEVICE)


def trained(**params):
    return GBDTRegressor(device=TEST_DEVICE, **params).fit(X, Y).model_.ensemble


def test_what_a_short_constructor_sets_is_trained_with():
    wanted = trained(n_estimators=3, learning_rate=0.01, max_depth=2)
    assert Short().fit(X, Y).model_.ensemble == wanted
    assert Short().get_params() == {"n_estimators": 3}
    assert repr(Short(2)) == "Short(n_estimators=2)"
    assert list(inspect.signature(Short).parameters) == ["n_estimators"]
    with pytest.raises(TypeError, match="learning_rate"):
        Short(learning_rate=0.5)


def test_what_is_set_later_too():
    wanted = trained(n_estimators=3, learning_rate=0.5, max_depth=2)
    later = Short().set_params(learning_rate=0.5)
    assert later.fit(X, Y).model_.ensemble == wanted
    assert Short().set_params(eta=0.5).fit(X, Y).model_.ensemble == wanted
    by_hand = Short()
    by_hand.learning_rate = 0.5
    for estimator in (later, by_hand):
        assert clone(estimator).fit(X, Y).model_.ensemble == wanted
        again = pickle.loads(pickle.dumps(estimator))
        assert again.fit(X, Y).model_.ensemble == wanted
    with pytest.raises(ParameterError, match="unknown parameter of Short 'lerning_rate'; did you"):
        later.set_params(n_estimators=9, lerning_rate=0.5)
    assert later.n_estimators == 3


def test_a_constructor_that_hands_on():
    wanted = trained(n_estimators=2, max_depth=3, learning_rate=0.5)
    given = {"n_estimators": 2, "max_depth": 3, "device": TEST_DEVICE}
    for rate in ({"learning_rate": 0.5}, {"eta": 0.5}):
        assert Wide(**given, **rate).fit(X, Y).model_.ensemble == wanted
    wide = Wide(shift=1.0, tree_method="hist", **given)
    params = wide.get_params()
    assert (params["shift"], params["n_estimators"], params["tree_method"]) == (1.0, 2, "hist")
    copy = clone(wide)
    assert copy.get_params() == params
    assert copy.fit(X, Y).model_.ensemble == wide.fit(X, Y).model_.ensemble
    assert copy.model_.ensemble.base_score > 0.9
    assert "n_estimators" in inspect.signature(Wide).parameters
    with pytest.raises(ParameterError, match="unknown parameter of Wide 'n_estimator'"):
        Wide(n_estimator=3)


def test_a_constructor_that_sets_what_it_hands_on():
    fixed = Fixed(n_estimators=2, device=TEST_DEVICE)
    wanted = trained(n_estimators=2, max_depth=2)
    assert fixed.fit(X, Y).model_.ensemble == wanted
    assert clone(fixed).fit(X, Y).model_.ensemble == wanted
    assert not hasattr(clone(fixed), "model_")
    changed = clone(fixed).set_params(max_depth=3)
    assert clone(changed).fit(X, Y).model_.ensemble == trained(n_estimators=2, max_depth=3)


def test_a_constructor_that_names_an_alias():
    renamed = Renamed()
    assert renamed.get_params() == {"eta": 0.05, "n_estimators": 2}
    assert renamed.fit(X, Y).model_.ensemble == trained(n_estimators=2, learning_rate=0.05)
    copy = clone(renamed.set_params(eta=0.5))
    assert copy.learning_rate == copy.eta == 0.5
    assert copy.fit(X, Y).model_.ensemble == trained(n_estimators=2, learning_rate=0.5)


@pytest.mark.few(3)
@pytest.mark.parametrize("kind", [Short, Wide, Fixed, Renamed, ShortForest])
def test_in_a_search(kind):
    given = {"device": TEST_DEVICE} if kind in (Wide, Fixed) else {}
    search = GridSearchCV(kind(**given), {"n_estimators": [1, 2], "max_depth": [1, 3]}, cv=2)
    search.fit(X, Y)
    best = search.best_estimator_
    assert {name: getattr(best, name) for name in search.best_params_} == search.best_params_
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert np.isfinite(cross_val_score(best, X, Y, cv=2)).all()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(best)).predict(X), best.predict(X))


def test_of_classifiers_forests_and_rankers():
    one = ShortClassifier().fit(X, LABEL)
    wanted = GBDTClassifier(
        n_estimators=3, max_depth=2, class_weight="balanced", device=TEST_DEVICE
    ).fit(X, LABEL)
    assert one.model_.ensemble == wanted.model_.ensemble
    assert clone(one).class_weight == "balanced"
    assert clone(one.set_params(class_weight=None)).class_weight is None
    forest = ShortForest().fit(X, Y)
    wanted = GBDTRandomForestRegressor(n_estimators=3, max_depth=2, device=TEST_DEVICE).fit(X, Y)
    assert forest.model_.ensemble == wanted.model_.ensemble
    assert forest.model_.ensemble.n_parallel == 3
    ranker = ShortRanker().fit(X, Y > 0, group=[60, 60])
    wanted = GBDTRanker(n_estimators=3, max_depth=2, device=TEST_DEVICE)
    assert ranker.model_.ensemble == wanted.fit(X, Y > 0, group=[60, 60]).model_.ensemble


def test_a_pickle_of_a_version_that_lacked_a_parameter():
    old = GBDTRegressor(n_estimators=1, device=TEST_DEVICE)
    del old.__dict__["fair_c"]
    assert pickle.loads(pickle.dumps(old)).fit(X, Y).model_.ensemble == trained(n_estimators=1)
