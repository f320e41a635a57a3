"""scan: prefix sums of 4- and 8-byte numbers and of pairs, and prefix maxima."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.common import Case, same, sample
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.primitives.scan import Scan
from tests.reference import scan as twin

KINDS = (
    (np.int32, "sum", False),
    (np.int64, "sum", False),
    (np.float32, "sum", False),
    (np.float32, "max", False),
    (np.int64, "sum", True),
)


def cases(device: Device, n: int, rng: np.random.Generator, variant: str) -> Iterator[Case]:
    for dtype, op, pairs in KINDS:
        count = n // 2 if pairs else n
        values = sample(rng, 2 * count if pairs else n, dtype)
        values = values.reshape(count, 2) if pairs else values
        out = device.empty(values.shape, dtype)
        prepared = Scan(device, count, dtype, inclusive=True, op=op, pairs=pairs, variant=variant)
        accumulate = np.maximum.accumulate if op == "max" else np.cumsum
        yield Case(
            kernel="scan",
            detail=f"{np.dtype(dtype).name} {op}{' of pairs' if pairs else ''}",
            n=count,
            n_bytes=2 * values.nbytes,
            launches=prepared.bind(device.upload(values), out),
            check=lambda out=out, values=values, op=op: same(
                out.get(), twin.scan(values, inclusive=True, op=op)
            ),
            numpy=lambda values=values, f=accumulate: f(values, axis=0, dtype=values.dtype),
            cub=None if op == "max" or pairs else ("scan", np.dtype(dtype).name, 0),
        )
