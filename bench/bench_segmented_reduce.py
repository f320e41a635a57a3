"""segmented_reduce: sums of many short segments, and of few long ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.common import Case, same, sample
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.primitives.segmented_reduce import SegmentedReduce
from pyopencl_gbdt.reference import segmented_reduce as twin


def cases(device: Device, n: int, rng: np.random.Generator, variant: str) -> Iterator[Case]:
    for dtype, length in ((np.int64, 50), (np.int64, 100_000), (np.float32, 100_000)):
        values = sample(rng, n, dtype)
        n_segments = max(1, n // length)
        inner = np.sort(rng.integers(0, n + 1, n_segments - 1))
        offsets = np.concatenate([[0], inner, [n]]).astype(np.int64)
        starts = np.minimum(offsets[:-1], n - 1)
        out = device.empty(n_segments, dtype)
        prepared = SegmentedReduce(device, n, n_segments, dtype, variant=variant)
        yield Case(
            kernel="segmented_reduce",
            detail=f"{np.dtype(dtype).name} {n_segments} segments",
            n=n,
            n_bytes=values.nbytes + offsets.nbytes + n_segments * values.itemsize,
            launches=prepared.bind(device.upload(values), device.upload(offsets), out),
            check=lambda out=out, values=values, offsets=offsets: same(
                out.get(), twin.segmented_reduce(values, offsets)
            ),
            numpy=lambda values=values, starts=starts: np.add.reduceat(values, starts),
        )
