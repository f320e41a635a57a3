"""segmented_scan: prefix sums of segments of about 100 elements."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.common import Case, same, sample
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.primitives.segmented_scan import SegmentedScan
from pyopencl_gbdt.reference import segmented_scan as twin


def cases(device: Device, n: int, rng: np.random.Generator, variant: str) -> Iterator[Case]:
    heads = (rng.random(n) < 0.01).astype(np.uint8)
    starts = np.maximum.accumulate(np.where(heads, np.arange(n), 0))
    for dtype in (np.uint32, np.int64, np.float32):
        values = sample(rng, n, dtype)
        out = device.empty(n, dtype)
        prepared = SegmentedScan(device, n, dtype, variant=variant)
        yield Case(
            kernel="segmented_scan",
            detail=f"{np.dtype(dtype).name} sum",
            n=n,
            n_bytes=2 * values.nbytes + n,
            launches=prepared.bind(device.upload(values), device.upload(heads), out),
            check=lambda out=out, values=values: same(
                out.get(), twin.segmented_scan(values, heads)
            ),
            numpy=lambda values=values: _by_numpy(values, starts),
        )


def _by_numpy(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    sums = np.cumsum(values, dtype=values.dtype) - values
    return sums - sums[starts]
