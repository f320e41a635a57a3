"""Cases of ``python -m bench primitives``: reductions and scans of arrays, segments, buckets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from bench.common import Case, same, sample
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.primitives import (
    MultiReduce,
    MultiScan,
    Reduce,
    Scan,
    SegmentedReduce,
    SegmentedScan,
)
from tests.reference import multi_reduce as multi_reduce_twin
from tests.reference import multi_scan as multi_scan_twin
from tests.reference import reduce as reduce_twin
from tests.reference import scan as scan_twin
from tests.reference import segmented_reduce as segmented_reduce_twin
from tests.reference import segmented_scan as segmented_scan_twin

Array = np.ndarray
Generator = np.random.Generator
_I32, _I64, _F32 = np.int32, np.int64, np.float32
#: A dtype and an operation.
REDUCED = ((_I32, "sum"), (_I64, "sum"), (_F32, "sum"), (_F32, "max"))
SCANNED = (*REDUCED, (_I64, "sum of pairs"))
#: A dtype and the mean length of a segment; "0 to all" is half of the rest each time.
LENGTHS = ((_I32, "1000"), (_F32, "1000"), (_I32, "0 to all"), (_I64, "50"), (_I32, "100000"))
#: A dtype and what says where segments begin.
HEADS = ((_I32, "flags"), (_I32, "offsets"), (_I64, "flags"), (_F32, "flags"))
#: A dtype, whether values are pairs, and the number of buckets.
_BUCKETS = ((_I32, False, 8), (_I64, False, 64), (_I64, True, 64))


def reduce(
    device: Device, n: int, rng: Generator, variant: str, kinds: Sequence[Any] = REDUCED
) -> Iterator[Case]:
    """Yield sums of 4- and 8-byte numbers, and the largest of them."""
    for dtype, op in kinds:
        values, out = sample(rng, n, dtype), device.empty(1, dtype)
        prepared = Reduce(device, n, dtype, op=op, variant=variant)
        sums = partial(np.sum, values, dtype=dtype)
        yield Case(
            *("reduce", f"{values.dtype} {op}", n, values.nbytes),
            prepared.bind(device.upload(values), out),
            lambda out=out, values=values, op=op: same(
                out.get(), reduce_twin.reduce(values, op=op)
            ),
            partial(np.max, values) if op == "max" else sums,
            cub=("reduce", values.dtype.name, 0) if op == "sum" else None,
        )


def scan(
    device: Device, n: int, rng: Generator, variant: str, kinds: Sequence[Any] = SCANNED
) -> Iterator[Case]:
    """Yield prefix sums of 4- and 8-byte numbers and of pairs, and prefix maxima."""
    for dtype, what in kinds:
        op, pairs = what[:3], what.endswith("pairs")
        count = n // 2 if pairs else n
        values = sample(rng, 2 * count if pairs else n, dtype)
        values = values.reshape(count, 2) if pairs else values
        out = device.empty(values.shape, dtype)
        prepared = Scan(device, count, dtype, inclusive=True, op=op, pairs=pairs, variant=variant)
        accumulate = np.maximum.accumulate if op == "max" else np.cumsum
        yield Case(
            *("scan", f"{values.dtype} {what}", count, 2 * values.nbytes),
            prepared.bind(device.upload(values), out),
            lambda out=out, values=values, op=op: same(
                out.get(), scan_twin.scan(values, inclusive=True, op=op)
            ),
            partial(accumulate, values, axis=0, dtype=dtype),
            cub=("scan", values.dtype.name, 0) if what == "sum" else None,
        )


def segmented_reduce(
    device: Device, n: int, rng: Generator, variant: str, kinds: Sequence[Any] = LENGTHS
) -> Iterator[Case]:
    """Yield sums of segments of about 1000, of 50, of a few long ones, and of all lengths."""
    for dtype, length in kinds:
        values, offsets = sample(rng, n, dtype), _offsets(rng, n, length)
        n_segments = len(offsets) - 1
        starts = np.minimum(offsets[:-1], n - 1)
        out = device.empty(n_segments, dtype)
        prepared = SegmentedReduce(device, n, n_segments, dtype, variant=variant)
        n_bytes = values.nbytes + offsets.nbytes + n_segments * values.itemsize
        yield Case(
            *("segmented_reduce", f"{values.dtype} of {length}", n, n_bytes),
            prepared.bind(device.upload(values), device.upload(offsets), out),
            lambda out=out, values=values, offsets=offsets: _same_sums(out.get(), values, offsets),
            partial(np.add.reduceat, values, starts, dtype=dtype),
            cub=("segmented_reduce", values.dtype.name, n_segments) if length.isdigit() else None,
        )


def _offsets(rng: Generator, n: int, length: str) -> Array:
    """Return offsets of segments of a mean length."""
    if length == "0 to all":
        ends = [0]
        while ends[-1] < n:
            ends += [ends[-1], ends[-1] + (n - ends[-1] + 1) // 2]
        inner = np.array(ends[1:-1])
    else:
        inner = np.sort(rng.integers(0, n + 1, max(1, n // int(length)) - 1))
    return np.concatenate([[0], inner, [n]]).astype(np.int64)


def _same_sums(got: Array, values: Array, offsets: Array) -> None:
    """Compare with the twin; integers with differences of prefix sums, which are quicker."""
    if values.dtype == np.float32:
        return same(got, segmented_reduce_twin.segmented_reduce(values, offsets))
    sums = np.concatenate([[0], np.cumsum(values, dtype=values.dtype)]).astype(values.dtype)
    return same(got, sums[offsets[1:]] - sums[offsets[:-1]])


def segmented_scan(
    device: Device, n: int, rng: Generator, variant: str, kinds: Sequence[Any] = HEADS
) -> Iterator[Case]:
    """Yield prefix sums of segments of about 1000 elements, by flags and by offsets."""
    heads = (rng.random(n) < 0.001).astype(np.uint8)
    heads[0] = 1
    places = np.flatnonzero(heads)
    offsets = np.concatenate([places, [n]]).astype(np.int64)
    starts = np.repeat(places, np.diff(offsets))
    for dtype, by in kinds:
        values, out = sample(rng, n, dtype), device.empty(n, dtype)
        prepared = SegmentedScan(device, n, dtype, variant=variant)
        given = offsets if by == "offsets" else heads
        bind = prepared.bind_offsets if by == "offsets" else prepared.bind
        yield Case(
            *("segmented_scan", f"{values.dtype} sum, {by}", n, 2 * values.nbytes + given.nbytes),
            bind(device.upload(values), device.upload(given), out),
            lambda out=out, values=values: same(
                out.get(),
                segmented_scan_twin.segmented_scan(values, heads)
                if values.dtype == np.float32
                else _scanned(values, starts),  # which is quicker
            ),
            partial(_scanned, values, starts),
            cub=("segmented_scan", values.dtype.name, len(places)),
        )


def _scanned(values: Array, starts: Array) -> Array:
    sums = np.cumsum(values, dtype=values.dtype) - values
    return sums - sums[starts]


def _bucketed(rng: Generator, n: int) -> Iterator[tuple[Array, Array, int, str]]:
    """Yield values, buckets, how many buckets there are, and what to call that."""
    for dtype, pairs, n_buckets in _BUCKETS:
        values = sample(rng, 2 * n if pairs else n, dtype).reshape((n, 2) if pairs else n)
        buckets = rng.integers(0, n_buckets, n).astype(np.uint8)
        name = f"{values.dtype}{' pairs' if pairs else ''} {n_buckets} buckets"
        yield values, buckets, n_buckets, name


def multi_reduce(device: Device, n: int, rng: Generator, variant: str) -> Iterator[Case]:
    """Yield sums by few buckets and many, of numbers and pairs."""
    for values, buckets, n_buckets, name in _bucketed(rng, n):
        out = device.empty((n_buckets, *values.shape[1:]), values.dtype)
        sizes = device, n, n_buckets, values.dtype
        prepared = MultiReduce(*sizes, pairs=values.ndim == 2, variant=variant)
        by_numpy = partial(multi_reduce_twin.multi_reduce, values, buckets, n_buckets)
        yield Case(
            *("multi_reduce", name, n, values.nbytes + buckets.nbytes),
            prepared.bind(device.upload(values), device.upload(buckets), out),
            lambda out=out, by_numpy=by_numpy: same(out.get(), by_numpy()),
            by_numpy,
        )


def multi_scan(device: Device, n: int, rng: Generator, variant: str) -> Iterator[Case]:
    """Yield prefix sums by few buckets and many, of numbers and pairs."""
    for values, buckets, n_buckets, name in _bucketed(rng, n):
        out, sizes = device.empty(values.shape, values.dtype), (device, n, n_buckets, values.dtype)
        prepared = MultiScan(*sizes, pairs=values.ndim == 2, variant=variant)
        by_numpy = partial(multi_scan_twin.multi_scan, values, buckets, n_buckets)
        yield Case(
            *("multi_scan", name, n, 2 * values.nbytes + buckets.nbytes),
            prepared.bind(device.upload(values), device.upload(buckets), out),
            lambda out=out, by_numpy=by_numpy: same(out.get(), by_numpy()),
            by_numpy,
        )
