"""small_columns: the host finds the cut points and codes that kernels find."""

import numpy as np
import pytest

from pyopencl_gbdt.numerics.portable_math import ordered
from pyopencl_gbdt.pages import small_columns
from pyopencl_gbdt.pages.cuts import CUT_RULES, make_layout
from pyopencl_gbdt.pages.quantize import Quantizer
from tests.compare import assert_same_bits
from tests.reference import quantize as twin
from tests.steps.test_quantize import MAX_BINS, columns


@pytest.mark.parametrize("rule", ["shares", "xgboost"])
@pytest.mark.parametrize("max_bin", MAX_BINS)
def test_equals_twin(rng, max_bin, rule):
    for n in (1, 2, 3, max_bin + 1, max_bin + 2, 2500):
        values = columns(rng, n)
        cuts, codes = small_columns.cut_and_encode(values, max_bin, CUT_RULES[rule])
        wanted = twin.cuts(values, None, max_bin, rule)
        for feature, want in enumerate(wanted):
            n_bins = want.below.size
            assert cuts.n_bins[feature] == n_bins
            assert_same_bits(cuts.below[feature, :n_bins], want.below, f"below of {feature}")
            assert_same_bits(cuts.above[feature, :n_bins], want.above, f"above of {feature}")
            assert cuts.missing[feature] == want.missing
        layout = twin.make_layout(wanted)
        assert_same_bits(make_layout(cuts).thresholds, layout.thresholds)
        expected = np.ascontiguousarray(twin.encode(values, layout).T)
        assert_same_bits(codes.astype(np.uint32), expected, f"codes of {n} rows")
        assert codes.dtype == (np.uint8 if layout.most_codes <= 256 else np.uint16)


@pytest.mark.parametrize("n_pages", [1, 3])
@pytest.mark.parametrize("max_bin", [16, 256, 257])
def test_equals_kernels(device, monkeypatch, rng, max_bin, n_pages):
    """Pages, layout and the fullest codes; the device is taken for a CPU."""
    values = columns(rng, 700)

    def quantized(most_values):
        monkeypatch.setattr(small_columns, "MOST_VALUES", most_values)
        return Quantizer(device, values, None, max_bin, n_pages).run()

    monkeypatch.setattr(device, "works_in_place", True)
    kernels, host = quantized(0), quantized(values.size)
    for name in ("feature_bins", "feature_offset", "thresholds", "fullest"):
        assert_same_bits(getattr(host.layout, name), getattr(kernels.layout, name), name)
    assert len(host.pages) == len(kernels.pages) == n_pages
    for one, other in zip(host.pages, kernels.pages, strict=True):
        assert (one.first_row, one.n_rows) == (other.first_row, other.n_rows)
        assert_same_bits(one.codes.by_feature.get(), other.codes.by_feature.get())
        found, wanted = one.codes.codes.get(), other.codes.codes.get()
        for block, (mine, its) in enumerate(
            zip(one.codes.order.blocks(found), other.codes.order.blocks(wanted), strict=True)
        ):
            assert_same_bits(np.ascontiguousarray(mine), np.ascontiguousarray(its), str(block))


def test_law_sorted_rows_are_a_permutation(rng):
    for column in columns(rng, 500).T:
        keys, rows = small_columns.sorted_rows(np.ascontiguousarray(column))
        assert np.array_equal(np.sort(rows), np.arange(500))
        present = ~np.isnan(column[rows])
        assert np.array_equal(keys[present], ordered(column[rows][present]))
        assert not present[np.argmin(present) :].any() or present.all()
        assert (np.diff(keys.astype(np.int64)) >= 0).all()


def test_few_values_alone_are_cut_on_the_host(device, monkeypatch, rng):
    asked = []
    monkeypatch.setattr(
        small_columns, "cut_and_encode", lambda values, *_: asked.append(values.shape)
    )
    monkeypatch.setattr(device, "works_in_place", True)
    monkeypatch.setattr(small_columns, "MOST_VALUES", 600)
    values = rng.random((100, 6)).astype(np.float32)
    Quantizer(device, values, None, 16).run()
    assert asked == [(100, 6)]
    Quantizer(device, values, np.ones(100, np.float32), 16).run()
    Quantizer(device, np.tile(values, (2, 1)), None, 16).run()
    Quantizer(device, values, None, 16, cut=np.arange(5, dtype=np.uint32)).run()
    Quantizer(device, rng.random((3, 65)).astype(np.float32), None, 16).run()
    monkeypatch.setattr(device, "works_in_place", False)
    Quantizer(device, values, None, 16).run()
    assert asked == [(100, 6)]
