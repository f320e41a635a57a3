"""stable_partition: rows in one segment and in many."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.common import Case, same, sample
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.primitives.stable_partition import StablePartition
from tests.reference import stable_partition as twin


def cases(device: Device, n: int, rng: np.random.Generator, variant: str) -> Iterator[Case]:
    values, flags = sample(rng, n, np.uint32), (rng.random(n) < 0.5).astype(np.uint8)
    for n_segments in (1, 64):
        yield _case(device, values, flags, n_segments, rng, variant)


def _case(
    device: Device,
    values: np.ndarray,
    flags: np.ndarray,
    n_segments: int,
    rng: np.random.Generator,
    variant: str,
) -> Case:
    n = len(values)
    inner = np.sort(rng.integers(0, n + 1, n_segments - 1))
    offsets = np.concatenate([[0], inner, [n]]).astype(np.int64)
    out, counts = device.empty(n, np.uint32), device.empty(n_segments, np.uint32)
    prepared = StablePartition(device, n, n_segments, np.uint32, variant=variant)
    inputs = (device.upload(values), device.upload(flags), device.upload(offsets))

    def check() -> None:
        expected = twin.stable_partition(values, flags, offsets)
        same(out.get(), expected[0])
        same(counts.get(), expected[1])

    return Case(
        kernel="stable_partition",
        detail=f"uint32 {n_segments} segments",
        n=n,
        n_bytes=2 * values.nbytes + n,
        launches=prepared.bind(*inputs, out, counts),
        check=check,
        numpy=lambda: twin.stable_partition(values, flags, offsets),
    )
