"""segmented_scan: prefix sums of segments of about 1000 elements, by flags and by offsets."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.common import Case, same, sample
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.primitives.segmented_scan import SegmentedScan
from tests.reference import segmented_scan as twin

KINDS = (
    (np.int32, "flags"),
    (np.int32, "offsets"),
    (np.int64, "flags"),
    (np.float32, "flags"),
)


def cases(device: Device, n: int, rng: np.random.Generator, variant: str) -> Iterator[Case]:
    heads = (rng.random(n) < 0.001).astype(np.uint8)
    heads[0] = 1
    places = np.flatnonzero(heads)
    offsets = np.concatenate([places, [n]]).astype(np.int64)
    starts = np.repeat(places, np.diff(offsets))
    for dtype, by in KINDS:
        values = sample(rng, n, dtype)
        out = device.empty(n, dtype)
        prepared = SegmentedScan(device, n, dtype, variant=variant)
        given = device.upload(offsets if by == "offsets" else heads)
        bind = prepared.bind_offsets if by == "offsets" else prepared.bind
        yield Case(
            kernel="segmented_scan",
            detail=f"{np.dtype(dtype).name} sum, {by}",
            n=n,
            n_bytes=2 * values.nbytes + (offsets.nbytes if by == "offsets" else n),
            launches=bind(device.upload(values), given, out),
            check=lambda out=out, values=values: _check(out.get(), values, heads, starts),
            numpy=lambda values=values: _by_numpy(values, starts),
            cub=("segmented_scan", values.dtype.name, len(places)),
        )


def _by_numpy(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    sums = np.cumsum(values, dtype=values.dtype) - values
    return sums - sums[starts]


def _check(got: np.ndarray, values: np.ndarray, heads: np.ndarray, starts: np.ndarray) -> None:
    """Compare with the twin; integers with NumPy's way, which is quicker."""
    integer = values.dtype != np.float32
    same(got, _by_numpy(values, starts) if integer else twin.segmented_scan(values, heads))
