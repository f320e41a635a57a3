"""Trees that gather the columns of their levels are those of masks, and the list is the twin's."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import choose, open_device
from pyopencl_gbdt.device.switches import LEVEL_COLUMNS
from pyopencl_gbdt.device.variants.tuning import Choice, using
from pyopencl_gbdt.fit.ways import gathered_columns, gathers_columns, gathers_levels
from pyopencl_gbdt.growth import recipe
from pyopencl_gbdt.model import to_json
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.fit import Fit
from tests.conftest import TEST_DEVICE
from tests.reference import level_columns

N, FEATURES = 900, 70
RNG = np.random.default_rng(3)
X = RNG.standard_normal((N, FEATURES)).astype(np.float32)
X[:, ::3] = np.round(X[:, ::3])
X[RNG.random(X.shape) < 0.1] = np.nan
Y = np.nan_to_num(X[:, :20].sum(axis=1) + X[:, 0] * X[:, 1]).astype(np.float32)
WEIGHTS = RNG.random(FEATURES).astype(np.float32) + 0.1
FEW = np.digitize(X, [-1, 0, 1]).astype(np.float32)
LEVELS = {"colsample_bylevel": 0.1}
#: Data and parameters: all that may draw besides, codes of two bytes and of few values.
CASES = {
    "levels": (Dataset(X, Y), LEVELS),
    "all": (
        Dataset(X, Y, feature_weights=WEIGHTS),
        {"colsample_bytree": 0.8, "colsample_bylevel": 0.15, "colsample_bynode": 0.5},
    ),
    "paths": (
        Dataset(FEW, Y),
        {**LEVELS, "interaction_constraints": [[*range(40)], [*range(30, FEATURES)]]},
    ),
    "ties": (Dataset(np.tile(FEW[:, :10], 7), Y), {"colsample_bylevel": 0.2}),
    "wide_codes": (Dataset(X, Y), {**LEVELS, "max_bin": 400, "monotone_constraints": "(1,0,-1)"}),
    "forest": (
        Dataset(FEW, Y), {"colsample_bylevel": 0.06, "num_parallel_tree": 4, "subsample": 0.5}
    ),
    "noise": (Dataset(X, Y), {**LEVELS, "random_strength": 1}),
    "random_borders": (Dataset(X, Y), {**LEVELS, "extra_trees": True, "max_leaves": 9}),
}  # fmt: skip
THOROUGH = {"test_the_model_is_that_of_masks": lambda kernels, case: case not in ("all", "ties")}
#: Kernels of the device, and those of GPUs.
KERNELS = ["", "gpu"]


@pytest.fixture(autouse=True)
def kernels(request, monkeypatch):
    monkeypatch.setattr(recipe, "MOST_WHOLE_ROWS", 0)
    if getattr(request, "param", ""):
        monkeypatch.setenv("PYOPENCL_GBDT_PRETEND", request.param)


def open_fit(data, **params):
    p = Parameters.from_dict({"max_depth": 4, "max_bin": 16, **params})
    return Fit(open_device(TEST_DEVICE), p, get_objective(p.objective, p), data, 0.0)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kernels", KERNELS, indirect=True)
def test_the_model_is_that_of_masks(monkeypatch, device, case):
    data, params = CASES[case]
    given = {"device": TEST_DEVICE, "max_depth": 4, "max_bin": 64, **params}
    models = {}
    for word in ("on", "off"):
        monkeypatch.setenv(LEVEL_COLUMNS, word)
        models[word] = train(given, data, 3)
    assert "gather_columns" in models["on"].variants
    assert "gather_columns" not in models["off"].variants
    assert to_json(models["on"].ensemble) == to_json(models["off"].ensemble)


@pytest.mark.few(2)
@pytest.mark.parametrize("n_features", [FEATURES, 700])
@pytest.mark.parametrize("kernels", KERNELS, indirect=True)
def test_the_list_is_that_of_the_twin(monkeypatch, device, n_features):
    """Of three trees; some levels draw the same columns."""
    monkeypatch.setenv(LEVEL_COLUMNS, "on")
    draws = {"colsample_bytree": 0.9, "colsample_bylevel": 0.08, "max_depth": 3}
    data = np.tile(FEW, n_features // FEATURES)
    weights = np.tile(WEIGHTS, n_features // FEATURES)
    fitting = open_fit(Dataset(data, Y, feature_weights=weights), **draws, num_parallel_tree=3)
    fitting.run(2)
    drawn = fitting.parts.arena["drawn_columns"].get()
    assert drawn.shape == (3, 3 * int(0.08 * int(0.9 * n_features)))
    params = Parameters.from_dict(draws)
    for tree, found in enumerate(drawn):
        twin = level_columns.gathered(params, n_features, weights, (1, tree), drawn.shape[1])
        np.testing.assert_array_equal(found, twin)


def of_levels(percent):
    """Let trees gather the columns of levels that take at most this share of all histograms."""
    own = choose("gather_columns", open_device(TEST_DEVICE).caps)
    return using({"gather_columns": Choice(own.name, {**own.params, "levels": percent})})


def test_when_columns_of_levels_are_gathered(device):
    """At most so many of all, fewer than a tree has, and known before it grows."""
    for params, percent, n_columns in (
        (LEVELS, 40, 28),
        (LEVELS, 39, 0),
        ({**LEVELS, "max_depth": 10}, 100, 0),
        ({**LEVELS, "grow_policy": "lossguide", "max_leaves": 5}, 100, 0),
        ({"colsample_bynode": 0.05}, 100, 0),
        ({**LEVELS, "colsample_bytree": 0.3}, 100, 8),
        ({"colsample_bytree": 0.3, "colsample_bylevel": 0.5}, 100, 0),
    ):
        with of_levels(percent):
            facts = open_fit(Dataset(FEW, Y), **params).parts.ways.facts
            assert gathers_levels(facts) == (n_columns > 0), params
            if n_columns:
                assert gathers_columns(facts)
                assert gathered_columns(facts) == n_columns
