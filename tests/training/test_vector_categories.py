"""Trees whose leaves are vectors, on categorical columns: the bits of the twin."""

import functools

import numpy as np
import pytest
import xgboost

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.callbacks import TrainingCheckPoint
from pyopencl_gbdt.categories.statistic_columns import replace_by_statistics
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.model import from_xgboost_json, to_json, to_xgboost_json
from pyopencl_gbdt.model.leaf_kinds import with_vectors
from pyopencl_gbdt.model.tree import CATEGORY_SPLIT
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.category_offers import STATISTICS
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.fit import Fit
from tests.beside_twin import trained_as_twin
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE
from tests.reference.train import train_reference
from tests.training.test_category_splits import device_as
from tests.xgboost_versions import KEEPS_SETS_OF_VECTORS

N_CLASSES, LEVELS = 3, [1, 2]
PARAMS = {
    "multi_strategy": "multi_output_tree", "objective": "multi:softprob", "num_class": N_CLASSES,
    "max_depth": 3, "n_estimators": 2, "max_bin": 32, "device": TEST_DEVICE, "verbosity": 0,
}  # fmt: skip
RNG = np.random.default_rng(6)
X = RNG.normal(size=(500, 4)).astype(np.float32)
X[:, 1], X[:, 2] = RNG.integers(0, 3, 500), np.minimum(RNG.zipf(1.4, 500) - 1, 30)
EFFECT = RNG.normal(size=(31, 2))
PLACE = X[:, 2].astype(int)
Y = np.digitize(EFFECT[PLACE, 0] + X[:, 1] + X[:, 0] / 2, [0.2, 1.4]).astype(np.float32)
TARGETS = (EFFECT[PLACE] + X[:, [0, 1]] * [[1, 2]]).astype(np.float32)
X[RNG.random(500) < 0.05, 2] = np.nan


def rows(label=Y):
    return Dataset(X, label, categorical_features=LEVELS)


@pytest.mark.few(1)
@pytest.mark.parametrize("more", [{}, {"grow_policy": "lossguide", "max_leaves": 7}])
def test_statistics_are_columns_of_the_twin(more):
    given = {
        **PARAMS, "cat_method": "statistics", "permutation_count": 1, "max_ctr_complexity": 1,
        "base_score": 0.5, **more,
    }  # fmt: skip
    model = train(given, rows())
    found = model.ensemble
    assert found.leaves.name == "vectors"
    params = Parameters.from_dict(given)
    offers = dict.fromkeys(LEVELS, STATISTICS)
    made = replace_by_statistics(params, rows(), offers, open_device(TEST_DEVICE))
    assert found.trees == train_reference(params, made.data.values, made.data.label).trees
    assert (np.concatenate([tree.feature for tree in found.trees]) >= X.shape[1]).any()
    assert set(np.flatnonzero(model.feature_importances())) > set(LEVELS)


@pytest.mark.few(1)
@pytest.mark.parametrize("more", [{}, {"sketch": 2}])
def test_trainings_with_statistics_resume_to_the_same_bytes(more, tmp_path):
    """Orders take turns, leaves have values of the next one, and pairs of columns are chosen."""
    given = {**PARAMS, "cat_method": "statistics", "max_ctr_complexity": 2, **more}
    whole = train(given, rows(), 10, evals=[(rows(), "rows")])
    saver = {"callbacks": [TrainingCheckPoint(tmp_path, interval=6)]}
    for n_rounds in (6, 10):
        resumed = train(given, rows(), n_rounds, evals=[(rows(), "rows")], **saver)
    assert len(whole.ensemble.statistics.tables) > len(LEVELS)
    assert to_json(resumed.ensemble) == to_json(whole.ensemble)
    assert resumed.history == whole.history
    chance = whole.predict(X, device=TEST_DEVICE)[np.arange(Y.size), Y.astype(int)]
    assert -np.log(chance).mean() == pytest.approx(whole.history["rows"]["mlogloss"][-1], rel=1e-5)


SETS = {**PARAMS, "cat_method": "sets"}
TARGET = {"objective": "reg:squarederror", "num_class": 0}
LOSSGUIDE = {"grow_policy": "lossguide", "max_leaves": 7}
#: Parameters and labels.
CASES = {
    "classes": ({}, Y),
    "targets": (TARGET, TARGETS),
    "one level of many": ({"max_cat_to_onehot": 50}, Y),
    "leaf by leaf": (LOSSGUIDE, Y),
    "leaf by leaf, targets": ({**LOSSGUIDE, **TARGET, "reg_alpha": 1.0}, TARGETS),
    "symmetric": ({"grow_policy": "symmetric"}, Y),
    "forests": ({"num_parallel_tree": 2, "subsample": 0.6, "colsample_bynode": 0.7}, Y),
    "smoothed": (
        {"min_samples_leaf": 12, "cat_smooth": 3, "cat_l2": 5, "max_cat_threshold": 4,
         "min_data_per_group": 30}, Y,
    ),
    "monotone": ({"monotone_constraints": (1, 0, 0, -1), "min_child_weight": 4}, Y),
    "ordered": ({"boosting_type": "ordered"}, Y),
    "steps": ({"leaf_estimation_iterations": 3}, Y),
    "small steps": ({"max_delta_step": 0.2, "reg_lambda": 0.0}, Y),
    "sketches": ({"sketch": 2}, Y),
    "sketches, leaf by leaf": ({**LOSSGUIDE, **TARGET, "sketch": 1, "reg_alpha": 1.0}, TARGETS),
    "sketches, symmetric forests": (
        {"grow_policy": "symmetric", "sketch": 2, "num_parallel_tree": 2, "subsample": 0.6}, Y,
    ),
}  # fmt: skip


@functools.cache
def twin_of(case):
    given, label = CASES[case]
    params = Parameters.from_dict({**SETS, **given})
    return params, train_reference(params, X, label, categorical_features=LEVELS)


@pytest.mark.few(2)
@pytest.mark.more(4)
@pytest.mark.parametrize("case", CASES)
def test_sets_are_those_of_the_twin(case):
    given, label = CASES[case]
    found = trained_as_twin({**SETS, **given}, X, label, categorical_features=LEVELS).ensemble
    assert any((tree.split_kind == CATEGORY_SPLIT).any() for tree in found.trees)


@pytest.mark.few(1)
@pytest.mark.more(3)
@pytest.mark.parametrize("pretence", ["gpu", "baseline"])
@pytest.mark.parametrize("case", ["targets", "classes", "leaf by leaf", "smoothed", "sketches"])
def test_kernels_of_others_find_the_same_sets(pretence, case):
    params, twin = twin_of(case)
    objective = get_objective(params.objective, params)
    start = np.array(twin.base_margin, np.float32)[:, None]
    fit = Fit(device_as(pretence), params, objective, rows(CASES[case][1]), start)
    trees = fit.run(params.n_estimators)
    assert with_vectors(trees, twin.n_outputs, 1) == twin.trees


def test_levels_are_in_the_order_of_the_output_that_gains_most():
    """The first output does not depend on the column, the second one tells levels apart."""
    level = np.arange(120) % 6
    label = np.stack([np.arange(120) % 2, np.isin(level, [1, 4]) * 5.0], 1).astype(np.float32)
    data = Dataset(level[:, None].astype(np.float32), label, categorical_features=[0])
    (tree,) = train({**SETS, **TARGET, "n_estimators": 1, "max_depth": 1}, data).ensemble.trees
    assert np.flatnonzero(tree.right_set(0)).tolist() in ([1, 4], [0, 2, 3, 5])


def test_xgboost_predicts_alike_and_its_files_are_read():
    model = train(SETS, rows(), evals=[(rows(), "rows")])
    own = model.predict(X, device=TEST_DEVICE)
    chance = own[np.arange(Y.size), Y.astype(int)]
    assert -np.log(chance).mean() == pytest.approx(model.history["rows"]["mlogloss"][-1], rel=1e-5)
    assert np.array_equal(own[:9], model.predict(X[:9]))
    text = to_xgboost_json(model.ensemble)
    assert from_xgboost_json(text).trees == model.ensemble.trees
    booster = xgboost.Booster(model_file=bytearray(text.encode()))
    kinds = ["q", "c", "c", "q"]
    data = xgboost.DMatrix(rows().values, feature_types=kinds, enable_categorical=True)
    assert np.abs(booster.predict(data) - own).max() < 1e-6
    if not KEEPS_SETS_OF_VECTORS:
        return
    again = from_xgboost_json(bytes(booster.save_raw("json")).decode())
    for tree, other in zip(again.trees, model.ensemble.trees, strict=True):
        for name in ("feature", "sets", "set_begin", "value"):
            assert_same_bits(getattr(tree, name), getattr(other, name), name)
