"""radix_sort: keys alone and with row numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.common import Case, same, sample
from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.primitives.radix_sort import RadixSort
from pyopencl_gbdt.reference import radix_sort as twin


def cases(device: Device, n: int, rng: np.random.Generator, variant: str) -> Iterator[Case]:
    for dtype in (np.uint32, np.float32):
        for with_rows in (False, True):
            yield _case(device, sample(rng, n, dtype), with_rows, variant)


def _case(device: Device, keys: np.ndarray, with_rows: bool, variant: str) -> Case:
    n, rows = len(keys), np.arange(len(keys), dtype=np.uint32)
    on_device: list[DeviceArray] = [device.upload(keys)]
    if with_rows:
        on_device.append(device.upload(rows))
    value_dtype = np.uint32 if with_rows else None

    def prepare() -> None:
        for array, host in zip(on_device, (keys, rows), strict=False):
            array.set(host)

    def check() -> None:
        expected = twin.radix_sort(keys, rows)
        for array, host in zip(on_device, expected, strict=False):
            same(array.get(), host)

    return Case(
        kernel="radix_sort",
        detail=f"{keys.dtype.name}{' + rows' if with_rows else ''}",
        n=n,
        n_bytes=2 * len(on_device) * keys.nbytes,
        launches=RadixSort(device, n, keys.dtype, value_dtype, variant=variant).bind(*on_device),
        check=check,
        numpy=lambda: np.argsort(keys, kind="stable") if with_rows else np.sort(keys),
        prepare=prepare,
    )
