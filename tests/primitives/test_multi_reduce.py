"""multi_reduce: equal to a sum a bucket, bit by bit, in every variant."""

import numpy as np
import pytest

from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.primitives.multi_reduce import MultiReduce, multi_reduce
from tests.compare import assert_same_bits
from tests.primitives.bucket_cases import FORMS, edges, many, values_of, with_none
from tests.primitives.running import many_groups, run_without_waiting
from tests.reference import multi_reduce as twin

KERNEL = "multi_reduce"
#: Both widths of buckets meet pairs, the widest values; int32 and uint32 have one kernel.
THOROUGH = {
    "test_equals_twin_at_edges": lambda bucket_dtype, dtype, more, **_: (
        dtype == np.uint32 or (bucket_dtype == np.uint32 and not more)
    )
}


def check(device, variant, values, buckets, n_buckets):
    got = multi_reduce(device.upload(values), device.upload(buckets), n_buckets, variant=variant)
    want = twin.multi_reduce(values, buckets, n_buckets)
    assert_same_bits(got.get(), want, f"sums of {len(values)} in {n_buckets}")


@pytest.mark.parametrize("bucket_dtype", [np.uint8, np.uint32])
@pytest.mark.parametrize(("dtype", "more"), FORMS)
def test_equals_twin_at_edges(device, variant, rng, dtype, more, bucket_dtype):
    for case in edges(device, rng, dtype, more, bucket_dtype):
        check(device, variant, *case)


def test_buckets_that_are_none(device, variant, rng):
    for case in with_none(rng):
        check(device, variant, *case)


@pytest.mark.parametrize("bucket", [0, 63])
def test_all_in_one_bucket_overflow_their_words(device, variant, bucket):
    for value in (2**32 - 1, -1, 2**63 - 1, -(2**32)):
        values = np.full(3000, value, np.int64)
        check(device, variant, values, np.full(3000, bucket, np.uint8), 64)


def test_many_small_groups(device, variant, rng):
    check(device, many_groups(variant, 4), *many(device, rng))


def test_prepared_runs_again_without_waiting(device, rng):
    n = 300
    values, buckets = device.zeros((n, 2), np.int64), device.zeros(n, np.uint8)
    out = device.zeros((5, 2), np.int64)
    launches = MultiReduce(device, n, 5, np.int64, pairs=True).bind(values, buckets, out)
    for _ in range(2):
        host, ids = values_of(rng, n, np.int64, (2,)), rng.integers(0, 5, n).astype(np.uint8)
        values.set(host)
        buckets.set(ids)
        run_without_waiting(device, launches)
        assert_same_bits(out.get(), twin.multi_reduce(host, ids, 5))


def test_errors_come_before_any_launch(device, other_device):
    values, buckets = device.zeros(4, np.int32), device.zeros(4, np.uint8)
    launched = device.n_launches
    with pytest.raises(DataError, match="values: list; expected a DeviceArray"):
        multi_reduce([1], buckets, 3)
    with pytest.raises(DataError, match="buckets: dtype int32; expected one of uint8, uint32"):
        multi_reduce(values, values, 3)
    with pytest.raises(DataError, match="dtype: dtype uint8; expected one of int32"):
        multi_reduce(buckets, buckets, 3)
    with pytest.raises(DataError, match=r"values: shape \(4,\); expected \(3,\)"):
        multi_reduce(values, device.empty(3, np.uint8), 3)
    with pytest.raises(DataError, match=r"values: shape \(4, 3\); expected \(4, 2\)"):
        multi_reduce(device.empty((4, 3), np.int64), buckets, 3)
    with pytest.raises(DataError, match="dtype: dtype int32; expected one of int64"):
        multi_reduce(device.empty((4, 2), np.int32), buckets, 3)
    with pytest.raises(DataError, match="buckets: lies on another opened device"):
        multi_reduce(values, other_device.empty(4, np.uint8), 3)
    for wrong in (0, 65, 2.5, True):
        with pytest.raises(ParameterError, match=r"n_buckets=.*: expected an integer 1\.\.64"):
            multi_reduce(values, buckets, wrong)
    with pytest.raises(DataError, match=r"out: shape \(4,\); expected \(3,\)"):
        MultiReduce(device, 4, 3, np.int32).bind(values, buckets, values)
    assert device.n_launches == launched
