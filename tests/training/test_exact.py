"""``tree_method="exact"``: the model of ``hist`` with a bin for every distinct value."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.growth import recipe
from pyopencl_gbdt.model import to_xgboost_json
from tests.beside_twin import trained_as_twin
from tests.conftest import TEST_DEVICE
from tests.layouts.rows import GROWTH, LABELS, LOSSES, WEIGHT, N, X
from tests.switch_depth import switch_depth

WEIGHTS = {
    "unweighted": None,
    "weighted": WEIGHT,
    "rows without weight": np.where(WEIGHT < 0.3, 0, WEIGHT),
}
#: Rounds of sampling by gradient, of which the first ones of GOSS sample nothing.
GROWN = {
    name: given
    for name, given in GROWTH.items()
    if not given.keys() & {"histogram", "max_bin"} and name != "symmetric"  # by histograms alone
}


@pytest.fixture(autouse=True)
def _both_ways(device):
    """Leave entries in the data's order for a level; then they move."""
    with switch_depth(device.caps, 1, 256):
        yield


def model_of(data, **params):
    params = {"n_estimators": 3, "max_depth": 4, "device": TEST_DEVICE, **params}
    return to_xgboost_json(train(params, data).ensemble)


def assert_law(data, **params):
    """Exact search and histograms of all distinct values give the same file."""
    assert model_of(data, tree_method="exact", **params) == model_of(data, max_bin=2000, **params)


@pytest.mark.few(3)
@pytest.mark.more(10)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "weights",
    [
        "rows without weight",
        pytest.param("unweighted", marks=pytest.mark.thorough),
        pytest.param("weighted", marks=pytest.mark.thorough),
    ],
)
def test_every_loss(loss, weights):
    label, params = LOSSES[loss]
    extra = {"group": [300, N - 300]} if label == "grades" else {}
    weight = None if extra else WEIGHTS[weights]
    objective = loss.split(" ")[0]
    assert_law(Dataset(X, LABELS[label], weight, **extra), objective=objective, **params)


@pytest.mark.few(3)
@pytest.mark.parametrize("name", GROWN)
def test_every_way_of_growing(name):
    assert_law(Dataset(X, LABELS["number"], WEIGHT), **GROWN[name])


def test_large_quanta_and_the_twin():
    label = LABELS["number"].copy()
    label[7] = 1e9  # one gradient that needs its high word
    params = {"tree_method": "exact", "n_estimators": 2, "max_depth": 3, "reg_alpha": 0.2}
    trained_as_twin(params, X, label, WEIGHT)


def test_a_data_set_keeps_its_columns_for_the_next_fit():
    data = Dataset(X, LABELS["number"])
    first = model_of(data, tree_method="exact")
    kept = data.kept
    assert model_of(data, tree_method="exact") == first
    assert data.kept is kept
    assert model_of(data, max_bin=2000) == first
    assert data.kept is not kept


def test_variants_name_the_kernels_of_the_search(monkeypatch):
    params = {"n_estimators": 1, "device": TEST_DEVICE, "tree_method": "exact"}
    for enough, kernels in ((10**9, {"exact", "columns"}), (0, {"column_search"})):
        monkeypatch.setattr(recipe, "COLUMNS_PER_UNIT", enough)
        one = {"work_group_size": 1}
        variants = train({**params, **one}, Dataset(X, LABELS["number"])).variants
        assert {*kernels, "row_nodes"} <= variants.keys()
        assert "histogram" not in variants


#: What a walk along whole columns has to do with: several trees, masks, sampling, wide quanta.
WALKED: dict[str, dict[str, Any]] = {
    "sampled forest": {"num_parallel_tree": 2, "subsample": 0.6, "colsample_bynode": 0.5},
    "bounded leaves": {"max_leaves": 6, "max_delta_step": 0.4, "min_child_weight": 3},
    "absolute error": {"objective": "reg:absoluteerror", "min_child_weight": 0},
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", WALKED)
def test_walks_along_columns_grow_the_same_trees(name, monkeypatch):
    label = LABELS["number"].copy()
    label[7] = 1e9  # one gradient that needs its high word
    data = Dataset(X, label, WEIGHTS["rows without weight"])
    found = []
    for enough in (10**9, 0):
        monkeypatch.setattr(recipe, "COLUMNS_PER_UNIT", enough)
        found.append(model_of(data, tree_method="exact", work_group_size=1, **WALKED[name]))
    assert found[0] == found[1]


@pytest.mark.parametrize("hessian", [1e-20, 1e-30])
def test_every_search_finds_the_splits_of_tiny_hessians(hessian, monkeypatch):
    """A lambda of 1 is then above 2^64 units, and products of two denominators overflow."""
    rng = np.random.default_rng(0)
    values = np.where(
        np.arange(8) % 3 > 0, rng.integers(0, 2, (3000, 8)), rng.normal(size=(3000, 8))
    )
    label = 3 * values[:, 1] + values[:, 0] + 2 * values[:, 4]

    def loss(margin, data):
        return (margin - label).astype(np.float32), np.full(3000, hessian, np.float32)

    params = {"min_child_weight": 0, "max_depth": 3, "base_score": 0.0, "device": TEST_DEVICE}
    data, found = Dataset(values.astype(np.float32), label), []
    for enough in (10**9, 0):
        monkeypatch.setattr(recipe, "COLUMNS_PER_UNIT", enough)
        exactly = {**params, "tree_method": "exact", "work_group_size": 1}
        found.append(to_xgboost_json(train(exactly, data, 2, obj=loss).ensemble))
    assert found[0] == found[1]
    assert len(train(exactly, data, 1, obj=loss).ensemble.trees[0].left) > 7


#: What changes what the interleaved kernels do; more work-items than one are the GPUs' way.
INTERLEAVED = {
    "plain": {},
    "work-groups": {"work_group_size": 64, "min_child_weight": 0},
    "classes, forests": {
        "objective": "multi:softprob", "num_class": 3, "num_parallel_tree": 2, "subsample": 0.6,
    },
    "few leaves": {"max_leaves": 9, "colsample_bynode": 0.6, "monotone_constraints": [1, 0, -1]},
    "approx": {"tree_method": "approx", "max_bin": 20},
    "approx, local": {"tree_method": "approx", "proposal": "local"},
    "leaf by leaf": {"grow_policy": "lossguide", "max_leaves": 6, "max_depth": 0},
}  # fmt: skip


@pytest.mark.more(2)
@pytest.mark.parametrize(
    "name",
    [
        name if name in ("plain", "few leaves") else pytest.param(name, marks=pytest.mark.thorough)
        for name in INTERLEAVED
    ],
)
def test_the_depth_to_which_entries_stay_changes_no_byte(device, name):
    params = {"tree_method": "exact", "n_estimators": 2, **INTERLEAVED[name]}
    if "monotone_constraints" in params:
        params["monotone_constraints"] = [1, 0, -1, *[0] * (X.shape[1] - 3)]
    label = LABELS["classes"] if "num_class" in params else LABELS["number"].copy()
    if name == "plain":
        label[7] = 1e9  # one gradient that needs its high word
    data = Dataset(X, label, WEIGHT)
    with switch_depth(device.caps, 0):
        wanted = model_of(data, **params)
    for depth in (1, 2, 6):  # the last: entries never move
        with switch_depth(device.caps, depth, 128):
            assert model_of(data, **params) == wanted, depth


def test_a_column_of_more_values_than_batches_may_have():
    values = np.arange(70_000, dtype=np.float32)[:, None]
    params = {"tree_method": "exact", "max_depth": 1, "n_estimators": 1, "device": TEST_DEVICE}
    model = train(params, Dataset(values, values[:, 0] > 65_535.5))
    assert model.ensemble.trees[0].threshold[0] == 65_535.5
