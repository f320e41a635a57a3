"""multi_scan: few buckets and many, numbers and pairs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.common import Case, same, sample
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.primitives.multi_scan import MultiScan
from pyopencl_gbdt.reference import multi_scan as twin


def cases(device: Device, n: int, rng: np.random.Generator, variant: str) -> Iterator[Case]:
    for dtype, pairs, n_buckets in (
        (np.int32, False, 8),
        (np.int64, False, 64),
        (np.int64, True, 64),
    ):
        values = sample(rng, 2 * n if pairs else n, dtype).reshape((n, 2) if pairs else n)
        buckets = rng.integers(0, n_buckets, n).astype(np.uint8)
        out = device.empty(values.shape, dtype)
        prepared = MultiScan(device, n, n_buckets, dtype, pairs=pairs, variant=variant)
        yield Case(
            kernel="multi_scan",
            detail=f"{np.dtype(dtype).name}{' pairs' if pairs else ''} {n_buckets} buckets",
            n=n,
            n_bytes=2 * values.nbytes + buckets.nbytes,
            launches=prepared.bind(device.upload(values), device.upload(buckets), out),
            check=lambda out=out, values=values, buckets=buckets, n_buckets=n_buckets: same(
                out.get(), twin.multi_scan(values, buckets, n_buckets)
            ),
            numpy=lambda values=values, buckets=buckets, n_buckets=n_buckets: twin.multi_scan(
                values, buckets, n_buckets
            ),
        )
