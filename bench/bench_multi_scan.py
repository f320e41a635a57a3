"""multi_scan: few buckets and many, numbers and pairs, as for multi_reduce."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from bench.bench_multi_reduce import inputs
from bench.common import Case, same
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.primitives.multi_scan import MultiScan
from tests.reference import multi_scan as twin


def cases(device: Device, n: int, rng: np.random.Generator, variant: str) -> Iterator[Case]:
    for values, buckets, n_buckets, name in inputs(rng, n):
        out = device.empty(values.shape, values.dtype)
        prepared = MultiScan(
            *(device, n, n_buckets, values.dtype), pairs=values.ndim == 2, variant=variant
        )
        by_numpy = partial(twin.multi_scan, values, buckets, n_buckets)
        yield Case(
            kernel="multi_scan",
            detail=name,
            n=n,
            n_bytes=2 * values.nbytes + buckets.nbytes,
            launches=prepared.bind(device.upload(values), device.upload(buckets), out),
            check=lambda out=out, by_numpy=by_numpy: same(out.get(), by_numpy()),
            numpy=by_numpy,
        )
