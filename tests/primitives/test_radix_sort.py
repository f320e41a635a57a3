"""radix_sort: equal to a stable argsort, bit by bit, in every variant."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt.device import open_device, runnable
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.primitives.radix_sort import RadixSort, radix_sort, scratch_bytes
from pyopencl_gbdt.reference import radix_sort as twin
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE
from tests.primitives.samples import any_bits, edge_sizes, floats

KERNEL = "radix_sort"
DTYPES = [np.uint32, np.int32, np.float32]


def sorted_by(device, variant, keys, values=None):
    on_device = device.upload(keys)
    moved = None if values is None else device.upload(values)
    radix_sort(on_device, moved, variant=variant)
    return on_device.get(), None if moved is None else moved.get()


@pytest.mark.parametrize(
    ("dtype", "value_dtype"), [*((dtype, np.uint32) for dtype in DTYPES), (np.float32, None)]
)
def test_equals_twin_at_edges(device, variant, rng, dtype, value_dtype):
    for n in edge_sizes(device, 4096):
        keys = any_bits(rng, n, dtype)
        values = None if value_dtype is None else np.arange(n, dtype=value_dtype)
        got_keys, got_values = sorted_by(device, variant, keys, values)
        keys, values = twin.radix_sort(keys, values)
        assert_same_bits(got_keys, keys, f"keys of {n}")
        if values is not None:
            assert_same_bits(got_values, values, f"values of {n}")


@pytest.mark.parametrize("dtype", DTYPES)
def test_equal_keys_keep_their_order(device, variant, rng, dtype):
    n = 300 if device.caps.is_simulator else 20_000
    for few in (1, 3):
        keys = (rng.integers(0, few, n) - 1).astype(dtype)
        got_keys, got_values = sorted_by(device, variant, keys, np.arange(n, dtype=np.uint32))
        assert_same_bits(got_keys, np.sort(keys))
        assert_same_bits(got_values, np.argsort(keys, kind="stable").astype(np.uint32))


def test_float_law(device, variant, rng):
    n = 300 if device.caps.is_simulator else 5_000
    keys = floats(rng, n, special=0.4)
    got, order = sorted_by(device, variant, keys, np.arange(n, dtype=np.uint32))
    n_nan = int(np.isnan(keys).sum())
    assert np.isnan(got[n - n_nan :]).all(), "NaN of any sign comes last"
    numbers = got[: n - n_nan]
    assert (numbers[1:] >= numbers[:-1]).all(), "the others ascend"
    assert_same_bits(keys[order], got, "a permutation that moves bits unchanged")
    assert_same_bits(np.sort(order), np.arange(n, dtype=np.uint32))
    for same in (order[n - n_nan :], order[got == 0]):
        assert (np.diff(same.astype(np.int64)) > 0).all(), "zeros and NaNs keep their order"


def test_already_sorted_and_reversed(device, variant):
    n = 300 if device.caps.is_simulator else 9_000
    ascending = (np.arange(n) - n // 2).astype(np.float32)
    for keys in (ascending, ascending[::-1].copy()):
        assert_same_bits(sorted_by(device, variant, keys)[0], ascending)


def test_many_small_groups(device, variant, rng):
    """A small tile makes many chunks of few tiles, the last one ragged."""
    params = {**variant.params, "items": 3 if variant.params["wg_size"] > 1 else 50}
    small = replace(variant, params={**params, "groups_per_unit": 5})
    n = 700 if device.caps.is_simulator else 30_011
    keys, values = any_bits(rng, n, np.float32), any_bits(rng, n, np.float32)
    got_keys, got_values = sorted_by(device, small, keys, values)
    keys, values = twin.radix_sort(keys, values)
    assert_same_bits(got_keys, keys)
    assert_same_bits(got_values, values)


def test_smaller_work_groups(device, rng):
    """Where a driver allows fewer work-items, ``build`` halves the size: the bits stay."""
    n = 300 if device.caps.is_simulator else 9_000
    narrow = next(row for row in runnable(KERNEL, device.caps) if row.name == "portable")
    narrow = replace(narrow, params={**narrow.params, "wg_size": 8})
    keys, values = floats(rng, n), np.arange(n, dtype=np.uint32)
    got_keys, got_values = sorted_by(device, narrow, keys, values)
    keys, values = twin.radix_sort(keys, values)
    assert_same_bits(got_keys, keys)
    assert_same_bits(got_values, values)


def test_bound_once_sorts_again_without_waiting(device, rng):
    n = 3_000 if not device.caps.is_simulator else 100
    keys, values = device.zeros(n, np.float32), device.zeros(n, np.int32)
    launches = RadixSort(device, n, np.float32, np.int32).bind(keys, values)
    for _ in range(3):
        host = floats(rng, n)
        keys.set(host)
        values.set(np.arange(n))
        waits = device.n_waits
        for launch in launches:
            launch()
        assert device.n_waits == waits
        expected = twin.radix_sort(host, np.arange(n, dtype=np.int32))
        assert_same_bits(keys.get(), expected[0])
        assert_same_bits(values.get(), expected[1])


@pytest.mark.parametrize("value_dtype", [np.uint32, None])
@pytest.mark.parametrize("columns", [1, 2, 3, 7])
def test_columns_side_by_side(device, variant, rng, columns, value_dtype):
    """Each as if alone, those before and behind untouched, by whole columns and in chunks."""
    params = {**variant.params, "items": 3 if variant.params["wg_size"] > 1 else 50}
    small = replace(variant, params={**params, "groups_per_unit": 5})
    for n in (1, 2, 300) if device.caps.is_simulator else (1, 2, 300, 5001):
        sort = RadixSort(device, n, np.float32, value_dtype, columns=columns, variant=small)
        keys = floats(rng, 9 * n).reshape(9, n)
        keys[3] = 2.0  # a column of equal keys takes no pass
        keys[4] = np.abs(keys[4]) + np.float32(1)  # others some
        values = np.tile(np.arange(n, dtype=np.uint32), (9, 1))
        on_device, moved = device.upload(keys), device.upload(values[2:])
        beside = None if value_dtype is None else moved
        for some in sorted({columns, max(1, columns - 2)}):
            for launch in sort.bind(on_device, beside, first=2, columns=some, once=n > 2):
                launch()
        for column in range(2, 2 + columns):
            keys[column], order = twin.radix_sort(keys[column], values[column])
            values[column] = values[column] if value_dtype is None else order
        assert_same_bits(on_device.get(), keys, f"keys of {n}")
        assert_same_bits(moved.get(), values[2:], f"values of {n}")


@pytest.mark.parametrize("has_values", [False, True])
@pytest.mark.parametrize("columns", [1, 2, 30])
def test_scratch_is_what_was_said(columns, has_values):
    for n in (0, 1, 5000, 100_000):
        opened = open_device(TEST_DEVICE)
        RadixSort(opened, n, np.float32, np.uint32 if has_values else None, columns=columns)
        assert opened.peak_bytes == scratch_bytes(opened, n, columns, has_values=has_values)


def test_errors_come_before_any_launch(device, other_device):
    keys = device.zeros(4, np.uint32)
    launched = device.n_launches
    with pytest.raises(DataError, match=r"keys: ndarray; expected a DeviceArray"):
        radix_sort(np.zeros(4, np.uint32))
    with pytest.raises(DataError, match=r"key_dtype: dtype int64; expected one of uint32"):
        radix_sort(device.zeros(4, np.int64))
    with pytest.raises(DataError, match=r"values: 3 elements; expected 4"):
        radix_sort(keys, device.zeros(3, np.uint32))
    with pytest.raises(DataError, match=r"values: dtype uint8"):
        radix_sort(keys, device.zeros(4, np.uint8))
    with pytest.raises(DataError, match=r"values: lies on another opened device"):
        radix_sort(keys, other_device.zeros(4, np.uint32))
    prepared = RadixSort(device, 4, np.uint32)
    with pytest.raises(DataError, match=r"keys: 5 elements; expected 4"):
        prepared.bind(device.zeros(5, np.uint32))
    with pytest.raises(DataError, match=r"value_dtype=None; give both or neither"):
        prepared.bind(keys, device.zeros(4, np.uint32))
    with pytest.raises(ParameterError, match=r"n=-1: expected an integer 0\.\.4294967295"):
        RadixSort(device, -1, np.uint32)
    with pytest.raises(ParameterError, match=r"radix_sort='fast'"):
        radix_sort(keys, variant="fast")
    assert device.n_launches == launched
    prepared = RadixSort(device, 4, np.uint32, columns=2)
    with pytest.raises(DataError, match=r"keys: 4 elements; expected 8"):
        prepared.bind(keys)
    with pytest.raises(DataError, match=r"keys: 4 elements; expected 12"):
        prepared.bind(keys, first=1, columns=2)
    with pytest.raises(ParameterError, match=r"columns=3: expected an integer 0..2"):
        prepared.bind(keys, columns=3)
