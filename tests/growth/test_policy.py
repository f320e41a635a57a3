"""Growth policies: another one is a class, and its model is its twin's; sizes are sufficient."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from pyopencl_gbdt import Dataset, train
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.limited_device import PRETENCES
from pyopencl_gbdt.growth.policy import BestFirst, LevelWise, Symmetric
from pyopencl_gbdt.growth.recipe import choose_recipe
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.facts import FitFacts
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.fit import Fit
from tests.conftest import TEST_DEVICE
from tests.reference.train import train_reference

PACKAGE = Path(__file__).resolve().parents[2] / "pyopencl_gbdt"


@dataclass(frozen=True)
class Leftmost(BestFirst):
    """The leftmost leaf that may split is the next one."""

    rank: str = "-(f32)(node->path << (20u - node->depth))"


def leftmost(node, gain):
    """The twin of ``Leftmost``: the bits of a path are the sides that it takes from the root."""
    return -(node.path << (20 - node.depth))


def problem():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 3)).astype(np.float32)
    return X, (np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]).astype(np.float32)


def grown(policy, params, X, y):
    params = Parameters.from_dict(params)
    objective = get_objective(params.objective, params)
    fit = Fit(open_device(TEST_DEVICE), params, objective, Dataset(X, y), 0.5, policy=policy)
    return fit.run(params.n_estimators)


LEAVES = {"n_estimators": 3, "max_bin": 16, "max_depth": 6, "max_leaves": 9, "base_score": 0.5}
CASES = {
    "few leaves": LEAVES,
    "a forest": {**LEAVES, "num_parallel_tree": 3, "subsample": 0.7},
    "no limit of leaves": {**LEAVES, "max_leaves": 0, "max_depth": 4},
    "one work-item": {**LEAVES, "work_group_size": 1},
    "few gain enough": {**LEAVES, "gamma": 1},
}


@pytest.mark.few(1)
@pytest.mark.parametrize("case", CASES)
def test_another_policy_is_a_class(case):
    X, y = problem()
    params = CASES[case]
    twin = train_reference(Parameters.from_dict(params), X, y, rank=leftmost).trees
    assert grown(Leftmost(), params, X, y) == twin
    by_gain = {**params, "grow_policy": "lossguide"}
    same = grown(None, by_gain, X, y) == twin
    assert same == (case == "no limit of leaves")  # then the order does not matter


FORCED = {
    "feature": 1, "threshold": 0.5, "left": {"feature": 2, "threshold": 0.0},
    "right": {"feature": 0, "threshold": 1e9, "left": {"feature": 0, "threshold": 0.3}},
}  # fmt: skip
#: In a step of several leaves, some split too early: those the tree does not get.
SEVERAL = {
    "few leaves": {},
    "many": {"max_leaves": 70, "max_depth": 0, "max_bin": 64},
    "a forest": {"num_parallel_tree": 3, "subsample": 0.7},
    "few gain enough": {"gamma": 0.3, "max_leaves": 30},
    "one work-item": {"work_group_size": 1, "max_leaves": 20},
    "medians": {"objective": "reg:absoluteerror", "max_leaves": 20, "colsample_bynode": 0.6},
    "monotone": {"monotone_constraints": (1, 0, -1), "max_leaves": 20},
    "smoothed": {"path_smooth": 8.0, "max_leaves": 25, "max_depth": 0},
    "forced": {"forced_splits": FORCED, "max_leaves": 25, "max_depth": 0, "min_child_weight": 0},
}


@pytest.mark.few(2)
@pytest.mark.more(4)
@pytest.mark.parametrize("case", SEVERAL)
def test_several_leaves_a_step_grow_the_same_trees(case):
    X, y = problem()
    params = {**LEAVES, **SEVERAL[case], "grow_policy": "lossguide"}
    wanted = grown(BestFirst(), params, X, y)
    for picks in (2, 5, 32):
        assert grown(BestFirst(picks=picks), params, X, y) == wanted


@pytest.mark.parametrize("n_rows", [1, 2, 5])
def test_several_leaves_a_step_of_trees_with_few_leaves(n_rows):
    """More leaves can be picked in a step than a level of these trees has nodes."""
    few = {"n_estimators": 3, "max_depth": 0, "max_leaves": 31, "num_parallel_tree": 4}
    missing = np.full((n_rows, 3), np.nan, np.float32)
    for X in (missing, problem()[0][:n_rows]):
        params = {**few, "grow_policy": "lossguide", "max_bin": 16}
        wanted = grown(BestFirst(), params, X, np.arange(n_rows))
        assert grown(BestFirst(picks=32), params, X, np.arange(n_rows)) == wanted


def test_several_leaves_a_step_by_another_rank():
    X, y = problem()
    assert grown(Leftmost(picks=4), LEAVES, X, y) == grown(Leftmost(), LEAVES, X, y)


def test_a_gpu_splits_several_leaves_a_step():
    gpu = PRETENCES["gpu"](open_device(TEST_DEVICE).caps)
    leaf_wise = {"grow_policy": "lossguide", "max_leaves": 31}
    for more, picks in (({}, 32), ({"max_leaves": 600}, 1), ({"boosting_type": "ordered"}, 1)):
        params = Parameters.from_dict({**leaf_wise, **more})
        assert choose_recipe(FitFacts(params, device=gpu)).policy.picks == picks


def test_one_leaf_a_step_where_histograms_of_several_do_not_fit():
    X, y = problem()
    params = {**LEAVES, "max_leaves": 40, "grow_policy": "lossguide", "page": "dense"}
    params = Parameters.from_dict({**params, "max_bin": 200})
    picks = []
    for room in (1 << 24, 520_000):
        device = open_device(TEST_DEVICE)
        device.caps = replace(PRETENCES["gpu"](device.caps), global_bytes=room)
        objective = get_objective(params.objective, params)
        fit = Fit(device, params, objective, Dataset(X, y), 0.5)
        picks.append(fit.parts.nodes.policy.picks)
    assert picks == [32, 1]


@pytest.mark.parametrize("most_leaves", [2, 3, 9, 64])
def test_sizes_of_several_leaves_a_step(most_leaves):
    several = BestFirst(picks=4)
    assert several.n_steps(most_leaves) == most_leaves  # the last settles the others
    assert several.first_steps(most_leaves) <= most_leaves
    assert several.made(most_leaves) == several.slots(most_leaves) == most_leaves * 3 // 2
    assert [several.capacity(step, most_leaves) for step in range(5)] == [1, 2, 4, 8, 8]


def test_leftmost_leaves_are_split_first():
    """All splits but those without gain are left of what stays whole."""
    X, y = problem()
    tree = grown(Leftmost(), {**LEAVES, "n_estimators": 1, "max_depth": 20}, X, y)[0]
    root_right = int(tree.right[0])
    assert tree.left[root_right] < 0
    assert tree.is_leaf.sum() == LEAVES["max_leaves"]


@pytest.mark.parametrize("grow_policy", ["depthwise", "lossguide"])
def test_a_policy_that_is_handed_over_wins(grow_policy):
    X, y = problem()
    params = {**LEAVES, "grow_policy": grow_policy}
    other = {"depthwise": "lossguide", "lossguide": "depthwise"}[grow_policy]
    policy = choose_recipe(FitFacts(Parameters.from_dict({**params, "grow_policy": other}))).policy
    wanted = train({**params, "grow_policy": other, "device": TEST_DEVICE}, Dataset(X, y))
    assert grown(policy, params, X, y) == wanted.ensemble.trees


@pytest.mark.parametrize(
    ("params", "policy"),
    [
        ({}, LevelWise(6)),
        ({"max_depth": 0}, LevelWise(64)),
        ({"max_leaves": 5}, LevelWise(6, limits_leaves=True)),
        ({"grow_policy": "lossguide"}, LevelWise(6)),
        ({"grow_policy": "lossguide", "max_leaves": 5}, BestFirst()),
        ({"grow_policy": "symmetric", "max_depth": 8}, Symmetric(8)),
    ],
)
def test_policies_of_parameters(params, policy):
    assert choose_recipe(FitFacts(Parameters.from_dict(params))).policy == policy


@pytest.mark.parametrize("most_leaves", [1, 2, 3, 8, 9, 64])
def test_sizes(most_leaves):
    """By counting: the widest levels, and a split a step."""
    wide = LevelWise(4)
    steps = wide.n_steps(most_leaves)
    assert steps == min(4, max(1, most_leaves - 1))  # a chain has a leaf more than levels
    widths = [wide.capacity(step, most_leaves) for step in range(steps)]
    assert widths == [min(2**step, most_leaves) for step in range(steps)]
    assert wide.slots(most_leaves) == max(widths)
    one = BestFirst()
    steps = one.n_steps(most_leaves)
    assert steps == max(1, most_leaves - 1)
    assert [one.capacity(step, most_leaves) for step in range(steps)] == [1, *[2] * (steps - 1)]
    assert one.slots(most_leaves) == most_leaves


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("leaf_wise", {"fit/ways.py"}),
        ("symmetric_trees", {"fit/ways.py", "training/split_search.py"}),
    ],
)
def test_the_parameters_are_asked_in_one_place(name, others):
    """Or of the data, or where parameters are refused; all others ask the recipe or the policy."""
    asked = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if path.parent.name != "parameters"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr == name
    }
    assert asked == {"growth/recipe.py", *others}
