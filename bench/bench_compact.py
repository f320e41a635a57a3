"""compact: half of the values and few of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.common import Case, same, sample
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.primitives.compact import Compact
from tests.reference import compact as twin


def cases(device: Device, n: int, rng: np.random.Generator, variant: str) -> Iterator[Case]:
    values = sample(rng, n, np.uint32)
    for share in (0.5, 0.01):
        yield _case(device, values, (rng.random(n) < share).astype(np.uint8), share, variant)


def _case(
    device: Device, values: np.ndarray, flags: np.ndarray, share: float, variant: str
) -> Case:
    n = len(values)
    expected = twin.compact(values, flags)
    out, count = device.empty(n, np.uint32), device.empty(1, np.uint32)
    launches = Compact(device, n, np.uint32, variant=variant).bind(
        device.upload(values), device.upload(flags), out, count
    )

    def check() -> None:
        same(count.get(), np.array([len(expected)], np.uint32))
        same(out.get()[: len(expected)], expected)

    return Case(
        kernel="compact",
        detail=f"uint32 {share:.0%}",
        n=n,
        n_bytes=values.nbytes + n + expected.nbytes,
        launches=launches,
        check=check,
        numpy=lambda: values[flags.view(np.bool_)],
        cub=("compact", "uint32", 0) if share == 0.5 else None,
    )
