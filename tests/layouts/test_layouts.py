"""A sample of random trainings in all ways; and what draws, trains and compares them."""

import numpy as np
import pytest

from pyopencl_gbdt.objectives import OBJECTIVES
from tests.conftest import TEST_DEVICE
from tests.layouts import run as running
from tests.layouts.__main__ import main
from tests.layouts.recipes import LABELS, LOSSES, recipe
from tests.layouts.run import run
from tests.layouts.ways import WAYS, trained

#: Ways that build no kernels of their own, and so take tenths of a second.
QUICK = ("dense", "streamed", "batches", "sparse", "columns first", "team")


def test_a_training_in_quick_ways():
    outcome = run([recipe(0, 14)], {name: WAYS[name] for name in QUICK}, TEST_DEVICE)
    assert outcome.problems == []
    assert outcome.in_way == dict.fromkeys(QUICK, 1)


@pytest.mark.thorough
@pytest.mark.parametrize("number", [21, 23, *range(26, 32)])
def test_trainings_in_all_ways(number):
    outcome = run([recipe(0, number)], WAYS, TEST_DEVICE)
    assert outcome.problems == []
    assert outcome.n_trained + outcome.n_refused == 1


def test_every_loss_is_drawn_with_labels_that_it_takes():
    assert LOSSES.keys() == OBJECTIVES.keys()
    assert {kind for kind, _ in LOSSES.values()} == LABELS.keys()


def test_a_recipe_depends_on_its_seed_and_number_alone():
    first, again, other = recipe(0, 5), recipe(0, 5), recipe(1, 5)
    assert str(first) == str(again) != str(other)
    assert first.name == "--seed 0 --first 5 --count 1"
    np.testing.assert_array_equal(first.values, again.values)
    for name, column in first.columns.items():
        np.testing.assert_array_equal(column, again.columns[name])


def test_all_values_are_drawn():
    """Each growth, method and sampling, forests, categories, weights, no values at all."""
    many = [recipe(0, number) for number in range(150)]
    for name, least in (
        ("grow_policy", 2), ("tree_method", 3), ("sampling_method", 3), ("num_parallel_tree", 3),
        ("objective", 20), ("max_depth", 9), ("boosting_type", 1), ("cat_method", 3),
        ("leaf_estimation_iterations", 4), ("bagging_freq", 3),
        ("booster", 1),
    ):  # fmt: skip
        assert len({one.params[name] for one in many if name in one.params}) >= least, name
    for column in ("weight", "qid", "label_lower_bound"):
        assert any(column in one.columns for one in many)
    assert any(np.isnan(one.values).all() for one in many)
    assert {len(one.values) for one in many} == {1, 2, 5, 60, 500, 3000}


def one_round_more(recipe, device, rng):
    return trained(recipe, device, n_estimators=recipe.params["n_estimators"] + 1)


def failing(recipe, device, rng):
    raise ValueError("shapes differ")


def refusing(recipe, device, rng):
    return trained(recipe, device, page="sorted")


def misspelt(recipe, device, rng):
    return trained(recipe, device, page="dens")


def test_another_model_and_a_foreign_error_are_problems():
    told = []
    ways = {"other": one_round_more, "failing": failing, "refusing": refusing,
            "misspelt": misspelt}  # fmt: skip
    outcome = run([recipe(0, 14)], ways, TEST_DEVICE, told.append)
    assert told == outcome.problems
    first, second, third = told
    assert first.startswith("--seed 0 --first 14 --count 1 --way 'other'\n    another model")
    assert "ValueError('shapes differ')" in second
    assert "page='dens': expected" in third
    assert outcome.in_way == {"other": 1}
    assert outcome.refused_in_way == {"refusing": 1}


def test_an_error_of_the_first_training_is_a_problem(monkeypatch):
    monkeypatch.setattr(running, "trained", failing_first)
    outcome = run([recipe(0, 14)], WAYS, TEST_DEVICE)
    assert len(outcome.problems) == 1
    assert "IndexError" in outcome.problems[0]


def failing_first(recipe, device):
    raise IndexError("list index out of range")


@pytest.mark.thorough
def test_the_command_repeats_one_training(capsys):
    words = ["--seed", "0", "--first", "14", "--count", "1", "--way", "dense"]
    assert main([*words, "--devices", TEST_DEVICE]) == 0
    assert "1 trainings, 0 refused, 0 failures" in capsys.readouterr().out
    assert main([*words, "--show"]) == 0
    assert str(recipe(0, 14)) in capsys.readouterr().out
