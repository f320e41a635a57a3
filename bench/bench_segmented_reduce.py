"""segmented_reduce: segments of about 1000, of 50, a few long ones, and all lengths at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.common import Case, same, sample
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.primitives.segmented_reduce import SegmentedReduce
from tests.reference import segmented_reduce as twin

KINDS = (
    (np.int32, "1000"),
    (np.float32, "1000"),
    (np.int32, "0 to all"),
    (np.int64, "50"),
    (np.int32, "100000"),
)


def cases(device: Device, n: int, rng: np.random.Generator, variant: str) -> Iterator[Case]:
    for dtype, length in KINDS:
        values = sample(rng, n, dtype)
        offsets = _offsets(rng, n, length)
        n_segments = len(offsets) - 1
        starts = np.minimum(offsets[:-1], n - 1)
        out = device.empty(n_segments, dtype)
        prepared = SegmentedReduce(device, n, n_segments, dtype, variant=variant)
        yield Case(
            kernel="segmented_reduce",
            detail=f"{np.dtype(dtype).name} of {length}",
            n=n,
            n_bytes=values.nbytes + offsets.nbytes + n_segments * values.itemsize,
            launches=prepared.bind(device.upload(values), device.upload(offsets), out),
            check=lambda out=out, values=values, offsets=offsets: _check(
                out.get(), values, offsets
            ),
            numpy=lambda values=values, starts=starts: np.add.reduceat(
                values, starts, dtype=values.dtype
            ),
            cub=("segmented_reduce", values.dtype.name, n_segments) if length.isdigit() else None,
        )


def _offsets(rng: np.random.Generator, n: int, length: str) -> np.ndarray:
    """Return offsets of segments of a mean length; "0 to all" is half of the rest each time."""
    if length == "0 to all":
        ends = [0]
        while ends[-1] < n:
            ends += [ends[-1], ends[-1] + (n - ends[-1] + 1) // 2]
        inner = np.array(ends[1:-1])
    else:
        inner = np.sort(rng.integers(0, n + 1, max(1, n // int(length)) - 1))
    return np.concatenate([[0], inner, [n]]).astype(np.int64)


def _check(got: np.ndarray, values: np.ndarray, offsets: np.ndarray) -> None:
    """Compare with the twin; integers with differences of prefix sums, which are quicker."""
    if values.dtype == np.float32:
        return same(got, twin.segmented_reduce(values, offsets))
    sums = np.concatenate([[0], np.cumsum(values, dtype=values.dtype)]).astype(values.dtype)
    return same(got, sums[offsets[1:]] - sums[offsets[:-1]])
