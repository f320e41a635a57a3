"""CPUs build histograms of the features that a level's nodes, or those below, may split on."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.switches import LEVEL_COLUMNS
from pyopencl_gbdt.growth import open_columns, recipe
from pyopencl_gbdt.model import to_json, to_xgboost_json
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.fit import Fit
from tests.conftest import TEST_DEVICE
from tests.reference import feature_mask
from tests.training.test_team import TWO, in_pages

N, FEATURES, ROUNDS = 1500, 40, 3
RNG = np.random.default_rng(5)
X = RNG.standard_normal((N, FEATURES)).astype(np.float32)
X[:, ::3] = np.round(X[:, ::3])
X[RNG.random(X.shape) < 0.1] = np.nan
FIRSTS = np.nan_to_num(X[:, ::8])
Y = (FIRSTS.sum(axis=1) + FIRSTS[:, 0] * FIRSTS[:, 1] + RNG.standard_normal(N)).astype(np.float32)
WEIGHTS = RNG.random(FEATURES).astype(np.float32) + 0.1
FIVE = {"interaction_constraints": [[*range(i, i + 8)] for i in range(0, FEATURES, 8)]}
LEVELS = {"colsample_bylevel": 0.1}
#: Data and parameters; what tells the open features; features of a padded block of codes.
CASES = {
    "levels": (Dataset(X, Y, feature_weights=WEIGHTS), LEVELS),
    "groups": (Dataset(X, Y), FIVE),
    "leaf_wise": (
        Dataset(X, Y), {**FIVE, "grow_policy": "lossguide", "max_leaves": 12, "subsample": 0.5}
    ),
    "wide_codes": (Dataset(X, Y), {**LEVELS, "max_bin": 400, "monotone_constraints": "(1,0,-1)"}),
    "all": (
        Dataset(X, Y),
        {**FIVE, "colsample_bytree": 0.9, "colsample_bylevel": 0.2, "colsample_bynode": 0.5},
    ),
    "classes": (
        Dataset(X, np.digitize(Y, [-1, 1])),
        {**LEVELS, "objective": "multi:softprob", "num_class": 3, "random_strength": 1},
    ),
    "forest": (Dataset(X, Y), {**LEVELS, "num_parallel_tree": 3, "sampling_method": "goss"}),
    "trees_alone": (
        Dataset(X, Y), {"colsample_bytree": 0.2, "num_parallel_tree": 6, "extra_trees": True}
    ),
    "few": (
        Dataset(X[:, :9], Y), {"interaction_constraints": [[0, 1], [2, 3], [4, 5], [6, 7, 8]]}
    ),
}  # fmt: skip
THOROUGH = {
    "test_trees_are_those_of_all_histograms": lambda case: case not in ("levels", "groups", "all")
}


@pytest.fixture(autouse=True)
def _by_steps(monkeypatch):
    monkeypatch.setenv(LEVEL_COLUMNS, "off")  # or trees gather these columns
    monkeypatch.setattr(recipe, "MOST_WHOLE_ROWS", 0)
    monkeypatch.setattr(recipe, "MOST_BEST_FIRST_ROWS", 0)
    monkeypatch.setattr(recipe, "MOST_ROWS_A_LEAF", 0)


@pytest.fixture
def opened(device):
    """Skip devices whose histograms leave no features out."""
    if device.caps.kind != "cpu":
        pytest.skip("only CPUs' histograms leave features out")


def open_fit(data, **params):
    p = Parameters.from_dict({"max_depth": 4, "max_bin": 16, **params})
    return Fit(open_device(TEST_DEVICE), p, get_objective(p.objective, p), data, 0.0)


@pytest.mark.parametrize("case", CASES)
def test_trees_are_those_of_all_histograms(monkeypatch, opened, case):
    data, params = CASES[case]
    given = {"device": TEST_DEVICE, "max_depth": 4, "max_bin": 64, **params}
    made = []
    monkeypatch.setattr(
        open_columns, "open_columns_of", lambda parts: made.append(original(parts)) or made[-1]
    )
    of_open = train(given, data, ROUNDS)
    assert made[-1] is not None
    assert made[-1].by_level == ("colsample_bylevel" in params)
    monkeypatch.setattr(open_columns, "open_columns_of", lambda parts: None)
    assert to_xgboost_json(train(given, data, ROUNDS).ensemble) == to_xgboost_json(of_open.ensemble)


original = open_columns.open_columns_of


def test_open_features_of_levels_are_those_of_the_twin(opened):
    """Three trees at a time, with nodes that draw, too."""
    draws = {**LEVELS, "colsample_bytree": 0.9}
    data = Dataset(X, Y, feature_weights=WEIGHTS)
    fitting = open_fit(data, **draws, colsample_bynode=0.5, num_parallel_tree=3)
    fitting.run(2)
    bits = fitting.parts.arena["open_columns"].get().view(np.uint8)
    found = np.unpackbits(bits, axis=1, bitorder="little")[:, :FEATURES].reshape(4, 3, FEATURES)
    params = Parameters.from_dict(draws)
    for tree in range(3):
        drawn = [
            feature_mask.chosen(params, FEATURES, WEIGHTS, (1, tree), depth, 1 << depth)
            for depth in range(4)
        ]
        for depth in range(4):
            np.testing.assert_array_equal(found[depth, tree], np.any(drawn[depth:], axis=0))
    assert found[0].sum() > found[3].sum()


@pytest.mark.parametrize("params", [LEVELS, FIVE], ids=["levels", "groups"])
def test_histograms_have_no_sums_of_other_features(opened, params):
    """Of the last level, whose nodes are built from rows; a guard of work, not of time."""
    fitting = open_fit(Dataset(X, Y), **params)
    fitting.run(1)
    parts = fitting.parts
    arena, layout, depth = parts.arena, parts.features.layout, 3
    level, rows = arena["levels"].get()[depth], arena["allowed"].get()
    allowed = np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")
    nodes = arena["nodes"].get()[level["first"] :][: level["count"]]
    of_code = np.repeat(np.arange(FEATURES), np.diff(layout.feature_offset.astype(int)))
    built = [index for index, node in enumerate(nodes) if node["sibling_slot"] < 0]
    assert len(built) > 2
    for index in built:
        sums = arena["pool"].get()[nodes[index]["slot"]]
        is_open = allowed[index, of_code].astype(bool)
        assert not sums[~is_open].any()
        assert sums[is_open].any()
        assert is_open.mean() < 0.4


def test_what_opens_nothing(opened):
    """Draws of nodes, large draws of levels, forced splits."""
    forced = {"forced_splits": {"feature": 0, "threshold": 0.0}, **FIVE}
    for params in (
        {"colsample_bynode": 0.1}, {"colsample_bylevel": 0.8}, forced, {**LEVELS, "max_depth": 0,
        "grow_policy": "lossguide", "max_leaves": 5},
    ):  # fmt: skip
        fitting = open_fit(Dataset(X, Y), **params)
        assert open_columns.open_columns_of(fitting.parts) is None
    assert open_columns.open_columns_of(open_fit(Dataset(X, Y), **FIVE).parts) is not None


@pytest.mark.parametrize("params", [LEVELS, FIVE], ids=["levels", "groups"])
@pytest.mark.usefixtures("devices_named_twice", "opened")
def test_members_whose_rows_lie_in_pages(monkeypatch, params):
    """Histograms of a node are added up from four pages."""
    given = {**params, "n_estimators": ROUNDS, "max_depth": 4, "max_bin": 16}
    alone = train({**given, "device": TEST_DEVICE}, Dataset(X, Y))
    bounds = [(0, 600), (600, N)]
    text, _ = in_pages(monkeypatch, TWO, given, Dataset(X, Y), bounds, 2)
    assert text == to_json(alone.ensemble)
