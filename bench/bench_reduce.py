"""reduce: sums of 4- and 8-byte numbers, and the largest of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.common import Case, same, sample
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.primitives.reduce import Reduce
from tests.reference import reduce as twin


def cases(device: Device, n: int, rng: np.random.Generator, variant: str) -> Iterator[Case]:
    kinds = ((np.int32, "sum"), (np.int64, "sum"), (np.float32, "sum"), (np.float32, "max"))
    for dtype, op in kinds:
        values = sample(rng, n, dtype)
        out = device.empty(1, dtype)
        prepared = Reduce(device, n, dtype, op=op, variant=variant)
        by_numpy = np.max if op == "max" else np.sum
        options = {} if op == "max" else {"dtype": values.dtype}
        yield Case(
            kernel="reduce",
            detail=f"{np.dtype(dtype).name} {op}",
            n=n,
            n_bytes=values.nbytes,
            launches=prepared.bind(device.upload(values), out),
            check=lambda out=out, values=values, op=op: same(out.get(), twin.reduce(values, op=op)),
            numpy=lambda values=values, f=by_numpy, options=options: f(values, **options),
            cub=("reduce", np.dtype(dtype).name, 0) if op == "sum" else None,
        )
