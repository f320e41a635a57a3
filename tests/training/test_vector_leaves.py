"""Trees whose leaves are vectors: the bits of the twin, for losses of several outputs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import pyopencl_gbdt as gbdt
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.errors import MemoryPlanError, ParameterError
from pyopencl_gbdt.numerics.portable_math import ordered
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.fit import Fit
from pyopencl_gbdt.training.memory_estimate import estimate_memory
from tests.beside_twin import trained_as_twin
from tests.conftest import TEST_DEVICE
from tests.reference.renew_leaves import residuals

PARAMS = {
    "multi_strategy": "multi_output_tree", "max_depth": 3, "n_estimators": 2, "max_bin": 16,
    "device": TEST_DEVICE, "verbosity": 0,
}  # fmt: skip
RNG = np.random.default_rng(4)
X = RNG.normal(size=(400, 5)).astype(np.float32)
X[RNG.random(X.shape) < 0.1] = np.nan
FILLED = np.nan_to_num(X)
TARGETS = np.stack([FILLED[:, 0], 1e3 * FILLED[:, 1] * FILLED[:, 2], FILLED[:, 3] / 64], 1)
TARGETS = TARGETS.astype(np.float32)
CLASSES = np.digitize(FILLED[:, 0] + FILLED[:, 1], [-0.5, 0.2, 1]).astype(np.float32)
SOFTPROB = {"objective": "multi:softprob", "num_class": 4}
RISES = {"monotone_constraints": (1, -1, 0, 1, 0)}
LEAF_WISE = {"grow_policy": "lossguide", "max_leaves": 12, "max_depth": 0}
WEIGHTS = RNG.integers(0, 4, 400).astype(np.float32)
#: Parameters, labels and weights.
KINDS = {
    "targets": ({}, TARGETS, None),
    "weights": ({}, TARGETS, WEIGHTS),
    "classes": (SOFTPROB, CLASSES, None),
    "light sides": ({**SOFTPROB, "min_child_weight": 8.0}, CLASSES, None),
    "regularised": ({"reg_alpha": 3.0, "reg_lambda": 7.0, "gamma": 2.0}, TARGETS, None),
    "clipped": ({"max_delta_step": 0.5}, TARGETS, None),
    "sampled columns": ({"colsample_bynode": 0.6, "colsample_bytree": 0.8}, TARGETS, None),
    "sampled rows": ({"subsample": 0.5}, TARGETS, None),
    "least rows": ({**SOFTPROB, "min_samples_leaf": 30}, CLASSES, None),
    "forests": (
        {**SOFTPROB, "num_parallel_tree": 2, "subsample": 0.6, "colsample_bylevel": 0.7}, CLASSES,
        None,
    ),
    "tiled": ({"page": "tiled"}, TARGETS, None),
    "symmetric": ({**SOFTPROB, "grow_policy": "symmetric"}, CLASSES, None),
    "symmetric targets": ({"grow_policy": "symmetric", "min_child_weight": 30.0}, TARGETS, WEIGHTS),
    "symmetric forests": (
        {"grow_policy": "symmetric", "num_parallel_tree": 2, "subsample": 0.6,
         "colsample_bytree": 0.7, "max_depth": 4}, TARGETS, None,
    ),
    "few leaves": ({"max_leaves": 6, "max_depth": 4, "reg_lambda": 9.0}, TARGETS, WEIGHTS),
    "leaf by leaf": ({**SOFTPROB, **LEAF_WISE, "min_child_weight": 8.0}, CLASSES, None),
    "leaf by leaf, targets": (
        {**LEAF_WISE, "max_depth": 5, "reg_alpha": 2.0, "colsample_bynode": 0.7}, TARGETS, WEIGHTS
    ),
    "leaf by leaf, forests": (
        {**SOFTPROB, **LEAF_WISE, "num_parallel_tree": 2, "subsample": 0.6, "min_samples_leaf": 9},
        CLASSES, None,
    ),
    "exact": ({"tree_method": "exact", "max_bin": 256}, TARGETS, None),
    "exact, leaf by leaf": (
        {"tree_method": "exact", "max_bin": 256, **SOFTPROB, **LEAF_WISE,
         "colsample_bynode": 0.7}, CLASSES, WEIGHTS,
    ),
    "monotone": ({**RISES, "min_child_weight": 8.0, "max_depth": 4}, TARGETS, WEIGHTS),
    "monotone, leaf by leaf": (
        {**RISES, **LEAF_WISE, **SOFTPROB, "min_child_weight": 4.0}, CLASSES, None
    ),
    "monotone, symmetric": (
        {**RISES, "grow_policy": "symmetric", "reg_alpha": 0.5, "min_child_weight": 30.0}, TARGETS,
        None,
    ),
    "rows by gradients": ({"sampling_method": "gradient_based", "subsample": 0.4}, TARGETS, None),
    "rows by gradients, classes": (
        {**SOFTPROB, "sampling_method": "gradient_based", "subsample": 0.5, "reg_lambda": 3.0,
         "num_parallel_tree": 2}, CLASSES, WEIGHTS,
    ),
    "goss": (
        {**SOFTPROB, "sampling_method": "goss", "top_rate": 0.2, "other_rate": 0.3,
         "learning_rate": 1.0}, CLASSES, WEIGHTS,
    ),
    "leaf by leaf, quantiles": (
        {**LEAF_WISE, "objective": "reg:quantileerror", "quantile_alpha": [0.2, 0.7]},
        TARGETS[:, 0], None,
    ),
    "no column at all": ({}, np.zeros((400, 3), np.float32), None),
    "one output is 0": ({}, TARGETS * np.float32([1, 0, 1]), None),
    "quantiles": (
        {"objective": "reg:quantileerror", "quantile_alpha": [0.2, 0.7]}, TARGETS[:, 0], None
    ),
    "missing of all": ({"max_depth": 5, "min_child_weight": 0.0}, TARGETS[:, :2], None),
}  # fmt: skip


@pytest.mark.few(3)
@pytest.mark.more(8)
@pytest.mark.parametrize("kind", KINDS)
def test_bits_are_those_of_the_twin(kind):
    given, y, weight = KINDS[kind]
    found = trained_as_twin({**PARAMS, **given}, X, y, weight).ensemble
    assert found.leaves.name == "vectors"


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "kind", ["rows by gradients", "goss", "leaf by leaf", "monotone, symmetric", "light sides"]
)
def test_ordered_boosting_gives_the_bits_of_the_twin(kind):
    given, y, weight = KINDS[kind]
    ordered = {"boosting_type": "ordered", "permutation_count": 2}
    trained_as_twin({**PARAMS, **given, **ordered}, X, y, weight)


@pytest.mark.parametrize("kind", ["quantiles", "leaf by leaf, quantiles"])
def test_each_output_keeps_the_residuals_of_its_own(monkeypatch, device, kind):
    """Outputs share the lists of rows; work-items select the quantiles of both at once.

    Selection drops keys and keeps others twice, so that a key is one of its output's residuals.
    """
    monkeypatch.setattr("pyopencl_gbdt.growth.renew_leaves.LEAST_NODES", 0)
    given, y, _ = KINDS[kind]
    params = Parameters.from_dict({**PARAMS, **given})
    fit = Fit(device, params, get_objective(params.objective, params), gbdt.Dataset(X, y), 0.0)
    margins = fit.parts.arena["margins"].get().reshape(2, -1)
    for launch in itertools.chain(*fit.kernels.batches(joined=False)):
        launch()
    keys = fit.parts.arena["renew_key"].get().reshape(2, -1)
    for own, margin in zip(keys, margins, strict=True):
        assert np.isin(own, ordered(residuals(y, margin))).all()


def test_exact_search_needs_a_bin_for_every_value(monkeypatch):
    given = {**PARAMS, "tree_method": "exact", "max_bin": 256}
    sparse = csr_matrix(np.where(FILLED > 0.2, X, np.float32(0)))
    assert gbdt.train(given, gbdt.Dataset(sparse, TARGETS)).variants["page"] == "tiled"
    monkeypatch.setattr("pyopencl_gbdt.training.split_search.MOST_BINS", 50)
    with pytest.raises(ParameterError, match="column 0, counted from 0, has 50 distinct values or"):
        gbdt.train(given, gbdt.Dataset(X, TARGETS))


def test_a_model_is_continued_and_watched():
    """Rounds in two trainings are those of one, and so are the margins of an evaluation set."""
    data = gbdt.Dataset(X, TARGETS)
    whole = gbdt.train({**PARAMS, "n_estimators": 4}, data, evals=[(data, "rows")])
    first = gbdt.train({**PARAMS, "n_estimators": 2}, data)
    both = gbdt.train({**PARAMS, "n_estimators": 2}, data, model=first, evals=[(data, "rows")])
    assert both.ensemble == whole.ensemble
    assert both.history["rows"]["rmse"] == whole.history["rows"]["rmse"][2:]
    error = np.sqrt(np.mean((whole.predict(X, device=TEST_DEVICE) - TARGETS) ** 2))
    assert abs(whole.history["rows"]["rmse"][-1] - error) < 1e-4 * error


def test_a_model_whose_outputs_split_apart_is_continued():
    """Vectors are split into a tree for each output, and predict what the whole model does."""
    data = gbdt.Dataset(X, TARGETS)
    few = {**PARAMS, "n_estimators": 1}
    first = gbdt.train({**few, "multi_strategy": "one_output_per_tree"}, data)
    both = gbdt.train(few, data, model=first, evals=[(data, "rows")])
    again = gbdt.train(few, data, model=both)
    n = TARGETS.shape[1]
    assert [one.ensemble.leaves.name for one in (both, again)] == ["numbers"] * 2
    assert [len(one.ensemble.trees) for one in (first, both, again)] == [n, 2 * n, 3 * n]
    assert both.ensemble.trees[:n] == first.ensemble.trees
    splits = [tree.threshold.tolist() for tree in both.ensemble.trees[n:]]
    assert splits == splits[:1] * n
    error = np.sqrt(np.mean((both.predict(X, device=TEST_DEVICE) - TARGETS) ** 2))
    assert abs(both.history["rows"]["rmse"][-1] - error) < 1e-4 * error


def test_one_output_has_leaves_of_numbers():
    y = np.nan_to_num(X[:, 0])
    plain = gbdt.train({**PARAMS, "multi_strategy": "one_output_per_tree"}, gbdt.Dataset(X, y))
    assert gbdt.train(PARAMS, gbdt.Dataset(X, y)).ensemble == plain.ensemble


@pytest.mark.thorough
def test_trees_of_too_many_rows_together_are_refused():
    params = {"objective": "multi:softprob", "num_class": 100, "max_depth": 3, "max_bin": 16}
    many = Parameters.from_dict({**params, "multi_strategy": "multi_output_tree"})
    words = "100 trees at a time of 50000000 rows each: expected at most 4096 trees, and 4294901760"
    with pytest.raises(ParameterError, match=words):
        estimate_memory(open_device(TEST_DEVICE), many, 50_000_000, 4)


def test_a_fit_that_needs_too_much_names_what_helps():
    label = RNG.normal(size=(60, 400)).astype(np.float32)
    given = {**PARAMS, "max_depth": 16, "max_bin": 65535, "device_memory": 100_000_000}
    with pytest.raises(MemoryPlanError, match="or max_bin, leave out multi_strategy, or use fewer"):
        gbdt.train(given, gbdt.Dataset(X[:60], label))
