"""quantize: cuts, layout and codes equal the twin's; laws of thresholds and weights."""

from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt.numerics.portable_math import ordered
from pyopencl_gbdt.pages import cuts as cut_points
from pyopencl_gbdt.pages.cuts import CUT_RULES
from pyopencl_gbdt.pages.quantize import Quantizer
from tests.compare import assert_same_bits
from tests.reference import quantize as twin

KERNEL = "quantize"
LARGEST = np.finfo(np.float32).max
_SIDES = ("below", "above")
MAX_BINS = [2, 16, 255, 256, 257, 1000]


def columns(rng, n):
    """A matrix with a column of each kind that might break something."""
    uniform = rng.random(n)
    heavy = np.where(rng.random(n) < 0.6, 0.0, rng.normal(size=n))
    neighbours = np.float32(1) + rng.integers(0, 2 * n, n) * np.float32(2.0**-23)
    zeros = rng.choice(np.float32([0.0, -0.0, 1.0, -1.0]), n)
    tiny = rng.integers(-500, 500, n) * 1e-42  # subnormal in float32
    huge = rng.choice([LARGEST / 2, -LARGEST, LARGEST / 3, 0.0, 1.0], n)
    ends = np.where(np.arange(n) < n // 2, -7.5, uniform)
    kinds = [
        uniform, heavy, rng.integers(0, 9, n), rng.integers(0, 700, n), np.full(n, 3.25),
        np.full(n, np.nan), neighbours, zeros, tiny, huge, ends, np.exp(rng.normal(0, 20, n)),
    ]  # fmt: skip
    values = np.stack(kinds, axis=1).astype(np.float32)
    with_missing = values.copy()
    with_missing[rng.random(values.shape) < 0.15] = np.nan
    return np.concatenate([values, with_missing], axis=1)


def weights(rng, n, kind):
    if kind == "whole":
        return rng.integers(0, 5, n).astype(np.float32)
    if kind == "spread":  # the lightest are nothing beside the heaviest
        return np.exp(rng.normal(0, 25, n)).astype(np.float32)
    if kind == "subnormal":
        return np.full(n, 1e-40, np.float32)
    return (rng.random(n) * (rng.random(n) < 0.7)).astype(np.float32)


def check(device, values, weight, max_bin, rule="shares"):
    """Compare cuts, layout and codes; return the twin's layout and codes."""
    if weight is not None and not weight.any():
        weight[0] = 1
    quantizer = Quantizer(device, values, weight, max_bin, rule=CUT_RULES[rule])
    cuts, wanted = quantizer.cuts(), twin.cuts(values, weight, max_bin, rule)
    what = f"of {values.shape}, max_bin {max_bin}"
    for feature, want in enumerate(wanted):
        n_bins = want.below.size
        assert cuts.n_bins[feature] == n_bins, f"bins {what}, feature {feature}"
        assert_same_bits(cuts.below[feature, :n_bins], want.below, f"below {what}, {feature}")
        assert_same_bits(cuts.above[feature, :n_bins], want.above, f"above {what}, {feature}")
        assert cuts.missing[feature] == want.missing
    layout, expected = cut_points.make_layout(cuts), twin.make_layout(wanted)
    for name in ("feature_bins", "feature_offset", "thresholds"):
        assert_same_bits(getattr(layout, name), getattr(expected, name), f"{name} {what}")
    page, codes = quantizer.encode(layout)[0].codes, twin.encode(values, expected)
    assert page.codes.dtype == (np.uint8 if expected.most_codes <= 256 else np.uint16)
    blocks, by_feature = page.codes.get(), page.by_feature.get()
    each = page.order.block_features
    blocks = np.stack(page.order.blocks(blocks), axis=1)
    used = blocks[:, :, :each].reshape(len(blocks), -1)
    assert_same_bits(used[:, : codes.shape[1]].astype(np.uint32), codes, f"codes {what}")
    assert not used[:, codes.shape[1] :].any()
    assert not blocks[:, :, each:].any()
    if weight is None:
        full = [np.bincount(column).max() for column in codes.T]
        assert [np.sum(c == f) for c, f in zip(codes.T, layout.fullest, strict=True)] == full
    assert (layout.fullest < np.diff(layout.feature_offset.astype(np.int64))).all()
    assert_same_bits(by_feature.T.astype(np.uint32), codes, f"codes by feature {what}")
    assert (codes.max(axis=0) < np.diff(expected.feature_offset.astype(np.int64))).all()
    return expected, codes


@pytest.mark.parametrize("max_bin", MAX_BINS)
def test_equals_twin(device, variant, force, rng, max_bin):
    force(variant)
    for n in (1, 2, 3, 300, 2500):
        check(device, columns(rng, n), None, max_bin)


@pytest.mark.parametrize("kind", ["whole", "mixed", "spread", "subnormal"])
@pytest.mark.parametrize("max_bin", [2, 16, 256])
def test_equals_twin_with_weights(device, variant, force, rng, max_bin, kind):
    force(variant)
    for n in (1, 2, 1500):
        check(device, columns(rng, n), weights(rng, n, kind), max_bin)


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", [None, "whole", "spread"])
@pytest.mark.parametrize("max_bin", [2, 16, 256])
def test_xgboost_rule_equals_twin(device, variant, force, rng, max_bin, kind):
    force(variant)
    for n in (1, 2, max_bin + 1, max_bin + 2, 1500):
        weight = None if kind is None else weights(rng, n, kind)
        check(device, columns(rng, n), weight, max_bin, "xgboost")


@pytest.mark.parametrize("weighted", [False, True])
def test_some_features_are_cut(device, variant, force, rng, weighted):
    """Those that are not have no bins; the others have those of a cut of all."""
    force(variant)
    values, weight = columns(rng, 400), weights(rng, 400, "mixed") if weighted else None
    cut = np.array([1, 2, 5, 9, 14, 23], np.uint32)
    found = Quantizer(device, values, weight, 16, cut=cut).cuts()
    every = Quantizer(device, values, weight, 16).cuts()
    used = np.arange(16) < every.n_bins[cut, None]
    for name in ("below", "above", "n_bins", "missing", "fullest"):
        pair = [getattr(some, name)[cut] for some in (found, every)]
        one, other = [np.where(used, side, 0) for side in pair] if name in _SIDES else pair
        assert_same_bits(one, other, name)
    assert not np.delete(found.n_bins, cut).any()
    none = Quantizer(device, values, weight, 16, cut=cut[:0]).cuts()
    assert none.below.shape == every.below.shape
    assert not none.n_bins.any()


def test_all_missing_where_the_weights_are(device, variant, force, rng):
    """Values of rows without weight have a code, though their feature has no bins."""
    force(variant)
    values = columns(rng, 50)
    weight = (np.arange(50) % 2).astype(np.float32)
    values[1::2, 0] = np.nan
    layout, codes = check(device, values, weight, 16)
    assert layout.feature_bins[0] == 0
    assert not codes[:, 0].any()


def test_one_weight_outweighs_all(device, variant, force, rng):
    force(variant)
    weight = np.ones(1000, np.float32)
    weight[7] = 1e30
    check(device, columns(rng, 1000), weight, 16)


@pytest.mark.parametrize("max_bin", MAX_BINS)
def test_law_a_search_finds_the_code(rng, max_bin):
    """As the kernels search: steps that are halved, from a place that only grows."""
    values = columns(rng, 700)
    layout = twin.make_layout(twin.cuts(values, None, max_bin))
    codes, tables = twin.encode(values, layout), cut_points.search_tables(layout)
    n_features = values.shape[1]
    bins, steps, begin = tables[: 3 * n_features].reshape(3, n_features)
    for feature, column in enumerate(values.T):
        keys, code = ordered(column), np.zeros(column.size, np.int64)
        step = int(steps[feature])
        while step:
            code += np.where(tables[begin[feature] + code + step - 1] <= keys, step, 0)
            step //= 2
        assert np.array_equal(np.where(np.isnan(column), bins[feature], code), codes[:, feature])


@pytest.mark.parametrize("n_levels", [1, 200, 3000])
def test_codes_of_levels_are_not_searched(device, variant, force, rng, n_levels):
    force(variant)
    codes = rng.integers(-1, n_levels, 2000)
    values = np.where(codes < 0, np.nan, codes).astype(np.float32)
    values = np.column_stack([values, rng.random(2000), values]).astype(np.float32)
    cuts = [twin.level_cuts(values[:, 0], n_levels), *twin.cuts(values[:, 1:2], None, 64)]
    layout = twin.make_layout([*cuts, cuts[0]])
    layout = replace(layout, categorical=np.array([True, False, True]))
    page = Quantizer(device, values, None, 64, most_levels=n_levels).encode(layout)[0].codes
    found, wanted = page.by_feature.get().astype(np.uint32), twin.encode(values, layout)
    assert_same_bits(found, np.ascontiguousarray(wanted.T))
    assert (wanted[:, 0] == np.where(codes < 0, n_levels, codes)).all()
    assert cut_points.search_tables(layout).size < 200  # levels have no keys


def test_255_bins_and_missing_fit_a_byte(device, variant, force, rng):
    force(variant)
    values = rng.random((3000, 3)).astype(np.float32)
    values[5, 1] = np.nan
    layout, _ = check(device, values, None, 256)
    assert layout.feature_bins.tolist() == [256, 255, 256]
    assert layout.most_codes == 256


@pytest.mark.parametrize("max_bin", MAX_BINS)
def test_law_threshold_parts_codes(rng, max_bin):
    values = columns(rng, 1200)
    layout = twin.make_layout(twin.cuts(values, None, max_bin))
    codes = twin.encode(values, layout)
    assert (layout.feature_bins <= max_bin).all()
    for feature, column in enumerate(values.T):
        begin = int(layout.feature_offset[feature])
        there = ~np.isnan(column)
        for bin_ in range(int(layout.feature_bins[feature])):
            below = column < layout.thresholds[begin + bin_]
            assert np.array_equal(below[there], (codes[:, feature] <= bin_)[there])
        assert (codes[~there, feature] == layout.feature_bins[feature]).all()


def test_law_a_weight_counts_as_rows(device, rng):
    values = columns(rng, 700) + np.float32(0)  # one zero
    times = rng.integers(0, 6, 700)
    for max_bin in (7, 64):
        weighted = check(device, values, times.astype(np.float32), max_bin)[0]
        repeated = check(device, np.repeat(values, times, axis=0), None, max_bin)[0]
        for feature in range(values.shape[1]):
            parts = []
            for layout in (weighted, repeated):
                begin = int(layout.feature_offset[feature])
                parts.append(layout.thresholds[begin : begin + layout.feature_bins[feature]])
            assert_same_bits(*parts, f"thresholds of feature {feature}")


def test_law_bins_of_distinct_values_are_equally_full(rng):
    for n, max_bin in ((1000, 16), (1003, 256), (257, 256)):
        values = rng.permutation(n).astype(np.float32)[:, None]
        codes = twin.encode(values, twin.make_layout(twin.cuts(values, None, max_bin)))
        rows = np.bincount(codes[:, 0])
        assert rows.size == max_bin
        assert rows.max() - rows.min() <= 1
