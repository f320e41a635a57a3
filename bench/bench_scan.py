"""scan: prefix sums of 4- and 8-byte numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.common import Case, same, sample
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.primitives.scan import Scan
from pyopencl_gbdt.reference import scan as twin


def cases(device: Device, n: int, rng: np.random.Generator, variant: str) -> Iterator[Case]:
    for dtype in (np.uint32, np.int64, np.float32):
        values = sample(rng, n, dtype)
        out = device.empty(n, dtype)
        launches = Scan(device, n, dtype, inclusive=True, variant=variant).bind(
            device.upload(values), out
        )
        yield Case(
            kernel="scan",
            detail=f"{np.dtype(dtype).name} sum",
            n=n,
            n_bytes=2 * values.nbytes,
            launches=launches,
            check=lambda out=out, values=values: same(out.get(), twin.scan(values, inclusive=True)),
            numpy=lambda values=values: np.cumsum(values, dtype=values.dtype),
        )
