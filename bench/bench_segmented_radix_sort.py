"""segmented_radix_sort: many short segments, many of 1000 keys, and ten long ones."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from bench.common import Case, same, sample
from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.primitives.segmented_radix_sort import SegmentedRadixSort
from tests.reference import segmented_radix_sort as twin

#: Beyond so many keys the twin takes too long.
_TWIN_KEYS = 2**24


def cases(device: Device, n: int, rng: np.random.Generator, variant: str) -> Iterator[Case]:
    short = np.cumsum(rng.integers(0, 65, max(1, n // 32)))
    yield _case(device, rng, np.concatenate([[0], np.minimum(short, n)]), "0..64", False, variant)
    equal = np.arange(0, n + 1, min(n, 1000))
    for with_rows in (False, True):
        yield _case(device, rng, equal, "1000", with_rows, variant)
    yield _case(device, rng, np.linspace(0, n, 11).astype(np.int64), "10 long", False, variant)


def _case(
    device: Device,
    rng: np.random.Generator,
    offsets: np.ndarray,
    lengths: str,
    with_rows: bool,
    variant: str,
) -> Case:
    n, n_segments = int(offsets[-1]), len(offsets) - 1
    keys, rows = sample(rng, n, np.uint32), np.arange(n, dtype=np.uint32)
    on_device: list[DeviceArray] = [device.upload(keys)]
    if with_rows:
        on_device.append(device.upload(rows))
    sort = SegmentedRadixSort(
        *(device, n, n_segments, np.uint32, np.uint32 if with_rows else None), variant=variant
    )

    def prepare() -> None:
        for array, host in zip(on_device, (keys, rows), strict=False):
            array.set(host)

    def check() -> None:
        if n > _TWIN_KEYS:
            _in_order(on_device[0].get(), keys, offsets)
            return
        expected = twin.segmented_radix_sort(keys, offsets, rows)
        for array, host in zip(on_device, expected, strict=False):
            same(array.get(), host)

    def numpy() -> None:
        for start, end in pairwise(offsets):
            np.sort(keys[start:end], kind="stable")

    return Case(
        kernel="segmented_radix_sort",
        detail=f"uint32{' + rows' if with_rows else ''} {lengths}",
        n=n,
        n_bytes=2 * len(on_device) * keys.nbytes,
        launches=sort.bind(on_device[0], device.upload(offsets, np.int64), *on_device[1:]),
        check=check,
        numpy=numpy,
        prepare=prepare,
        cub=("segmented_sort", "uint32", n_segments)
        if lengths == "1000" and not with_rows
        else None,
    )


def _in_order(after: np.ndarray, before: np.ndarray, offsets: np.ndarray) -> None:
    """Raise AssertionError unless every segment ascends and has its keys' sum."""
    falls = np.flatnonzero(after[1:] < after[:-1]) + 1
    starts = offsets[:-1][offsets[:-1] < offsets[1:]]
    if np.setdiff1d(falls, starts).size:
        raise AssertionError("the device's segments are not in order")
    sums = [np.add.reduceat(keys, starts, dtype=np.uint64) for keys in (before, after)]
    same(sums[1], sums[0])
