"""multi_scan: equal to a cumulative sum a bucket, bit by bit, in every variant."""

import numpy as np
import pytest

from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.primitives.multi_scan import MultiScan, multi_scan
from tests.compare import assert_same_bits
from tests.primitives.bucket_cases import FORMS, edges, many, values_of, with_none
from tests.primitives.running import many_groups, narrow, run_without_waiting
from tests.primitives.samples import any_bits
from tests.reference import multi_scan as twin

KERNEL = "multi_scan"
#: Both widths of buckets meet pairs, the widest values; int32 and uint32 have one kernel.
THOROUGH = {
    "test_equals_twin_at_edges": lambda bucket_dtype, dtype, more, **_: (
        dtype == np.uint32 or (bucket_dtype == np.uint32 and not more)
    )
}


def check(device, variant, values, buckets, n_buckets):
    on_device, ids = device.upload(values), device.upload(buckets)
    for inclusive in (False, True):
        got = multi_scan(on_device, ids, n_buckets, inclusive=inclusive, variant=variant).get()
        want = twin.multi_scan(values, buckets, n_buckets, inclusive=inclusive)
        assert_same_bits(got, want, f"scan of {len(values)} in {n_buckets}")


@pytest.mark.parametrize("bucket_dtype", [np.uint8, np.uint32])
@pytest.mark.parametrize(("dtype", "more"), FORMS)
def test_equals_twin_at_edges(device, variant, rng, dtype, more, bucket_dtype):
    for case in edges(device, rng, dtype, more, bucket_dtype):
        check(device, variant, *case)


def test_buckets_that_are_none(device, variant, rng):
    for case in with_none(rng):
        check(device, variant, *case)


@pytest.mark.parametrize("bucket", [0, 63])
def test_all_in_one_bucket(device, variant, rng, bucket):
    check(device, variant, any_bits(rng, 3000, np.int64), np.full(3000, bucket, np.uint8), 64)


def test_many_small_groups(device, variant, rng):
    check(device, many_groups(variant, 4), *many(device, rng))


def test_smaller_work_groups(device, rng):
    """Where a driver allows fewer work-items, ``build`` halves the size: the bits stay."""
    chosen = narrow(device, KERNEL)
    buckets = rng.integers(0, 64, 3000).astype(np.uint8)
    check(device, chosen, any_bits(rng, 3000, np.int64), buckets, 64)


def test_in_place(device, variant, rng):
    values = values_of(rng, 5000, np.int64, (2,))
    buckets = rng.integers(0, 9, 5000).astype(np.uint8)
    on_device = device.upload(values)
    assert multi_scan(on_device, device.upload(buckets), 9, on_device, variant=variant) is on_device
    assert_same_bits(on_device.get(), twin.multi_scan(values, buckets, 9))


def test_prepared_runs_again_without_waiting(device, rng):
    n = 300
    values, buckets = device.zeros(n, np.int32), device.zeros(n, np.uint32)
    out = device.zeros(n, np.int32)
    prepared = MultiScan(device, n, 5, np.int32, bucket_dtype=np.uint32)
    launches = prepared.bind(values, buckets, out)
    for _ in range(2):
        host, ids = any_bits(rng, n, np.int32), rng.integers(0, 5, n).astype(np.uint32)
        values.set(host)
        buckets.set(ids)
        run_without_waiting(device, launches)
        assert_same_bits(out.get(), twin.multi_scan(host, ids, 5))


def test_errors_come_before_any_launch(device, other_device):
    values, buckets = device.zeros(4, np.int32), device.zeros(4, np.uint8)
    launched = device.n_launches
    with pytest.raises(DataError, match="buckets: ndarray; expected a DeviceArray"):
        multi_scan(values, np.zeros(4, np.uint8), 3)
    with pytest.raises(DataError, match=r"values: shape \(4,\); expected \(3,\)"):
        multi_scan(values, device.empty(3, np.uint8), 3)
    with pytest.raises(DataError, match=r"out: shape \(3,\); expected \(4,\)"):
        multi_scan(values, buckets, 3, device.empty(3, np.int32))
    with pytest.raises(DataError, match="out: lies on another opened device"):
        multi_scan(values, buckets, 3, other_device.empty(4, np.int32))
    with pytest.raises(ParameterError, match=r"n_buckets=65: expected an integer 1\.\.64"):
        multi_scan(values, buckets, 65)
    assert device.n_launches == launched
