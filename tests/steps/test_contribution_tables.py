"""contribution_tables: sums of quanta equal those of the walk on the host."""

from dataclasses import replace

import pytest

from pyopencl_gbdt.prediction.contributions import device_walk, sums
from pyopencl_gbdt.prediction.contributions.device_walk import PatternWalk, plan_sums
from pyopencl_gbdt.prediction.contributions.kinds import Kind
from pyopencl_gbdt.prediction.contributions.path_factors import path_factors
from pyopencl_gbdt.prediction.walk_rows import trees_of
from tests import explained
from tests.compare import assert_same_bits

from .test_predict import codes_of, model_of
from .test_predict_tables import sets_of_levels, some_values, table_tree

KERNEL = "contribution_tables"


def covered(rng, model):
    return replace(model, trees=[explained.covered(rng, tree) for tree in model.trees])


def check(device, model, values):
    trees, game = trees_of(model, (0, model.n_rounds)), path_factors(model)
    rows = slice(0, len(values))
    assert isinstance(plan_sums(device, game, Kind.FEATURES, len(values)), PatternWalk)
    wanted = sums.HostSums(model, values, trees).of(game, Kind.FEATURES, rows)
    got = sums.DeviceSums(device, values, trees).of(game, Kind.FEATURES, rows)
    assert_same_bits(got, wanted, f"sums of {values.shape}")


@pytest.mark.parametrize("n", [1, 15, 16, 17, 128, 129, 700])
def test_equals_host(device, variant, force, rng, monkeypatch, n):
    force(variant)
    monkeypatch.setattr(device_walk, "_ROWS_A_PATTERN", 0)
    trees = [table_tree(rng, depth, 4, explained.THRESHOLDS) for depth in (2, 0, 3, 6, 1)]
    model = covered(rng, model_of(trees, 4))
    check(device, model, some_values(rng, n, 4, explained.THRESHOLDS))


def test_rows_that_are_too_few_or_trees_that_are_too_deep(device, rng):
    trees = [table_tree(rng, depth, 4, explained.THRESHOLDS) for depth in (2, 3)]
    game = path_factors(covered(rng, model_of(trees, 4)))
    assert device_walk.pattern_tables(game, 127) is None
    assert device_walk.pattern_tables(game, 128) is not None
    assert device_walk.pattern_tables(game, 1) is not None  # they are there
    row = game.for_row(rng.random(game.inner.size) < 0.5, 0)
    assert device_walk.pattern_tables(row, 127) is None
    deep = model_of([table_tree(rng, 9, 4, explained.THRESHOLDS)], 4)
    assert device_walk.pattern_tables(path_factors(covered(rng, deep)), 10**6) is None


def test_sets_of_codes(device, variant, force, rng, monkeypatch):
    force(variant)
    monkeypatch.setattr(device_walk, "_ROWS_A_PATTERN", 0)
    trees = [table_tree(rng, depth, 3, explained.THRESHOLDS) for depth in (2, 3, 4)]
    model = covered(rng, model_of([sets_of_levels(rng, tree, [1, 2]) for tree in trees], 3))
    check(device, model, codes_of(rng, 40, 3, 70))
