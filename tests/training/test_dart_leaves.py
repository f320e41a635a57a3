"""The leaves that a DART fit keeps of its rows, and what it knows of rounds to come."""

import numpy as np
import pytest

import pyopencl_gbdt as gbdt
from pyopencl_gbdt import Dataset
from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.growth import drop_schedule, dropout
from pyopencl_gbdt.growth.drop_schedule import DropsAhead, DropSchedule
from pyopencl_gbdt.numerics.tree_weights import in_units
from pyopencl_gbdt.objectives import get_objective
from pyopencl_gbdt.parameters.parameters import Parameters
from pyopencl_gbdt.training.fit import Fit
from tests.conftest import TEST_DEVICE
from tests.training.test_dart import LABELS, PARAMS, VECTORS, X, Y, bytes_of, data, trained


@pytest.mark.few(2)
@pytest.mark.more(3)
@pytest.mark.parametrize("kind", ["plain", "vectors", "forest", "sets", "sets, vectors"])
def test_rows_walk_dropped_trees_where_their_leaves_have_no_room(monkeypatch, kind):
    first = trained(kind, 3)
    expected = trained(kind, 6), trained(kind, 4, model=first)
    monkeypatch.setattr(dropout, "LEAVES_SHARE", 0)
    found = trained(kind, 6), trained(kind, 4, model=first)
    assert [bytes_of(one) for one in found] == [bytes_of(one) for one in expected]


@pytest.mark.parametrize(
    ("more", "shape", "size"),
    [
        ({}, (7, 120), 1),
        ({"objective": "multi:softprob", "num_class": 3}, (21, 120), 1),
        ({**VECTORS, "num_parallel_tree": 2}, (28, 120), 1),
        ({"max_depth": 8}, (7, 120), 1),
        ({"objective": "multi:softprob", "num_class": 3, "max_depth": 8}, (21, 120), 2),
    ],
)
def test_how_the_leaves_of_rows_are_kept(more, shape, size):
    params = Parameters.from_dict({**PARAMS, **more, "n_estimators": 7})
    rows = Dataset(X, LABELS if more.get("num_class") else Y)
    objective = get_objective(params.objective, params)
    fit = Fit(open_device(TEST_DEVICE), params, objective, rows, 0.0).parts
    found = fit.arena["row_leaves"]
    assert (found.shape, found.dtype.itemsize) == (shape, size)
    assert fit.nodes.max_nodes <= 256**size


def test_drops_ahead_are_those_of_the_schedule():
    params = Parameters.from_dict({**PARAMS, "sample_type": "weighted"})
    weights = np.float32([0.5, 1, 2])
    rates = [0.3] * 20 + [0.2, 0.1, 0.1, 0.4] + [0.25] * 150
    schedule, n_computed = DropSchedule(params, 2, weights), []
    ahead = DropsAhead(params, 2, weights, 5 + len(rates))
    for number, rate in enumerate(rates, 5):
        if not ahead.is_listed(number, rate):
            turns = ahead.turns(number, rate)
            assert turns[-1].number < 5 + len(rates)
            n_computed.append(len(turns))
            ahead.listed(max(1, len(turns) - 3))  # the device has no room for the last ones
        turn, drop = ahead.take(), schedule.next(number, rate)
        assert len(ahead.prepare()) <= 2
        assert (turn.number, turn.rate, turn.drop.of_new) == (number, rate, drop.of_new)
        for name in ("trees", "before", "after"):
            assert np.array_equal(getattr(turn.drop, name), getattr(drop, name))
        assert np.array_equal(ahead.weights, schedule.weights)
    assert max(n_computed) == drop_schedule.MOST_AHEAD
    assert len(n_computed) < 30


def test_numbers_of_several_rounds_are_those_of_each(monkeypatch):
    params, found = Parameters.from_dict(PARAMS), []
    for most in (1, 300, 1 << 14):  # numbers at a time: of one round, of a few, of all
        monkeypatch.setattr(drop_schedule, "_MOST_BITS", most)
        schedule = DropSchedule(params, 2, np.ones(3, np.float32))
        found.append([schedule.next(number, 0.3).trees.tolist() for number in range(5, 60)])
    assert found[0] == found[1] == found[2]
    assert len({len(trees) for trees in found[0]}) > 3


@pytest.mark.parametrize("kind", ["plain", "classes"])
def test_rounds_whose_lists_have_little_room_give_the_same_bytes(monkeypatch, kind):
    expected = trained(kind, 20)
    monkeypatch.setattr(dropout, "_MORE_LISTED", 0)
    assert bytes_of(trained(kind, 20)) == bytes_of(expected)
    monkeypatch.setattr(drop_schedule, "MOST_AHEAD", 3)
    assert bytes_of(trained(kind, 20)) == bytes_of(expected)


def test_a_learning_rate_that_changes_changes_the_drops_ahead():
    rates = [0.3] * 9 + [0.1, 0.2, 0.2, 0.2, 0.05]

    def weights(fit):
        return fit.model().ensemble.tree_weights

    with gbdt.open_fit(PARAMS, data(), len(rates)) as fit:
        for rate in rates:
            fit.learning_rate = rate
            fit.update()
        found = weights(fit)
    params = Parameters.from_dict(PARAMS)
    schedule = DropSchedule(params, 1, np.zeros(0, np.float32))
    for number, rate in enumerate(rates):
        schedule.next(number, rate)
    assert np.array_equal(np.float32(found), schedule.weights)


def test_few_rounds_copy_lists_to_the_device():
    with gbdt.open_fit({**PARAMS, "device": "opencl"}, data(), 140) as fit:
        device = fit._task.device
        for _ in range(70):
            fit.update()
        before = device.n_copies
        for _ in range(60):
            fit.update()
        assert device.n_copies - before < 20


def test_the_kernel_rounds_products_as_the_rule_says(device):
    rng = np.random.default_rng(4)
    bits = rng.integers(0, 2**32, 20_000, dtype=np.uint32).view(np.float32)
    bits = np.nan_to_num(bits, nan=1.5)
    near = np.float32(2.0**-9) * (1 + rng.integers(-9, 9, 3000) * np.float32(2.0**-23))
    halves = (rng.integers(0, 2**24, 9000) + 0.5).astype(np.float32) * np.float32(2.0**-32)
    tiny = np.float32([0, -0.0, 1e-38, 1e-45, -1e-45, 2.0**-33, 3 * 2.0**-33, -(2.0**-33)])
    values = np.concatenate([bits, near, halves, -halves, tiny]).astype(np.float32)
    values = values[np.abs(values) < 2.0**28]
    program = device.build(
        "dropout", wg_size=64, code="u8", parts=False, together=1, categories=False, leaves=""
    )
    for before, after in ((0.0, 1.0), (0.3, 1.7), (1.0, 0.0)):
        sums = device.zeros(values.size, np.int64)
        program.launch(
            "add_values", 8, n_rows=values.size, first=0, before=before, after=after,
            values=device.upload(values), tree_sums=sums,
        )  # fmt: skip
        expected = in_units(values, after) - in_units(values, before)
        assert np.array_equal(sums.get(), expected)
