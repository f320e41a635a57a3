"""histogram: exact sums per feature and bin, bit by bit, in every variant that training has."""

from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt.device import choose
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.primitives.histogram import CodeHistogram, histogram
from pyopencl_gbdt.primitives.histogram_kernel import ANY_CODES
from tests.compare import assert_same_bits
from tests.primitives.running import run_without_waiting
from tests.primitives.samples import any_bits
from tests.reference.histogram import feature_histogram as twin

KERNEL = "histogram"
#: 257 bins take two bytes, 65535 several ranges; 256 are the most of a byte.
THOROUGH = {"test_bins": lambda variant, n_bins: n_bins in (255, 300, 4096)}
LOWEST, HIGHEST = -(2**31), 2**31 - 1


def codes_of(rng, n, n_features, n_bins, dtype=None):
    """Uniform codes, the highest among them; of two bytes where one is not enough."""
    dtype = np.dtype((np.uint8 if n_bins <= 256 else np.uint16) if dtype is None else dtype)
    codes = rng.integers(0, min(n_bins, np.iinfo(dtype).max + 1), (n, n_features)).astype(dtype)
    codes[:1] = min(n_bins - 1, np.iinfo(dtype).max)
    return codes


def pairs_of(rng, n):
    """Pairs of any bits: of both signs, and such that 32 bits overflow at once."""
    return any_bits(rng, 2 * n, np.int32).reshape(n, 2)


def check(device, variant, codes, pairs, n_bins, rows=None):
    arrays = device.upload(codes), device.upload(pairs)
    listed = None if rows is None else device.upload(rows)
    got = histogram(*arrays, n_bins, listed, variant=variant)
    what = f"{codes.shape}, {n_bins} bins"
    assert_same_bits(got.get(), twin(codes, pairs, n_bins, rows), what)
    for array, host in zip(arrays, (codes, pairs), strict=True):
        assert_same_bits(array.get(), host)


def small(variant, **params):
    """The variant with small chunks and few groups, so that all of their edges are met."""
    return replace(variant, params={**variant.params, "chunk": 64, "groups_per_unit": 3, **params})


def sizes(device):
    return [1, 300] if device.caps.is_simulator else [1, 63, 64, 65, 255, 256, 257, 5000]


def test_equals_twin_at_edges(device, variant, rng):
    small_variant = small(variant)
    for n in (0, *sizes(device)):
        codes, pairs = codes_of(rng, n, 3, 20), pairs_of(rng, n)
        check(device, small_variant, codes, pairs, 20)
        rows = rng.integers(0, n, n // 2).astype(np.uint32)
        check(device, small_variant, codes, pairs, 20, rows)


@pytest.mark.parametrize("n_features", [1, 2, 15, 16, 17, 200])
def test_features(device, variant, rng, n_features):
    n = 100 if device.caps.is_simulator else 700
    codes, pairs = codes_of(rng, n, n_features, 9), pairs_of(rng, n)
    check(device, small(variant), codes, pairs, 9)
    check(device, small(variant), codes, pairs, 9, rng.permutation(n).astype(np.uint32)[: n // 2])


@pytest.mark.more(14)
@pytest.mark.parametrize("n_bins", [2, 255, 256, 257, 300, 4096, 65535])
def test_bins(device, variant, rng, n_bins):
    n = 100 if device.caps.is_simulator else 700
    small_variant, pairs = small(variant), pairs_of(rng, n)
    for dtype in (np.uint8, np.uint16):
        check(device, small_variant, codes_of(rng, n, 3, n_bins, dtype), pairs, n_bins)
    rows = rng.permutation(n).astype(np.uint32)[: n // 2]
    check(device, small_variant, codes_of(rng, n, 17, n_bins), pairs, n_bins, rows)


@pytest.mark.few(4)
def test_as_in_the_table(device, variant, rng):
    n = 300 if device.caps.is_simulator else 30_000
    in_training = rng.integers((-(2**24), 1), 2**24, (n, 2)).astype(np.int32)
    for n_bins, pairs in ((255, pairs_of(rng, n)), (256, in_training)):
        codes = codes_of(rng, n, 28, n_bins)
        codes[: n // 3, 5] = 7  # so many rows of a code that packed sums overflow
        check(device, variant, codes, pairs, n_bins)
        rows = np.flatnonzero(rng.random(n) < 0.3).astype(np.uint32)
        check(device, variant, codes, pairs, n_bins, rows)


@pytest.mark.parametrize("extremes", [(LOWEST, LOWEST), (HIGHEST, HIGHEST), (LOWEST, HIGHEST)])
def test_all_rows_in_one_bin(device, variant, extremes):
    """Sums leave 32 bits with every other row, upwards and downwards, Hessians too."""
    n = 100 if device.caps.is_simulator else 3000
    pairs = np.tile(np.array(extremes, np.int32), (n, 1))
    for code, n_bins in ((0, 2), (255, 256), (254, 255)):
        codes = np.full((n, 17), code, np.uint8)
        check(device, small(variant), codes, pairs, n_bins)


def test_a_row_counts_as_often_as_it_is_listed(device, variant, rng):
    codes, pairs = codes_of(rng, 5, 2, 4), pairs_of(rng, 5)
    rows = np.concatenate([np.full(500, 3), [0, 4, 4]]).astype(np.uint32)
    check(device, small(variant), codes, pairs, 4, rows)


def test_no_rows_are_listed(device, variant, rng):
    check(device, variant, codes_of(rng, 5, 2, 4), pairs_of(rng, 5), 4, np.zeros(0, np.uint32))


def test_larger_codes_count_as_the_largest(device, variant, rng):
    codes, pairs = any_bits(rng, 900, np.uint16).reshape(300, 3), pairs_of(rng, 300)
    check(device, small(variant), codes, pairs, 70)
    check(device, small(variant), codes.astype(np.uint8), pairs, 70)


def test_no_features(device, variant):
    codes, pairs = device.empty((5, 0), np.uint8), device.empty((5, 2), np.int32)
    assert histogram(codes, pairs, 7, variant=variant).shape == (0, 7, 2)


def test_variants_by_name(device, variant, rng):
    codes, pairs = codes_of(rng, 50, 2, 5), pairs_of(rng, 50)
    check(device, variant.name, codes, pairs, 5)
    check(device, "auto", codes, pairs, 5)


def test_bins_beyond_local_memory_are_summed_in_ranges(device, variant):
    prepared = CodeHistogram(device, 10, 1, np.uint16, 9000, variant=variant)
    holds = variant.name in ("cpu", ANY_CODES)
    wanted = variant if holds else choose(KERNEL, device.caps, "bin_range_passes")
    assert prepared.variant == wanted


def test_packed_once_for_many_nodes_without_waiting(device, variant, rng):
    n, n_bins = 500, 40
    codes, pairs = codes_of(rng, n, 6, n_bins), pairs_of(rng, n)
    on_device, summed = device.upload(codes), device.upload(pairs)
    prepared = CodeHistogram(device, n, 6, np.uint8, n_bins, variant=small(variant))
    pack = prepared.pack(on_device)
    left = rng.random(n) < 0.4
    nodes = [np.flatnonzero(mine).astype(np.uint32) for mine in (left, ~left)]
    outs = [device.empty((6, n_bins, 2), np.int64) for _ in range(3)]
    work = pack + prepared.sums(summed, outs[0])
    for rows, out in zip(nodes, outs[1:], strict=True):
        work += prepared.sums(summed, out, device.upload(rows))
    for _ in range(2):
        pairs = pairs_of(rng, n)
        summed.set(pairs)
        run_without_waiting(device, work)
        parent, *children = (out.get() for out in outs)
        assert_same_bits(children[0] + children[1], parent)
        for rows, child in zip(nodes, children, strict=True):
            assert_same_bits(child, twin(codes, pairs, n_bins, rows))


def test_errors_come_before_any_launch(device, other_device):
    codes, pairs = device.zeros((4, 3), np.uint8), device.zeros((4, 2), np.int32)
    out, rows = device.zeros((3, 9, 2), np.int64), device.zeros(4, np.uint32)
    launched = device.n_launches
    for given, message in (
        (([[1]], pairs, 9), "codes: list; expected a DeviceArray"),
        ((rows, pairs, 9), r"codes: shape \(4,\); expected \(n_rows, n_features\)"),
        ((pairs, pairs, 9), "dtype: dtype int32; expected one of uint8, uint16"),
        ((codes, [1], 9), "pairs: list; expected a DeviceArray"),
        ((codes, out, 9), "pairs: dtype int64; expected one of int32"),
        ((codes, device.zeros((3, 2), np.int32), 9), r"pairs: shape \(3, 2\); expected \(4, 2\)"),
        ((codes, device.zeros((2, 4), np.int32), 9), r"pairs: shape \(2, 4\); expected \(4, 2\)"),
        ((codes, other_device.zeros((4, 2), np.int32), 9), "pairs: lies on another opened device"),
        ((codes, pairs, 9, np.arange(4)), "rows: ndarray; expected a DeviceArray"),
        ((codes, pairs, 9, device.zeros(4, np.int64)), "rows: dtype int64; expected one of uint32"),
        ((codes, pairs, 9, device.zeros((2, 2), np.uint32)), r"rows: shape \(2, 2\); expected"),
        ((codes, pairs, 9, other_device.zeros(4, np.uint32)), "rows: lies on another opened"),
    ):
        with pytest.raises(DataError, match=message):
            histogram(*given)
    for n_bins in (1, 65536, 2.5, True, "9"):
        with pytest.raises(ParameterError, match=r"n_bins=.*expected an integer 2\.\.65535"):
            histogram(codes, pairs, n_bins)
    with pytest.raises(ParameterError, match="histogram='fastest': expected 'auto' or one of"):
        histogram(codes, pairs, 9, variant="fastest")
    with pytest.raises(ParameterError, match=r"n_features=40000: expected an integer 0\.\.32768"):
        CodeHistogram(device, 4, 40_000, np.uint16, 65535)
    prepared = CodeHistogram(device, 4, 3, np.uint8, 9)
    with pytest.raises(DataError, match="out: dtype int32"):
        prepared.sums(pairs, device.zeros((3, 9, 2), np.int32))
    with pytest.raises(DataError, match=r"out: shape \(3, 8, 2\); expected \(3, 9, 2\)"):
        prepared.bind(codes, pairs, device.zeros((3, 8, 2), np.int64))
    with pytest.raises(DataError, match=r"codes: shape \(3, 4\); expected \(4, 3\)"):
        prepared.pack(device.zeros((3, 4), np.uint8))
    assert device.n_launches == launched
