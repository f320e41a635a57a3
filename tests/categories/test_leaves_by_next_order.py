"""With few rows for a leaf, leaf values come from another order of the rows than splits."""

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.categories.statistic_columns import replace_by_statistics
from pyopencl_gbdt.numerics.portable_math import finite
from pyopencl_gbdt.numerics.weights import normalise
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.category_offers import STATISTICS
from pyopencl_gbdt.parameters.parameters import Parameters
from tests.categories.test_statistics import columns_of
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE
from tests.reference.gradients import choose_scale, quantize
from tests.reference.leaves_by_next_order import walked_weights
from tests.reference.predict import leaf_of

PARAMS = {
    "objective": "binary:logistic", "cat_method": "statistics", "device": TEST_DEVICE,
    "max_depth": 4, "max_ctr_complexity": 1, "permutation_count": 3, "base_score": 0.5,
}  # fmt: skip
ROUNDS = 4


@pytest.mark.parametrize(
    "more", [pytest.param({}, marks=pytest.mark.thorough), {"max_delta_step": 0.3}]
)
def test_leaf_values_are_those_of_the_next_order(device, more):
    X, y = columns_of("binary")
    weight = np.where(np.arange(y.size) % 7, 1.5, 0).astype(np.float32)
    data = Dataset(X, y, weight, categorical_features=[1, 2])
    given = {**PARAMS, **more}
    trees = train(given, data, ROUNDS).ensemble.trees
    params = Parameters.from_dict(given)
    made = replace_by_statistics(params, data, dict.fromkeys([1, 2], STATISTICS), device)
    (first,) = train(given, made.data, 1).ensemble.trees  # without categories: one order
    for name in ("feature", "threshold", "gain", "sum_hessian"):
        assert_same_bits(getattr(trees[0], name), getattr(first, name), name)
    assert not np.array_equal(trees[0].value, first.value)
    objective, values = get_objective(params.objective, params), made.data.values.copy()
    scaled, *powers = normalise(weight)
    margins = np.zeros(y.size, np.float32)
    for number, tree in enumerate(trees):
        g, h = objective.gradients(margins, data)
        scale = choose_scale(g, h, scaled, *powers)
        values[:, X.shape[1] :] = made.orders.of_round(number + 1)
        there = np.array([leaf_of(tree, row) for row in values])
        leaves = np.flatnonzero(tree.is_leaf)
        free = [(-np.finfo(np.float32).max, np.finfo(np.float32).max)] * leaves.size
        quanta = quantize(g, h, scaled, scale)
        weights = walked_weights(leaves, there, quanta, free, scale, params)
        found = finite(weights * np.float32(params.learning_rate))
        assert_same_bits(tree.value[leaves, 0], found, f"values of round {number}")
        margins += tree.value[there, 0]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "more",
    [
        {"monotone_constraints": [1, 0, 0, -1], "subsample": 0.7},
        pytest.param(
            {"grow_policy": "lossguide", "max_leaves": 6, "num_parallel_tree": 2},
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_other_ways_of_growing_take_them(more):
    X, y = columns_of("binary")
    data = Dataset(X, y, categorical_features=[1, 2])
    several, one = (train({**PARAMS, **more, "permutation_count": n}, data, ROUNDS) for n in (2, 1))
    assert several.variants["leaves_by_next_order"]
    assert not np.array_equal(several.ensemble.trees[0].value, one.ensemble.trees[0].value)
    if "monotone_constraints" in more:
        rows = np.repeat(X[:20], 9, axis=0)
        rows[:, 0] = np.tile(np.linspace(-3, 3, 9, dtype=np.float32), 20)
        assert (np.diff(several.predict(rows).reshape(20, 9), axis=1) >= 0).all()


@pytest.mark.thorough
@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"max_depth": 1, "max_leaves": 0}, marks=pytest.mark.thorough),  # 2 leaves
        {"grow_policy": "symmetric"},
        pytest.param({"objective": "reg:absoluteerror"}, marks=pytest.mark.thorough),
        pytest.param({"boosting_type": "ordered"}, marks=pytest.mark.thorough),
        {"has_time": True},
    ],
)
def test_other_trainings_keep_the_values_of_splits(device, more):
    X, y = columns_of("binary", n=1100)
    data = Dataset(X, y, categorical_features=[1, 2])
    given = {**PARAMS, **more}
    made = replace_by_statistics(
        Parameters.from_dict(given), data, dict.fromkeys([1, 2], STATISTICS), device
    )
    (tree,) = train(given, data, 1).ensemble.trees
    (same,) = train(given, made.data, 1).ensemble.trees
    assert_same_bits(tree.value, same.value, "values")
