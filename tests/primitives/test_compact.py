"""compact: equal to boolean indexing, bit by bit, in every variant."""

import numpy as np
import pytest

from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.primitives.compact import Compact, compact
from tests.compare import assert_same_bits
from tests.primitives.running import many_groups, run_without_waiting
from tests.primitives.samples import any_bits, edge_sizes
from tests.reference import compact as twin

KERNEL = "compact"
DTYPES = [np.uint32, np.int32, np.float32, np.int64]


def check(device, variant, values, flags):
    out, count = compact(device.upload(values), device.upload(flags), variant=variant)
    expected = twin.compact(values, flags)
    assert_same_bits(count.get(), np.array([len(expected)], np.uint32))
    assert out.size == values.size
    assert_same_bits(out.get()[: len(expected)], expected, f"of {len(values)}")


@pytest.mark.parametrize("dtype", DTYPES)
def test_equals_twin_at_edges(device, variant, rng, dtype):
    for n in edge_sizes(device, 64, 1024, 4096):
        for share in (0.01, 0.5):
            check(device, variant, any_bits(rng, n, dtype), rng.random(n) < share)


def test_any_flag_but_zero_is_set(device, variant, rng):
    check(device, variant, any_bits(rng, 300, np.uint32), rng.integers(0, 5, 300).astype(np.uint8))


def test_none_and_all(device, variant, rng):
    values = any_bits(rng, 300, np.float32)
    check(device, variant, values, np.zeros(300, np.uint8))
    check(device, variant, values, np.ones(300, np.uint8))


def test_many_small_groups(device, variant, rng):
    chosen = many_groups(variant, 4, alone=70)
    n = 700 if device.caps.is_simulator else 30_011
    check(device, chosen, any_bits(rng, n, np.int64), rng.random(n) < 0.5)


def test_prepared_runs_again_without_waiting(device, rng):
    n = 300
    values, flags = device.zeros(n, np.int32), device.zeros(n, np.uint8)
    out, count = device.zeros(n, np.int32), device.zeros(1, np.uint32)
    launches = Compact(device, n, np.int32).bind(values, flags, out, count)
    for _ in range(2):
        host, kept = any_bits(rng, n, np.int32), rng.random(n) < 0.5
        values.set(host)
        flags.set(kept)
        run_without_waiting(device, launches)
        assert_same_bits(out.get()[: count.get()[0]], twin.compact(host, kept))


def test_errors_come_before_any_launch(device, other_device):
    values, flags = device.zeros(4, np.int32), device.zeros(4, np.uint8)
    out = device.zeros(4, np.int32)
    launched = device.n_launches
    with pytest.raises(DataError, match="values: list; expected a DeviceArray"):
        compact([1], flags)
    with pytest.raises(DataError, match="dtype: dtype uint8; expected one of uint32"):
        compact(flags, flags)
    with pytest.raises(DataError, match="flags: dtype int32; expected one of uint8, bool"):
        compact(values, values)
    with pytest.raises(DataError, match="flags: 3 elements; expected 4"):
        compact(values, device.zeros(3, np.uint8))
    with pytest.raises(DataError, match="flags: lies on another opened device"):
        compact(values, other_device.zeros(4, np.uint8))
    with pytest.raises(DataError, match="count: 2 elements; expected 1"):
        Compact(device, 4, np.int32).bind(values, flags, out, device.zeros(2, np.uint32))
    with pytest.raises(DataError, match="out: the same array as values"):
        Compact(device, 4, np.int32).bind(values, flags, values, device.zeros(1, np.uint32))
    assert device.n_launches == launched
