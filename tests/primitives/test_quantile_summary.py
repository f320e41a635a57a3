"""quantile_summary: equal to its twin, and its ranks contain the exact ones in hostile orders."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.primitives.quantile_summary import (
    QuantileSummary,
    SummaryBuild,
    SummaryMerge,
    SummaryPrune,
    build,
    cuts,
    merge,
    prune,
)
from tests.compare import assert_same_bits
from tests.primitives import samples
from tests.primitives.running import many_groups, narrow, run_without_waiting
from tests.primitives.samples import edge_sizes, floats
from tests.reference import quantile_summary as twin

KERNEL = "quantile_summary"
PARTS = ("values", "ranks", "offsets")


def columns_of(rng, n, n_columns):
    """Values with ties, special ones among them; weights of 0 and below among them; offsets."""
    values = np.where(rng.random(n) < 0.7, rng.integers(-40, 40, n) / 4, floats(rng, n, 0.05))
    weights = rng.integers(-1, 2 ** rng.integers(1, 40), n)
    return values.astype(np.float32), weights, samples.cuts(rng, n, n_columns)


def assert_same(summary, expected, what=""):
    for got, want, part in zip(summary.get(), expected, PARTS, strict=True):
        assert_same_bits(got, want, f"{part} {what}")


def assert_same_cuts(got, expected, what=""):
    values, offsets = (array.get() for array in got)
    assert_same_bits(offsets, expected[1], f"offsets {what}")
    assert_same_bits(values[: offsets[-1]], expected[0], f"cuts {what}")


def both(device, variant, data):
    """The summary of some data on the device, which equals that of the twin; and the twin's."""
    got = build(device.upload(data[0]), device.upload(data[1]), data[2], variant=variant)
    want = twin.build(*data)
    assert_same(got, want, f"of {len(data[0])}")
    return got, want


def test_equals_twin_at_edges(device, variant, rng):
    before = both(device, variant, columns_of(rng, 700, 7))
    before = prune(before[0], 9, variant=variant), twin.prune(before[1], 9)
    for n in edge_sizes(device, 1024):
        got, want = both(device, variant, columns_of(rng, n, 7))
        merged = merge(got, before[0], variant=variant)
        expected = twin.merge(want, before[1])
        assert_same(merged, expected, f"merged with {n}")
        for size in (1, 12, 255) if n < 2000 else (12,):  # the twin is slow
            assert_same(prune(merged, size, variant=variant), twin.prune(expected, size))
        assert_same_cuts(cuts(merged, 16, variant=variant), twin.cuts(expected, 16))


@pytest.mark.parametrize("value", [0.0, -0.0, np.inf])
def test_one_value(device, variant, value):
    for n in (1, 255, 256, 257):
        data = np.full(n, value, np.float32), np.full(n, 3), np.array([0, n])
        got, _ = both(device, variant, data)
        values, ranks, _ = prune(got, 1, variant=variant).get()
        assert_same_bits(values, np.array([value + 0.0], np.float32))
        assert ranks.tolist() == [[0, 3 * n, 3 * n]]


def test_no_weight_and_no_data_leave_nothing(device, variant, rng):
    numbers = floats(rng, 300)
    nothing, _ = both(device, variant, (numbers, np.zeros(300, np.int64), np.array([0, 9, 9, 300])))
    missing = np.full(300, np.nan, np.float32)
    both(device, variant, (missing, np.ones(300, np.int64), np.array([0, 300])))
    both(device, variant, (numbers[:0], np.zeros(0, np.int64), np.array([0])))
    some, want = both(device, variant, (numbers, np.ones(300, np.int64), np.array([0, 9, 9, 300])))
    assert nothing.get()[2].tolist() == [0, 0, 0, 0]
    assert_same(merge(some, nothing, variant=variant), want)
    assert_same(merge(nothing, some, variant=variant), want)
    assert_same(prune(nothing, 3, variant=variant), nothing.get())


def test_many_small_groups_and_columns(device, variant, rng):
    chosen = many_groups(variant, 3, alone=70)
    got, want = both(device, chosen, columns_of(rng, 3000, 900))
    other, also = both(device, chosen, columns_of(rng, 2000, 900))
    merged, expected = merge(got, other, variant=chosen), twin.merge(want, also)
    assert_same(merged, expected)
    assert_same(prune(merged, 2, variant=chosen), twin.prune(expected, 2))
    small = narrow(device, KERNEL)
    assert_same(prune(merge(got, other, variant=small), 2, variant=small), twin.prune(expected, 2))


def test_offsets_on_the_device(device, rng):
    values, weights, offsets = columns_of(rng, 500, 5)
    want = twin.build(values, weights, offsets)
    for dtype in (np.uint32, np.int64):
        ends = device.upload(offsets, dtype)
        assert_same(build(device.upload(values), device.upload(weights), ends), want)


def test_weights_up_to_the_limit(device, variant):
    """Total weight 2**62 - 1; queries of as many parts as there can be."""
    n = 1000
    weights = np.full(n, (2**62 - 1) // n)
    weights[0] += (2**62 - 1) % n
    data = np.arange(n, dtype=np.float32), weights, np.array([0, n])
    got, want = both(device, variant, data)
    for size in (3, 7, 997):
        assert_same(prune(got, size, variant=variant), twin.prune(want, size), f"size {size}")
    launches = SummaryPrune(device, n, 1, 5, 2**31 - 1, variant=variant)
    out = QuantileSummary.empty(device, 1, 5)
    run_without_waiting(device, launches.bind(got, out))
    ranks = [Fraction(k * (2**62 - 1), 2**31 - 1) for k in range(5)]
    (column,) = twin.split(*want)
    chosen = {column[twin.query(column, rank)].value for rank in ranks}
    assert out.get()[0].tolist() == sorted(chosen)


def exact_ranks(values, weights):
    """Distinct values of a column, the weight below each, and the weight up to each."""
    distinct, place = np.unique(values, return_inverse=True)
    weight = np.zeros(len(distinct), np.int64)
    np.add.at(weight, place, weights)
    up_to = np.cumsum(weight)
    return distinct.tolist(), (up_to - weight).tolist(), up_to.tolist()


def assert_contains(column, values, weights, error):
    """The ranks of every value contain the exact ones, and are as certain as stated."""
    for value, below, up_to in zip(*exact_ranks(values, weights), strict=True):
        known = twin.at(column, value)
        assert known.below <= below
        assert known.up_to >= up_to
        assert known.weight <= up_to - below
        assert known.up_to - known.below - known.weight <= error
    least, greatest = column[0], column[-1]
    assert least[1:] == (0, least.weight, least.weight)
    assert greatest.up_to == greatest.below + greatest.weight == int(weights.sum())


N_PAGES, PAGE, SIZE = 8, 400, 16


def hostile(rng, n):
    """Columns of values and weights in orders that are hard for a summary of a stream."""
    rising = np.arange(n)
    ends = np.where(rising % 2 == 0, rising, 2 * n - rising)
    ones, heavy = np.ones(n, np.int64), np.where(rising % 97 == 50, 2**50, rising + 1)
    return {
        "sorted": (rising, ones),
        "reversed": (n - rising, ones),
        "alternating": (ends, ones),
        "inward": (np.where(rising % 2 == 0, 1, -1) * (n - rising), ones),
        "ties": (rng.integers(0, 9, n) ** 2, ones),
        "heavy": (rng.permutation(n), heavy),
        "growing weights": (rising, 1 << (rising * 40 // n)),
    }


def page_of(device, orders, page):
    rows = slice(page * PAGE, (page + 1) * PAGE)
    values = np.concatenate([v[rows] for v, _ in orders.values()]).astype(np.float32)
    weights = np.concatenate([w[rows] for _, w in orders.values()]).astype(np.int64)
    offsets = np.arange(len(orders) + 1) * PAGE
    return build(device.upload(values), device.upload(weights), offsets)


def test_error_of_a_pruned_stream(device, rng):
    """Each prune adds at most 1 / size of the weight so far."""
    orders = hostile(rng, N_PAGES * PAGE)
    summary = prune(page_of(device, orders, 0), SIZE)
    stated = [Fraction(int(w[:PAGE].sum()), SIZE) for _, w in orders.values()]
    for page in range(1, N_PAGES):
        summary = prune(merge(summary, page_of(device, orders, page)), SIZE)
        n = (page + 1) * PAGE
        columns = list(twin.split(*summary.get()))
        for i, (values, weights) in enumerate(orders.values()):
            stated[i] += Fraction(int(weights[:n].sum()), SIZE)
            assert len(columns[i]) <= SIZE + 1
            assert summary.errors()[i] == twin.error(columns[i]) <= stated[i]
            assert_contains(columns[i], values[:n], weights[:n], stated[i])


def test_error_of_a_tree_of_merges(device, rng):
    """Pages are pruned once, and once after each merge: 1 / size for each level."""
    orders = hostile(rng, N_PAGES * PAGE)
    level = [prune(page_of(device, orders, page), SIZE) for page in range(N_PAGES)]
    levels = 1
    while len(level) > 1:
        level = [prune(merge(a, b), SIZE) for a, b in zip(level[::2], level[1::2], strict=True)]
        levels += 1
    columns = twin.split(*level[0].get())
    for column, (values, weights) in zip(columns, orders.values(), strict=True):
        assert_contains(column, values, weights, levels * Fraction(int(weights.sum()), SIZE))


def test_error_where_values_zoom_in(device):
    """Each page lies in the gap whose ranks are least certain (Hung & Ting 2010)."""
    values = np.arange(PAGE, dtype=np.float32)
    seen, summary = [], None
    for _ in range(5):
        seen.append(values)
        new = build(device.upload(values), device.upload(np.ones(PAGE, np.int64)), [0, PAGE])
        summary = prune(new if summary is None else merge(summary, new), SIZE)
        (column,) = twin.split(*summary.get())
        gaps = [b.up_to - b.weight - a.below - a.weight for a, b in pairwise(column)]
        at = int(np.argmax(gaps))
        inside = np.linspace(column[at].value, column[at + 1].value, PAGE + 2)[1:-1]
        values = inside.astype(np.float32)
    stated = sum(Fraction((i + 1) * PAGE, SIZE) for i in range(5))
    every = np.concatenate(seen)
    assert_contains(column, every, np.ones(len(every), np.int64), stated)


def test_law_merging_exact_summaries_is_building_of_all(device, rng):
    one, two = columns_of(rng, 900, 1), columns_of(rng, 400, 1)
    (a, _), (b, _) = both(device, "auto", one), both(device, "auto", two)
    together = [np.concatenate(arrays) for arrays in zip(one[:2], two[:2], strict=True)]
    want = twin.build(*together, np.array([0, 1300]))
    assert twin.error(next(twin.split(*want))) == 0
    assert_same(merge(a, b), want)
    assert_same(merge(b, a), want)


def test_cuts_are_the_exact_quantiles_of_an_exact_summary(device, rng):
    """Of any summary, a bin weighs as much as stated, without its least value."""
    values = rng.permutation(5000).astype(np.float32)
    weights = rng.integers(1, 2**30, 5000)
    summary = build(device.upload(values), device.upload(weights), [0, 5000])
    distinct, below, up_to = exact_ranks(values, weights)
    for max_bin in (1, 7, 256):
        ranks = [Fraction(k * up_to[-1], max_bin) for k in range(max_bin)]
        want = [next(v for v, r in zip(distinct, up_to, strict=True) if r > d) for d in ranks]
        got, offsets = (array.get() for array in cuts(summary, max_bin))
        assert got[: offsets[1]].tolist() == sorted(set(want))
        pruned = prune(summary, 40)
        (column,) = twin.split(*pruned.get())
        got, offsets = (array.get() for array in cuts(pruned, max_bin))
        places = [distinct.index(value) for value in got[: offsets[1]].tolist()]
        most = Fraction(up_to[-1], max_bin) + twin.error(column)
        assert all(below[b] - up_to[a] <= most for a, b in pairwise(places))
        assert places[0] == 0
    few, offsets = (array.get() for array in cuts(summary, 5000))
    assert few[: offsets[1]].tolist() == distinct


def test_prepared_runs_again_without_waiting(device, rng):
    values, weights = device.zeros(300, np.float32), device.zeros(300, np.int64)
    ends = device.upload(np.array([0, 100, 300]), np.int64)
    exact, both_, small = (QuantileSummary.empty(device, 2, size) for size in (300, 600, 12))
    launches = [
        *SummaryBuild(device, 300, 2).bind(values, weights, ends, exact),
        *SummaryMerge(device, 300, 300, 2).bind(exact, exact, both_),
        *SummaryPrune(device, 600, 2, 6, 5).bind(both_, small),
    ]
    for _ in range(2):
        data = columns_of(rng, 300, 1)
        values.set(data[0])
        weights.set(data[1])
        run_without_waiting(device, launches)
        exactly = twin.build(data[0], data[1], ends.get())
        assert_same(small, twin.prune(twin.merge(exactly, exactly), 5))


def test_upload_returns_what_get_returned(device, rng):
    got, want = both(device, "auto", columns_of(rng, 400, 3))
    assert got.errors().tolist() == [0, 0, 0]
    again = QuantileSummary.upload(device, *got.get())
    assert_same(merge(again, prune(got, 5)), twin.merge(want, twin.prune(want, 5)))


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        (0, lambda a: a[:-1], r"shapes \(3,\), \(4, 3\), \(3,\); expected"),
        (0, lambda a: a.astype(np.float64), "dtypes float64, int64, uint32; expected float32"),
        (0, lambda a: a[::-1], "entry 1 has value 3.0"),
        (1, lambda a: a - 1, r"entry 0 has value 1.0 and ranks \[-1, 1, 1\]"),
        (1, lambda a: a * np.array([1, 1, 2]), "entry 0 .* ranks that contain each other"),
        (2, lambda a: a + 1, "offsets: run from 1 to 5; expected to ascend from 0 to 4"),
    ],
)
def test_a_damaged_summary_is_refused(device, part, change, message):
    arrays = [
        np.array([1, 2, 3, 4], np.float32),
        np.array([[0, 2, 2], [2, 4, 2], [4, 6, 2], [6, 8, 2]]),
        np.array([0, 4, 4], np.uint32),
    ]
    arrays[part] = change(arrays[part])
    with pytest.raises(DataError, match=message):
        QuantileSummary.upload(device, *arrays)


def test_errors_come_before_any_launch(device, other_device):
    values, weights = device.zeros(4, np.float32), device.zeros(4, np.int64)
    one, two = QuantileSummary.empty(device, 1, 4), QuantileSummary.empty(device, 2, 4)
    launched = device.n_launches
    with pytest.raises(DataError, match="values: list; expected a DeviceArray"):
        build([1.0], weights, [0, 1])
    with pytest.raises(DataError, match="values: dtype int64; expected one of float32"):
        build(weights, weights, [0, 4])
    with pytest.raises(DataError, match="weights: dtype float32; expected one of int64"):
        build(values, values, [0, 4])
    with pytest.raises(DataError, match="weights: 3 elements; expected 4"):
        build(values, device.empty(3, np.int64), [0, 4])
    with pytest.raises(DataError, match="offsets: run from 0 to 3; expected from 0 to 4"):
        build(values, weights, [0, 3])
    with pytest.raises(DataError, match="first: list; expected a QuantileSummary; use quantile_s"):
        merge([], one)
    with pytest.raises(DataError, match="second: 2 columns; expected 1; pass summaries of the sam"):
        merge(one, two)
    with pytest.raises(DataError, match=r"second.values: lies on another opened device"):
        merge(one, QuantileSummary.empty(other_device, 1, 4))
    with pytest.raises(DataError, match=r"out: room for 4 entries; expected 8 or more; use Quant"):
        SummaryMerge(device, 4, 4, 1).bind(one, QuantileSummary.empty(device, 1, 4), one)
    with pytest.raises(DataError, match=r"out.values: the same array as summary.values"):
        SummaryPrune(device, 4, 1, 3, 2).bind(one, one)
    for size in (0, -1, 2.0, True, 2**31):
        with pytest.raises(ParameterError, match=r"size=.*: expected an integer 1\.\.2147483646;"):
            prune(one, size)
    with pytest.raises(ParameterError, match=r"max_bin=0: expected an integer 1\.\.2147483647; t"):
        cuts(one, 0)
    with pytest.raises(ParameterError, match=r"n_columns=-1: expected an integer 0\.\."):
        QuantileSummary.empty(device, -1, 4)
    with pytest.raises(ParameterError, match=r"second_capacity=1: expected an integer 0\.\.0;"):
        SummaryMerge(device, 2**32 - 1, 1, 1)
    assert device.n_launches == launched
