"""The table, the comparison and the verdicts, by themselves."""

import itertools
from dataclasses import fields, replace

import numpy as np
import pytest

pytest.importorskip("xgboost")

import xgboost

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.model import Tree, from_xgboost_json
from tests.conformance import table
from tests.conformance.choice import MOST_CASES, all_numbers, choose
from tests.conformance.compare import EQUAL, compare_trees
from tests.conformance.judge import Result, judge_cases, judge_values
from tests.conformance.run import losses, train_xgboost
from tests.conformance.samples import draw
from tests.conformance.table import AXES, CATEGORICAL, Case
from tests.conftest import TEST_DEVICE

PLACES = [(axis, value.name) for axis, values in AXES.items() for value in values]


def pairs(numbers):
    """Every pair of values that some case has: numbers of two axes and of their values."""
    return {
        (a, b, *found)
        for a, b in itertools.combinations(range(len(AXES)), 2)
        for found in {*zip(numbers[:, a].tolist(), numbers[:, b].tolist(), strict=True)}
    }


def test_choices_show_every_value_then_every_pair():
    every, chosen = all_numbers(), choose(MOST_CASES)
    assert len(every) > 200
    assert {place for case in choose(52) for place in case.places} == set(PLACES)
    assert table.refused_values() == {}
    assert choose(52) == chosen[:52]
    assert len({case.name for case in chosen}) == MOST_CASES
    places = [[value.name for value in values] for values in AXES.values()]
    numbers = np.array([
        [names.index(value.name) for names, value in zip(places, case.values, strict=True)]
        for case in chosen
    ])  # fmt: skip
    assert pairs(numbers) == pairs(every)


@pytest.mark.parametrize("place", PLACES, ids=": ".join)
def test_xgboost_learns_from_every_value(place):
    """Also from what is not taken yet: the table has its parameters, data and loss right."""
    values = {axis: choices[0] for axis, choices in AXES.items()}
    values[place[0]] = next(value for value in AXES[place[0]] if value.name == place[1])
    case = Case(tuple(values.values()))
    rows, held_out = draw(case, 1, 400, 300, few=False)
    again, _ = draw(case, 1, 400, 300, few=False)
    np.testing.assert_array_equal(again.X, rows.X)
    assert rows.X.shape == (400, table.FEATURES)
    assert all(len(column) == 400 for column in rows.extras.values())
    assert np.isnan(rows.X).any() == (case["missing"].name == "some")
    assert rows.categorical == (() if case["categories"].name == "numbers" else CATEGORICAL)
    losses_of_rows, constant = losses(case, held_out, train_xgboost(case, rows, 6, 0))
    assert np.isfinite(losses_of_rows).all()
    assert losses_of_rows.mean() < constant.mean()


def sample():
    case = choose(1)[0]
    rows, _ = draw(case, 0, 500, 0, few=True)
    model = train({"max_depth": 3, "device": TEST_DEVICE}, rows.ours(), 2)
    return model.ensemble.trees, rows.X


def changed(tree, name, node, value):
    array = getattr(tree, name).copy()
    array[node] = value
    return Tree(**{f.name: array if f.name == name else getattr(tree, f.name)
                   for f in fields(Tree)})  # fmt: skip


def test_the_comparison_names_the_first_difference():
    trees, X = sample()
    assert compare_trees(trees, trees, X, {}) == (True, EQUAL)
    first, second = trees
    leaf = int(np.flatnonzero(first.is_leaf)[0])
    near = changed(first, "value", leaf, first.value[leaf] + 5e-6)
    assert compare_trees([near, second], trees, X, {}) == (True, EQUAL)
    far = changed(first, "value", leaf, first.value[leaf] + 1e-4)
    same, found = compare_trees([far, second], trees, X, {})
    assert not same
    assert f"at node {leaf} (tree 0)" in found
    moved = changed(second, "threshold", 0, second.threshold[0] + 1)
    same, found = compare_trees([first, moved], trees, X, {})
    assert (same, found) == (True, "tie at node 0 (tree 1)")  # of the same gain, hence a tie
    moved = changed(moved, "gain", 0, second.gain[0] * 1.01)
    same, found = compare_trees([first, moved], trees, X, {})
    assert (same, found) == (False, "another split at node 0 (tree 1)")
    assert not compare_trees(trees[:1], trees, X, {})[0]


def test_missing_values_alone_to_the_left_are_recognised():
    """Where the constraint asks for that order; without one it is the split that is tried here."""
    X = np.repeat(np.array([np.nan, 1, 2], np.float32), 50)[:, None]
    y = np.repeat(np.array([-3, 1, 1], np.float32), 50)
    for sign, found in ((1, "missing values alone on a side (tree 0)"), (-1, EQUAL)):
        params = {"max_depth": 1, "base_score": 0.0, "monotone_constraints": (sign,)}
        booster = xgboost.train(params, xgboost.DMatrix(X, y), 1)
        theirs = from_xgboost_json(bytes(booster.save_raw("json"))).trees
        ours = train({**params, "device": TEST_DEVICE}, Dataset(X, y), 1).ensemble.trees
        assert compare_trees(ours, theirs, X, params) == (True, found)
    params["monotone_constraints"] = (0,)
    heavy = train({**params, "reg_lambda": 9, "device": TEST_DEVICE}, Dataset(X, y), 1)
    assert not compare_trees(heavy.ensemble.trees, theirs, X, params)[0]


def results(shift, spread, n=30):
    rng = np.random.default_rng(1)
    cases = choose(n)
    return [Result(case, EQUAL, True, 5.0, rng.normal(shift, spread, 5)) for case in cases]


def test_noise_passes_and_shifts_do_not():
    assert all(v.ok for v in judge_cases(results(0, 1)))
    assert all(v.ok for v in judge_values(results(0, 1)))
    assert not any(v.ok for v in judge_cases(results(5, 1)))
    assert all(v.ok for v in judge_values(results(-5, 1)))  # better
    small = results(0.6, 1)  # no case shows it, all together do
    assert all(v.ok for v in judge_cases(small))
    assert not all(v.ok for v in judge_values(small))
    one = results(0, 1)
    one[7] = replace(one[7], worse=one[7].worse + 6)
    assert [v.ok for v in judge_cases(one)].index(False) == 7
