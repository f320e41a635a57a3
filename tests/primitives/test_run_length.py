"""run_length: equal to the heads of runs and their distances, bit by bit, in every variant."""

import numpy as np
import pytest

from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.primitives.run_length import (
    RunLength,
    UniqueByKey,
    run_length_encode,
    unique_by_key,
)
from tests.compare import assert_same_bits
from tests.primitives.running import many_groups, run_without_waiting
from tests.primitives.samples import SPECIAL_BITS, any_bits, edge_sizes
from tests.reference import run_length as twin

KERNEL = "run_length"
DTYPES = [np.uint8, np.uint32, np.int32, np.float32, np.int64]


def runs(rng, n, dtype, mean):
    """Keys with runs of about so many equal neighbours."""
    lengths = rng.geometric(1 / mean, n // mean + 10)
    keys = np.repeat(any_bits(rng, len(lengths), dtype), lengths)
    return keys[:n] if len(keys) >= n else np.resize(keys, n)


def check(device, variant, keys):
    got = [array.get() for array in run_length_encode(device.upload(keys), variant=variant)]
    unique, counts = twin.run_length_encode(keys)
    n_runs = len(unique)
    assert_same_bits(got[2], np.array([n_runs], np.uint32), f"runs of {len(keys)}")
    assert_same_bits(got[0][:n_runs], unique, f"keys of {len(keys)}")
    assert_same_bits(got[1][:n_runs], counts, f"lengths of {len(keys)}")


@pytest.mark.parametrize("dtype", DTYPES)
def test_equals_twin_at_edges(device, variant, rng, dtype):
    for n in edge_sizes(device, 64, 1024, 2048):
        for mean in (1, 3, 500):
            check(device, variant, runs(rng, n, dtype, mean))


@pytest.mark.parametrize("n", [1, 256, 5000])
def test_one_run_and_none_longer_than_one(device, variant, n):
    check(device, variant, np.full(n, 7, np.int64))
    check(device, variant, np.arange(n, dtype=np.uint32))
    check(device, variant, (np.arange(n) % 2).astype(np.uint8))


def test_keys_are_compared_by_their_bits(device, variant, rng):
    keys = np.repeat(rng.choice(SPECIAL_BITS, 100), rng.integers(1, 4, 100)).view(np.float32)
    check(device, variant, keys)


def test_many_small_groups(device, variant, rng):
    chosen = many_groups(variant, 3, alone=70)
    n = 700 if device.caps.is_simulator else 30_011
    check(device, chosen, runs(rng, n, np.uint32, 2))


@pytest.mark.parametrize(
    ("key", "value"), [(np.uint8, np.int64), (np.int64, np.uint8), (np.float32, np.int32)]
)
def test_first_values(device, variant, rng, key, value):
    for n in (0, 1, 300, 2049, 9000):
        keys, values = runs(rng, n, key, 3), any_bits(rng, n, value)
        arrays = unique_by_key(device.upload(keys), device.upload(values), variant=variant)
        got = [array.get() for array in arrays]
        want = twin.unique_by_key(keys, values)
        assert_same_bits(got[2], np.array([len(want[0])], np.uint32))
        assert_same_bits(got[0][: len(want[0])], want[0], f"keys of {n}")
        assert_same_bits(got[1][: len(want[0])], want[1], f"values of {n}")


def test_prepared_runs_again_without_waiting(device, rng):
    n = 300
    keys, unique = device.zeros(n, np.int32), device.zeros(n, np.int32)
    counts, n_runs = device.zeros(n, np.uint32), device.zeros(1, np.uint32)
    launches = RunLength(device, n, np.int32).bind(keys, unique, counts, n_runs)
    for _ in range(2):
        host = runs(rng, n, np.int32, 4)
        keys.set(host)
        run_without_waiting(device, launches)
        n_found = int(n_runs.get()[0])
        assert_same_bits(unique.get()[:n_found], twin.run_length_encode(host)[0])
        assert_same_bits(counts.get()[:n_found], twin.run_length_encode(host)[1])


def test_errors_come_before_any_launch(device, other_device):
    keys = device.zeros(4, np.int32)
    unique, n_runs = device.zeros(4, np.int32), device.zeros(1, np.uint32)
    launched = device.n_launches
    with pytest.raises(DataError, match="keys: list; expected a DeviceArray"):
        run_length_encode([1])
    with pytest.raises(DataError, match="key_dtype: dtype uint64; expected one of uint8"):
        RunLength(device, 4, np.uint64)
    with pytest.raises(DataError, match="values: 3 elements; expected 4"):
        unique_by_key(keys, device.empty(3, np.int32))
    with pytest.raises(DataError, match="values: lies on another opened device"):
        unique_by_key(keys, other_device.empty(4, np.int32))
    with pytest.raises(DataError, match="unique: the same array as keys"):
        RunLength(device, 4, np.int32).bind(keys, keys, device.empty(4, np.uint32), n_runs)
    with pytest.raises(DataError, match="firsts: the same array as values"):
        UniqueByKey(device, 4, np.int32, np.int32).bind(keys, unique, unique, unique, n_runs)
    prepared = RunLength(device, 4, np.int32)
    with pytest.raises(DataError, match="n_runs: 2 elements; expected 1"):
        prepared.bind(keys, unique, device.empty(4, np.uint32), device.empty(2, np.uint32))
    with pytest.raises(ParameterError, match=r"n=4294967296: expected an integer 0\.\."):
        RunLength(device, 2**32, np.int32)
    assert device.n_launches == launched
