"""multi_reduce: few buckets and many, numbers and pairs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from bench.common import Case, same, sample
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.primitives.multi_reduce import MultiReduce
from tests.reference import multi_reduce as twin


def inputs(rng: np.random.Generator, n: int) -> Iterator[tuple[np.ndarray, np.ndarray, int, str]]:
    """Yield values, buckets, how many buckets there are, and what to call that."""
    for dtype, pairs, n_buckets in (
        (np.int32, False, 8),
        (np.int64, False, 64),
        (np.int64, True, 64),
    ):
        values = sample(rng, 2 * n if pairs else n, dtype).reshape((n, 2) if pairs else n)
        buckets = rng.integers(0, n_buckets, n).astype(np.uint8)
        name = f"{np.dtype(dtype).name}{' pairs' if pairs else ''} {n_buckets} buckets"
        yield values, buckets, n_buckets, name


def cases(device: Device, n: int, rng: np.random.Generator, variant: str) -> Iterator[Case]:
    for values, buckets, n_buckets, name in inputs(rng, n):
        out = device.empty((n_buckets, *values.shape[1:]), values.dtype)
        prepared = MultiReduce(
            *(device, n, n_buckets, values.dtype), pairs=values.ndim == 2, variant=variant
        )
        by_numpy = partial(twin.multi_reduce, values, buckets, n_buckets)
        yield Case(
            kernel="multi_reduce",
            detail=name,
            n=n,
            n_bytes=values.nbytes + buckets.nbytes,
            launches=prepared.bind(device.upload(values), device.upload(buckets), out),
            check=lambda out=out, by_numpy=by_numpy: same(out.get(), by_numpy()),
            numpy=by_numpy,
        )
