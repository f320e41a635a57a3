"""The states of models in pickles and in files of skops, which are checked as files are."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from pyopencl_gbdt import GBDTClassifier, GBDTRegressor
from pyopencl_gbdt.errors import ModelFormatError
from pyopencl_gbdt.model import Ensemble
from pyopencl_gbdt.model.tree import Tree
from tests.conftest import TEST_DEVICE
from tests.model.format_kinds import KINDS
from tests.model.samples import make_ensemble, make_rows


def unpickled(state: dict) -> Ensemble:
    made = object.__new__(Ensemble)
    made.__setstate__(state)
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_pickles_hold_every_model(kind):
    ensemble = KINDS[kind]()
    for again in (pickle.loads(pickle.dumps(ensemble)), copy.copy(ensemble)):
        assert again == ensemble
    assert unpickled(dict(vars(ensemble))) == ensemble  # older pickles: a list of trees


def test_numbers_of_nodes_in_a_file_stay():
    trees = [make_ensemble([2]).trees[0] for _ in range(2)]
    trees[1].numbered_in_file([0, 2, 1, 3, 4])
    ensemble = make_ensemble([], trees=trees)
    for again in (copy.deepcopy(ensemble), unpickled(dict(vars(ensemble)))):
        assert again.trees[0].file_numbers is None
        assert again.trees[1].file_numbers.tolist() == [0, 2, 1, 3, 4]


LIES = {
    "feature": (4, "features of nodes 0..3"),
    "split_kind": (2, "kinds of splits 0 or 1"),
    "value": (np.inf, "finite numbers in value, but that of node 0 is inf"),
    "sizes": (2, "trees of a node or more, 8 in all"),
    "default_left": (None, "default_left to be an array of bool"),
}


@pytest.mark.parametrize("name", LIES)
def test_states_that_lie(name):
    value, words = LIES[name]
    state = make_ensemble([2, 1]).__getstate__()
    state["trees"][name] = state["trees"][name].copy() if value is not None else np.zeros(8)
    if value is not None:
        state["trees"][name][0] = value
    with pytest.raises(ModelFormatError, match=f"^trees: expected {words}"):
        unpickled(state)


def test_an_older_state_is_checked_too():
    ensemble = make_ensemble([2])
    wrong = Tree.trusted(**{**vars(ensemble.trees[0]), "left": np.full(5, 4, np.int32)})
    with pytest.raises(ModelFormatError, match=r"tree\.left"):
        unpickled({**vars(ensemble), "trees": [wrong]})


#: What a user has to trust; the first two hold the arrays, the others levels and statistics.
OF_MODELS = {"pyopencl_gbdt.model.ensemble.Ensemble", "pyopencl_gbdt.prediction.model.Model"}
OF_CATEGORIES = {
    "pyopencl_gbdt.model.combinations.Part",
    "pyopencl_gbdt.model.statistics.LevelTable",
    "pyopencl_gbdt.model.statistics.Statistics",
    "pyopencl_gbdt.data.categories.levels.Levels",
}


def test_skops_stores_estimators_without_pickle():
    skops = pytest.importorskip("skops.io", reason="needs skops")
    X = make_rows(80)
    labels = np.where(np.nan_to_num(X[:, 0]) > 0, "yes", "no")
    fitted = GBDTClassifier(n_estimators=3, max_depth=2, device=TEST_DEVICE).fit(X, labels)
    data = skops.dumps(fitted)
    of_estimators = "pyopencl_gbdt.estimators.gradient_boosting.GBDTClassifier"
    assert set(skops.get_untrusted_types(data=data)) == {*OF_MODELS, of_estimators}
    again = skops.loads(data, trusted=[*OF_MODELS, of_estimators])
    assert again.model_.ensemble == fitted.model_.ensemble
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert again.predict(X).tolist() == fitted.predict(X).tolist()


def test_skops_stores_levels_and_statistics():
    skops = pytest.importorskip("skops.io", reason="needs skops")
    rng = np.random.default_rng(0)
    town = rng.choice(list("abcdefghijklmnopqrstuvwxyz"), 200)
    frame = pd.DataFrame({"town": town, "n": rng.normal(size=200)})
    fitted = GBDTRegressor(n_estimators=2, max_depth=2, device=TEST_DEVICE).fit(frame, frame["n"])
    data = skops.dumps(fitted)
    found = set(skops.get_untrusted_types(data=data))
    assert found - OF_MODELS - OF_CATEGORIES == {
        "pyopencl_gbdt.estimators.gradient_boosting.GBDTRegressor"
    }
    again = skops.loads(data, trusted=sorted(found))
    np.testing.assert_array_equal(again.predict(frame), fitted.predict(frame))
