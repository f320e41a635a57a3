"""radix_sort: equal to a stable argsort, bit by bit, in every variant."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt.device import open_device
from pyopencl_gbdt.device.variants.table import KERNELS
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.primitives.radix_plan import cut_bits, scratch_bytes, take
from pyopencl_gbdt.primitives.radix_sort import (
    DTYPES,
    RadixSort,
    radix_argsort,
    radix_sort,
)
from tests.compare import assert_same_bits
from tests.conftest import TEST_DEVICE
from tests.device.fakes import make_caps
from tests.primitives.running import many_groups, narrow, run_without_waiting
from tests.primitives.samples import any_bits, edge_sizes, floats
from tests.reference import radix_sort as twin

KERNEL = "radix_sort"
#: Key, value, descending, first bit, bit behind the last: every dtype, width and kind of range.
SORTS = [
    (np.uint32, np.uint32, False, 0, None),
    (np.uint32, None, True, 0, None),
    (np.int32, np.int64, False, 0, None),
    (np.int32, None, True, 8, 20),
    (np.float32, None, False, 0, None),
    (np.float32, np.float64, True, 0, None),
    (np.float32, np.int32, False, 23, 32),
    (np.uint64, np.uint32, False, 0, None),
    (np.uint64, np.float32, True, 63, 64),
    (np.int64, None, False, 0, None),
    (np.int64, np.uint64, True, 0, 33),
    (np.float64, np.uint32, False, 0, None),
    (np.float64, None, True, 0, None),
    (np.float64, np.int64, False, 17, 18),
    (np.uint32, np.uint32, False, 5, 5),
]
#: Every key, width of values, order and kind of range comes up among the first ones of a key.
THOROUGH = {
    "test_equals_twin_at_edges": lambda variant, dtype, value_dtype, **_: (
        variant.params["wg_size"] > 1
        and (dtype, value_dtype)
        not in (
            *((np.uint32, np.uint32), (np.int32, None), (np.float32, np.float64)),
            *((np.uint64, np.float32), (np.int64, np.uint64), (np.float64, np.uint32)),
        )
    )
}


def sorted_by(device, variant, keys, values=None, **options):
    on_device = device.upload(keys)
    moved = None if values is None else device.upload(values)
    radix_sort(on_device, moved, variant=variant, **options)
    return on_device.get(), None if moved is None else moved.get()


def special(rng, n, dtype):
    """Any bits; a third of floats are zeros of both signs, infinities and NaNs."""
    keys = any_bits(rng, n, dtype)
    if keys.dtype.kind == "f":
        few = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan], dtype)
        chosen = rng.random(n) < 0.3
        keys[chosen] = rng.choice(few, int(chosen.sum()))
    return keys


@pytest.mark.few(6)
@pytest.mark.more(10)
@pytest.mark.parametrize(("dtype", "value_dtype", "descending", "begin", "end"), SORTS)
def test_equals_twin_at_edges(device, variant, rng, dtype, value_dtype, descending, begin, end):
    params = variant.params
    tile = 4096 if params["wg_size"] == 1 else params["wg_size"] * params["items"]
    options = {"descending": descending, "begin_bit": begin, "end_bit": end}
    for n in edge_sizes(device, tile, 4 * tile):
        keys = special(rng, n, dtype)
        values = None if value_dtype is None else any_bits(rng, n, value_dtype)
        got_keys, got_values = sorted_by(device, variant, keys, values, **options)
        keys, values = twin.radix_sort(keys, values, **options)
        assert_same_bits(got_keys, keys, f"keys of {n}")
        if values is not None:
            assert_same_bits(got_values, values, f"values of {n}")


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_twin_orders_as_numpy_does(rng, dtype):
    keys = special(rng, 5_000, dtype)
    order = twin.radix_argsort(keys)
    assert_same_bits(order, np.argsort(keys, kind="stable").astype(np.uint32))
    numbers = keys[~np.isnan(keys)] if keys.dtype.kind == "f" else keys
    down = keys[twin.radix_argsort(keys, descending=True)]
    assert np.array_equal(down[: len(numbers)], np.sort(numbers)[::-1])
    if dtype == np.uint32:
        some = (keys >> 5) & 127
        order = twin.radix_argsort(keys, begin_bit=5, end_bit=12)
        assert np.array_equal(order, np.argsort(some, kind="stable"))


@pytest.mark.parametrize("dtype", [np.float32, np.uint64])
@pytest.mark.parametrize("descending", [False, True])
def test_argsort(device, variant, rng, dtype, descending):
    for n in (0, 1, 300) if device.caps.is_simulator else (0, 1, 300, 20_011):
        keys = special(rng, n, dtype)
        on_device = device.upload(keys)
        order = radix_argsort(on_device, descending=descending, variant=variant)
        assert_same_bits(order.get(), twin.radix_argsort(keys, descending=descending))
        assert_same_bits(on_device.get(), keys, "keys stay as they are")


def test_few_keys_have_small_tiles():
    """A sweep has a tile for each unit, if there are keys enough; other sorts' tiles stay."""
    caps, key = make_caps(kind="gpu", compute_units=10), np.dtype(np.float32)
    sweep, *_, portable = (one for one in KERNELS[KERNEL].variants if one.params["wg_size"] > 1)
    items, wg_size = sweep.params["items"], sweep.params["wg_size"]
    many = items * wg_size * caps.compute_units
    assert take(sweep, caps, many, key, None) == items
    assert take(sweep, caps, many - 1, key, None) == 4
    assert take(sweep, caps, many - 1, np.dtype(np.uint64), None) == 2
    assert take(portable, caps, 1, key, None) == portable.params["items"]


@pytest.mark.parametrize("value_dtype", [None, np.float64])
def test_places_beyond_32_bits(device, variant, rng, monkeypatch, value_dtype):
    """The kernels that count in 64 bits, on few keys."""
    for where in ("radix_plan", "radix_sort"):
        module = sys.modules[f"pyopencl_gbdt.primitives.{where}"]
        monkeypatch.setattr(module, "place_of", lambda n_keys: np.uint64)
    for n in (1, 300, 700) if device.caps.is_simulator else (1, 300, 20_011):
        keys = special(rng, n, np.int64)
        values = None if value_dtype is None else any_bits(rng, n, value_dtype)
        got_keys, got_values = sorted_by(device, variant, keys, values)
        keys, values = twin.radix_sort(keys, values)
        assert_same_bits(got_keys, keys)
        if values is not None:
            assert_same_bits(got_values, values)


@pytest.mark.parametrize("n_columns", [pytest.param(1, marks=pytest.mark.thorough), 2])
def test_nobody_has_to_wait(device, variant, rng, n_columns):
    """Where words of other work-groups are not waited for, a work-group counts their keys."""
    if "spin" not in variant.params:
        pytest.skip("does not look back")
    n = 700 if device.caps.is_simulator else 9_000
    for spin, window in ((0, 1), (1, 1), (1, 4), (3, 3)):
        params = {**variant.params, "spin": spin, "window": window, "items": 2}
        chosen = replace(variant, params=params)
        keys, values = floats(rng, n * n_columns), any_bits(rng, n * n_columns, np.uint32)
        on_device, moved = device.upload(keys), device.upload(values)
        RadixSort(
            device, n, np.float32, np.uint32, columns=n_columns, begin_bit=16, variant=chosen
        ).sort(on_device, moved)
        for column in range(n_columns):
            some = slice(column * n, (column + 1) * n)
            keys[some], values[some] = twin.radix_sort(keys[some], values[some], begin_bit=16)
        assert_same_bits(on_device.get(), keys)
        assert_same_bits(moved.get(), values)


@pytest.mark.parametrize("radix_bits", [4, 8])
@pytest.mark.parametrize("dtype", [np.uint32, np.float64])
def test_bits_are_cut_into_digits(dtype, radix_bits):
    """Every bit of a range belongs to one digit; passes are even in number."""
    dtype = np.dtype(dtype)
    for begin in range(8 * dtype.itemsize + 1):
        for end in range(begin, 8 * dtype.itemsize + 1):
            bits = cut_bits(begin, end, dtype, radix_bits)
            assert bits.passes % 2 == 0
            digits = [bits.digit(number).values() for number in range(bits.passes)]
            places = [int(mask) << int(shift) for shift, mask in digits]
            assert sum(places) == (1 << end) - (1 << begin)
            assert all(int(mask) < 1 << radix_bits for _, mask in digits)
            assert all(int(shift) < 8 * dtype.itemsize for shift, _ in digits)


@pytest.mark.parametrize("dtype", [np.uint32, np.int32, np.float32])
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
    small = many_groups(variant, 3, alone=50)
    n = 700 if device.caps.is_simulator else 30_011
    keys, values = any_bits(rng, n, np.float32), any_bits(rng, n, np.float32)
    got_keys, got_values = sorted_by(device, small, keys, values)
    keys, values = twin.radix_sort(keys, values)
    assert_same_bits(got_keys, keys)
    assert_same_bits(got_values, values)


def test_smaller_work_groups(device, rng):
    """Where a driver allows fewer work-items, ``build`` halves the size: the bits stay."""
    n = 300 if device.caps.is_simulator else 9_000
    chosen = narrow(device, KERNEL)
    keys, values = floats(rng, n), np.arange(n, dtype=np.uint32)
    got_keys, got_values = sorted_by(device, chosen, keys, values)
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
        run_without_waiting(device, launches)
        expected = twin.radix_sort(host, np.arange(n, dtype=np.int32))
        assert_same_bits(keys.get(), expected[0])
        assert_same_bits(values.get(), expected[1])


def test_fewer_bits_when_bound(device, variant, rng):
    keys, rows = rng.integers(0, 2**32, 5000, np.uint32), np.arange(5000, dtype=np.uint32)
    sort = RadixSort(device, keys.size, np.uint32, np.uint32, variant=variant)
    for end_bit in (0, 3, 17, 32):
        there, moved = device.upload(keys), device.upload(rows)
        for launch in sort.bind(there, moved, end_bit=end_bit):
            launch()
        wanted = np.argsort(keys & np.uint32(2**end_bit - 1), kind="stable")
        assert_same_bits(moved.get(), wanted.astype(np.uint32))
        assert_same_bits(there.get(), keys[wanted])
    with pytest.raises(ParameterError, match=r"end_bit=33: expected an integer 0\.\.32"):
        sort.bind(there, moved, end_bit=33)


@pytest.mark.parametrize("value_dtype", [np.uint32, None])
@pytest.mark.parametrize("columns", [1, 2, 3, 7])
def test_columns_side_by_side(device, variant, rng, columns, value_dtype):
    """Each as if alone, those before and behind untouched, by whole columns and in chunks."""
    small = many_groups(variant, 3, alone=50)
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
@pytest.mark.parametrize("kind", ["cpu", "gpu"])
def test_scratch_is_what_was_said(columns, has_values, kind):
    for n, key, value in (
        (0, np.float32, np.uint32), (1, np.float32, np.uint32), (5000, np.float32, np.uint32),
        (100_000, np.float32, np.uint32), (5000, np.float64, np.uint32),
        (5000, np.uint32, np.int64),
    ):  # fmt: skip
        opened = open_device(TEST_DEVICE)
        opened.caps = replace(opened.caps, kind=kind)
        RadixSort(opened, n, key, value if has_values else None, columns=columns)
        assert opened.peak_bytes == scratch_bytes(
            opened, n, columns, has_values=has_values, key_dtype=key, value_dtype=value
        )


def test_errors_come_before_any_launch(device, other_device):
    keys = device.zeros(4, np.uint32)
    launched = device.n_launches
    with pytest.raises(DataError, match=r"keys: ndarray; expected a DeviceArray"):
        radix_sort(np.zeros(4, np.uint32))
    with pytest.raises(DataError, match=r"key_dtype: dtype uint8; expected one of uint32"):
        radix_sort(device.zeros(4, np.uint8))
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
    with pytest.raises(ParameterError, match=r"n=-1: expected an integer 0\.\.1099511627775"):
        RadixSort(device, -1, np.uint32)
    with pytest.raises(ParameterError, match=r"radix_sort='fast'"):
        radix_sort(keys, variant="fast")
    with pytest.raises(DataError, match=r"values: the same array as keys"):
        radix_sort(keys, keys)
    with pytest.raises(ParameterError, match=r"end_bit=33: expected an integer 0\.\.32.*uint32"):
        radix_sort(keys, end_bit=33)
    with pytest.raises(ParameterError, match=r"begin_bit=9: expected an integer 0\.\.8"):
        radix_sort(keys, begin_bit=9, end_bit=8)
    for bit in (-1, 1.5, True, "1"):
        with pytest.raises(ParameterError, match=r"begin_bit=.*leave both out"):
            radix_argsort(keys, begin_bit=bit)
    with pytest.raises(DataError, match=r"keys: ndarray"):
        radix_argsort(np.zeros(4, np.uint32))
    assert device.n_launches == launched
    prepared = RadixSort(device, 4, np.uint32, columns=2)
    with pytest.raises(DataError, match=r"keys: 4 elements; expected 8"):
        prepared.bind(keys)
    with pytest.raises(DataError, match=r"keys: 4 elements; expected 12"):
        prepared.bind(keys, first=1, columns=2)
    with pytest.raises(ParameterError, match=r"columns=3: expected an integer 0..2"):
        prepared.bind(keys, columns=3)
