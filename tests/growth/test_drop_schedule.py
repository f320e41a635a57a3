"""The trees that rounds of DART drop, and their weights: those of the twin, in any order."""

from types import SimpleNamespace

import numpy as np
import pytest

from pyopencl_gbdt.growth.drop_schedule import DropSchedule
from tests.reference import dropout

SEED = 7
DEFAULTS = {
    "rate_drop": 0.0, "skip_drop": 0.0, "one_drop": False, "sample_type": "uniform",
    "normalize_type": "tree",
}  # fmt: skip
GIVEN = {
    "default": {},
    "some": {"rate_drop": 0.3},
    "all": {"rate_drop": 1.0},
    "skipped": {"rate_drop": 0.5, "skip_drop": 0.4},
    "always skipped": {"rate_drop": 0.5, "skip_drop": 1.0, "one_drop": True},
    "one": {"one_drop": True},
    "one by weight": {"one_drop": True, "sample_type": "weighted", "rate_drop": 0.05},
    "by weight": {"rate_drop": 0.3, "sample_type": "weighted"},
    "as a forest": {"rate_drop": 0.3, "normalize_type": "forest"},
}


def of(given, n_new=1, weights=()):
    params = SimpleNamespace(random_state=SEED, **{**DEFAULTS, **given})
    return DropSchedule(params, n_new, np.array(weights, np.float32))


@pytest.mark.parametrize("n_new", [1, 3])
@pytest.mark.parametrize("name", GIVEN)
def test_trees_and_weights_are_those_of_the_twin(name, n_new):
    rates = [0.3, 0.1, 1.0, 0.0] * 5
    schedule, found = of(GIVEN[name], n_new), []
    for number, rate in enumerate(rates):
        before = schedule.weights.copy()
        drop = schedule.next(number, rate)
        found.append(drop.trees.tolist())
        assert np.array_equal(drop.before, before[drop.trees])
        assert np.array_equal(drop.after, schedule.weights[drop.trees])
        assert (schedule.weights[-n_new:] == drop.of_new).all()
    trees, weights = dropout.schedule(
        dropout.drawn(SEED), rates, n_new, **{**DEFAULTS, **GIVEN[name]}
    )
    assert found == trees
    assert schedule.weights.dtype == np.float32
    assert schedule.weights.tolist() == [float(one) for one in weights]


def test_a_schedule_goes_on_from_the_weights_alone():
    whole, given = of({"rate_drop": 0.4}), {"rate_drop": 0.4}
    for number in range(5):
        whole.next(number, 0.3)
    rest = of(given, weights=whole.weights)
    for number in range(5, 9):
        drops = whole.next(number, 0.3), rest.next(number, 0.3)
        assert np.array_equal(*(one.trees for one in drops))
    assert np.array_equal(whole.weights, rest.weights)


def test_shares_of_dropped_trees():
    schedule = of({"rate_drop": 0.2})
    dropped = [schedule.next(number, 0.3).trees.size for number in range(300)]
    assert abs(sum(dropped) / sum(range(300)) - 0.2) < 0.01
    heavy = of({"rate_drop": 0.1, "sample_type": "weighted"}, weights=[4.0] * 50 + [1.0] * 50)
    drawn = np.zeros(100)
    for number in range(2000):
        drawn[heavy._drawn(number)] += 1
    assert abs(drawn[:50].sum() / drawn[50:].sum() - 4) < 0.3
