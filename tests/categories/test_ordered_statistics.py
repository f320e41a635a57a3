"""Ordered target statistics: kernels and twin, means and exact fractions."""

from fractions import Fraction

import numpy as np
import pytest

from pyopencl_gbdt.categories.ordered_statistics import OrderedStatistics, WalkedOrders
from pyopencl_gbdt.model.statistics import shrunken_mean
from pyopencl_gbdt.numerics.random_numbers import drawn_order
from pyopencl_gbdt.pages.cuts import CUTS, N_BINS
from tests.compare import assert_same_bits
from tests.reference.ordered_statistics import ordered_statistics

PRIORS = (0.0, 0.5, 1.0)


def problem(n_rows, n_levels, n_targets, seed=1):
    rng = np.random.default_rng(seed)
    codes = np.minimum(rng.zipf(1.3, n_rows) - 2, n_levels - 1).astype(np.int32)
    hits = (rng.random((n_targets, n_rows)) < 0.4).astype(np.uint8)
    return codes, hits, (rng.random(n_rows) < 0.9).astype(np.uint8)


def levels_there(device, codes, n_levels):
    return device.upload(np.where(codes < 0, n_levels, codes).astype(np.uint32))


def means_of(made, codes, n_levels):
    for launch in made.launches(levels_there(made.device, codes, n_levels), n_levels):
        launch()
    return made.means.get()


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("n_rows", "n_levels", "n_targets"), [(1, 1, 1), (700, 3, 2), (1200, 60_000, 1)]
)
def test_kernels_are_their_twin(device, n_rows, n_levels, n_targets):
    codes, hits, counted = problem(n_rows, n_levels, n_targets)
    made = OrderedStatistics(device, hits, counted, (PRIORS,) * len(hits), 3, seed=7)
    for permutation in (0, 3):
        made.draw(permutation)
        order = drawn_order(n_rows, 7, permutation)
        for column in (codes, codes[::-1].copy()):
            wanted = ordered_statistics(column, hits, counted, order, (PRIORS,) * len(hits), 3)
            assert_same_bits(means_of(made, column, n_levels), wanted)


@pytest.mark.few(1)
@pytest.mark.parametrize("weight", [1, 8, 1000])
def test_walks_along_orders_give_the_codes_of_the_means(device, weight):
    n_rows = 900
    codes, hits, counted = problem(n_rows, 40, 2)
    made = OrderedStatistics(device, hits, counted, (PRIORS,) * len(hits), weight, seed=7)
    if not made.is_sequential:
        pytest.skip("work-groups have several work-items")
    walked = WalkedOrders(made, 2, in_time=False)
    assert walked.order.get().tolist() == drawn_order(n_rows, 7, 0).tolist()
    found = device.upload(np.full((2, 9, n_rows), 99, np.uint8))
    levels = levels_there(device, np.where(codes < 0, n_rows, codes), n_rows)
    for _ in range(2):  # the second time, counters are not 0
        walked.walk(levels, found, 1, N_BINS)
    assert (found.get()[:, [0, 7, 8]] == 99).all()
    for order, own in enumerate(found.get()[:, 1:7]):
        given = drawn_order(n_rows, 7, order)
        means = ordered_statistics(codes, hits, counted, given, (PRIORS,) * len(hits), weight)
        wanted = np.where(np.isnan(means), N_BINS, np.searchsorted(CUTS, means, side="right"))
        assert own.tolist() == wanted.reshape(6, n_rows).tolist()


def test_means_stand_side_by_side_where_they_are_asked_for(device):
    codes, hits, counted = problem(300, 7, 2)
    made = OrderedStatistics(device, hits, counted, (PRIORS,) * len(hits), 3, seed=7)
    made.draw(0)
    out = device.upload(np.full((300, 9), 5, np.float32))
    for launch in made.launches(levels_there(device, codes, 7), 7, out, 2, once=True):
        launch()
    found = out.get()
    assert_same_bits(found[:, 2:8].T.reshape(2, 3, 300), means_of(made, codes, 7))
    assert (found[:, [0, 1, 8]] == 5).all()


@pytest.mark.parametrize("n_levels", [0, 1, 900])
def test_totals_of_levels(device, n_levels):
    codes, hits, counted = problem(700, n_levels, 2)
    found = OrderedStatistics(device, hits, counted, (PRIORS,) * len(hits), 3, seed=7).totals(
        levels_there(device, codes, n_levels), n_levels
    )
    for plane, own in zip(found.get(), [counted, *(hits & counted)], strict=True):
        wanted = np.bincount(codes[(own != 0) & (codes >= 0)], minlength=n_levels)
        assert plane.tolist() == wanted.tolist()


def test_a_given_order_is_taken(device):
    codes, hits, counted = problem(50, 4, 1)
    made = OrderedStatistics(device, hits, counted, (PRIORS,) * len(hits), 3, seed=7)
    order = np.arange(50, dtype=np.uint32)
    made.take_order(order)
    wanted = ordered_statistics(codes, hits, counted, order, (PRIORS,) * len(hits), 3)
    assert_same_bits(means_of(made, codes, 4), wanted)


def test_a_row_does_not_see_its_own_target(device):
    codes, hits, counted = problem(200, 5, 1)
    codes[17] = 0
    counted[17] = 1
    flipped = hits.copy()
    flipped[0, 17] ^= 1
    both = [
        OrderedStatistics(device, one, counted, ((0.5,),), 1, seed=2) for one in (hits, flipped)
    ]
    for made in both:
        made.draw(0)
    first, second = (means_of(made, codes, 5)[0, 0] for made in both)
    place = np.argsort(drawn_order(200, 2, 0))
    changed = np.flatnonzero((first != second) & (codes >= 0))
    assert changed.size
    assert (place[changed] > place[17]).all()
    assert (codes[changed] == codes[17]).all()


def test_orders_are_permutations_and_differ():
    orders = [drawn_order(999, 5, permutation) for permutation in range(3)]
    assert all(np.array_equal(np.sort(order), np.arange(999)) for order in orders)
    assert not np.array_equal(orders[0], orders[1])


def test_means_are_close_to_the_fractions():
    rng = np.random.default_rng(4)
    counts = np.concatenate([np.arange(50), rng.integers(0, 2**40, 300)])
    sums = (counts * rng.random(counts.size)).astype(np.int64)
    for prior, weight in ((0.0, 1), (0.5, 1), (1.0, 1), (0.3, 10), (0.7, 2**20)):
        exact = [(Fraction(int(s)) + weight * Fraction(prior)) / (int(c) + weight)
                 for s, c in zip(sums, counts, strict=True)]  # fmt: skip
        means = shrunken_mean(sums, counts, prior, weight).tolist()
        for found, wanted in zip(means, exact, strict=True):
            assert abs(Fraction(found) - wanted) <= wanted * Fraction(1, 2**22)
