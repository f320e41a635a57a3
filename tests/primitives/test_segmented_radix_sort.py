"""segmented_radix_sort: equal to a stable argsort a segment, bit by bit, in every variant."""

from dataclasses import replace

import numpy as np
import pytest

from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.primitives.segmented_radix_sort import SegmentedRadixSort, segmented_radix_sort
from tests.compare import assert_same_bits
from tests.primitives.running import narrow, run_without_waiting
from tests.primitives.samples import any_bits, cuts, floats
from tests.reference import segmented_radix_sort as twin

KERNEL = "segmented_radix_sort"
DTYPES = [np.uint32, np.int32, np.float32, np.uint64, np.int64, np.float64]
#: Keys in one of both orders; uint32, int32 and float32 come up in other tests too.
THOROUGH = {
    "test_equals_twin_at_edges": lambda variant, dtype, value_dtype, descending: (
        variant.params["wg_size"] > 1
        and descending != (dtype in (np.uint64, np.int32, np.float64))
        and value_dtype == np.uint32
    )
}


def small_tiles(variant):
    """The same variant with tiles of 256 keys and chunks of 512: few keys meet all classes."""
    if variant.params["wg_size"] == 1:
        return variant
    return replace(variant, params={**variant.params, "wg_size": 32, "items": 8, "large_tiles": 2})


def offsets_of(lengths):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def check(device, variant, keys, offsets, values=None, *, descending=False):
    on_device = device.upload(keys)
    moved = None if values is None else device.upload(values)
    segmented_radix_sort(on_device, offsets, moved, descending=descending, variant=variant)
    host_offsets = offsets.get() if hasattr(offsets, "get") else offsets
    want = twin.segmented_radix_sort(keys, host_offsets, values, descending=descending)
    assert_same_bits(on_device.get(), want[0], f"keys of {len(keys)}")
    if values is not None:
        assert_same_bits(moved.get(), want[1], f"values of {len(keys)}")


#: Edges of the classes of ``small_tiles``: tiny up to 64, small up to 256, chunks of 512.
EDGES = [0, 1, 2, 31, 32, 33, 63, 64, 65, 0, 255, 256, 257, 0, 0, 511, 512, 513, 1024, 1500, 3]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(
    ("dtype", "value_dtype"),
    [*((dtype, np.uint32) for dtype in DTYPES), (np.uint32, None), (np.float64, np.int64)],
)
def test_equals_twin_at_edges(device, variant, rng, dtype, value_dtype, descending):
    offsets = offsets_of(EDGES)
    keys = any_bits(rng, offsets[-1], dtype)
    values = None if value_dtype is None else np.arange(len(keys), dtype=value_dtype)
    check(device, small_tiles(variant), keys, offsets, values, descending=descending)


def test_as_in_the_table(device, variant, rng):
    """With the tiles that the variant gives: the edges of its classes, and a long segment."""
    tile = variant.params["wg_size"] * variant.params["items"]
    lengths = [5, tile - 1, tile, 0, tile + 1, 4 * tile, 4 * tile + 1, 40_000, 64, 65]
    offsets = offsets_of(lengths)
    keys = any_bits(rng, offsets[-1], np.float32)
    check(device, variant, keys, offsets, np.arange(len(keys), dtype=np.uint32))


@pytest.mark.parametrize("n_segments", [1, 2, 300, 5000])
def test_random_cuts(device, variant, rng, n_segments):
    n = 700 if device.caps.is_simulator else 20_000
    keys = any_bits(rng, n, np.int32)
    check(device, small_tiles(variant), keys, cuts(rng, n, n_segments), any_bits(rng, n, np.int64))


def test_no_keys_and_no_segments(device, variant, rng):
    check(device, variant, np.zeros(0, np.uint32), np.zeros(4, np.int64))
    check(device, variant, np.zeros(0, np.uint32), np.zeros(1, np.int64))
    check(device, variant, any_bits(rng, 9, np.uint32), np.array([4], np.int64))
    check(device, variant, any_bits(rng, 1, np.uint32), np.array([0, 1], np.int64))


def test_keys_outside_of_segments_stay(device, variant, rng):
    keys = any_bits(rng, 3000, np.uint32)
    offsets = np.array([100, 150, 150, 1900, 2800], np.int64)
    check(device, small_tiles(variant), keys, offsets, np.arange(3000, dtype=np.uint32))


@pytest.mark.parametrize("few", [1, 3])
def test_equal_keys_keep_their_order(device, variant, rng, few):
    offsets = offsets_of([10, 64, 200, 2000, 700])
    keys = (rng.integers(0, few, offsets[-1]) - 1).astype(np.float32)
    for descending in (False, True):
        values = np.arange(len(keys), dtype=np.uint32)
        check(device, small_tiles(variant), keys, offsets, values, descending=descending)


@pytest.mark.parametrize("descending", [False, True])
def test_special_floats(device, variant, rng, descending):
    """The law that the twin keeps is in ``test_radix_sort.py``."""
    offsets = offsets_of([40, 200, 3000])
    keys = floats(rng, offsets[-1], special=0.4)
    places = np.arange(len(keys), dtype=np.uint32)
    check(device, small_tiles(variant), keys, offsets, places, descending=descending)


def test_device_offsets_of_both_types(device, variant, rng):
    keys, offsets = any_bits(rng, 2000, np.uint32), cuts(rng, 2000, 17)
    for dtype in (np.uint32, np.int64):
        check(device, small_tiles(variant), keys, device.upload(offsets, dtype))


def test_smaller_work_groups(device, rng):
    """Where a driver allows fewer work-items, ``build`` halves the size: the bits stay."""
    chosen = narrow(device, KERNEL)
    offsets = offsets_of([3, 64, 65, 128, 129, 900])
    check(device, chosen, floats(rng, offsets[-1]), offsets, np.arange(offsets[-1]))


def test_prepared_runs_again_without_waiting(device, variant, rng):
    n, n_segments = 3000, 6
    keys, values = device.zeros(n, np.float32), device.zeros(n, np.int32)
    offsets = device.zeros(n_segments + 1, np.uint32)
    prepared = SegmentedRadixSort(
        *(device, n, n_segments, np.float32, np.int32),
        offset_dtype=np.uint32,
        variant=small_tiles(variant),
    )
    launches = prepared.bind(keys, offsets, values)
    for _ in range(2):
        host, ends = floats(rng, n), cuts(rng, n, n_segments)
        keys.set(host)
        values.set(np.arange(n))
        offsets.set(ends)
        run_without_waiting(device, launches)
        want = twin.segmented_radix_sort(host, ends, np.arange(n, dtype=np.int32))
        assert_same_bits(keys.get(), want[0])
        assert_same_bits(values.get(), want[1])


def test_errors_come_before_any_launch(device, other_device):
    keys = device.zeros(4, np.uint32)
    launched = device.n_launches
    with pytest.raises(DataError, match="keys: ndarray; expected a DeviceArray"):
        segmented_radix_sort(np.zeros(4, np.uint32), [0, 4])
    with pytest.raises(DataError, match="keys: dtype uint8; expected one of uint32"):
        segmented_radix_sort(device.zeros(4, np.uint8), [0, 4])
    launched = device.n_launches
    with pytest.raises(DataError, match="values: 3 elements; expected 4"):
        segmented_radix_sort(keys, [0, 4], device.zeros(3, np.uint32))
    with pytest.raises(DataError, match="values: lies on another opened device"):
        segmented_radix_sort(keys, [0, 4], other_device.zeros(4, np.uint32))
    with pytest.raises(DataError, match="offsets: 3 at 1 is followed by 1; expected ascending"):
        segmented_radix_sort(keys, [0, 3, 1, 4])
    with pytest.raises(DataError, match=r"offsets: run from 0 to 5; expected within 0\.\.4"):
        segmented_radix_sort(keys, [0, 5])
    prepared = SegmentedRadixSort(device, 4, 1, np.uint32)
    with pytest.raises(DataError, match="value_dtype=None; give both or neither"):
        prepared.bind(keys, device.zeros(2, np.int64), device.zeros(4, np.uint32))
    with pytest.raises(DataError, match="offsets: 3 elements; expected 2"):
        prepared.bind(keys, device.zeros(3, np.int64))
    prepared = SegmentedRadixSort(device, 4, 1, np.uint32, np.uint32)
    ends = device.zeros(2, np.int64)
    launched = device.n_launches
    with pytest.raises(DataError, match="values: the same array as keys"):
        prepared.bind(keys, ends, keys)
    with pytest.raises(ParameterError, match=r"n=-1: expected an integer 0\.\.4294967295"):
        SegmentedRadixSort(device, -1, 1, np.uint32)
    assert device.n_launches == launched
