"""radix_sort: keys alone, with row numbers (an argsort), and with values of 8 bytes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.common import Case, same, same_sorted, sample
from pyopencl_gbdt.device import Device, DeviceArray
from pyopencl_gbdt.primitives.radix_sort import RadixSort
from tests.reference import radix_sort as twin

#: Beyond so many keys the twin takes too long.
_TWIN_KEYS = 2**24


def cases(device: Device, n: int, rng: np.random.Generator, variant: str) -> Iterator[Case]:
    for dtype, value_dtype in (
        (np.uint32, None),
        (np.uint32, np.uint32),
        (np.uint32, np.uint64),
        (np.float32, None),
        (np.float32, np.uint32),
        (np.uint64, None),
        (np.uint64, np.uint32),
    ):
        yield _case(device, sample(rng, n, dtype), value_dtype, variant)


def _case(device: Device, keys: np.ndarray, value_dtype: type | None, variant: str) -> Case:
    n = len(keys)
    rows: np.ndarray = np.arange(n, dtype=value_dtype or np.uint32)
    on_device: list[DeviceArray] = [device.upload(keys)]
    with_rows = value_dtype is not None
    if with_rows:
        on_device.append(device.upload(rows))

    def prepare() -> None:
        for array, host in zip(on_device, (keys, rows), strict=False):
            array.set(host)

    def check() -> None:
        if n > _TWIN_KEYS:
            same_sorted(on_device, keys, rows)
            return
        expected = twin.radix_sort(keys, rows)
        for array, host in zip(on_device, expected, strict=False):
            same(array.get(), host)

    return Case(
        kernel="radix_sort",
        detail=f"{keys.dtype.name}{f' + {rows.dtype.name}' if with_rows else ''}",
        n=n,
        n_bytes=2 * sum(array.nbytes for array in on_device),
        launches=RadixSort(device, n, keys.dtype, value_dtype, variant=variant).bind(*on_device),
        check=check,
        numpy=lambda: (np.argsort if with_rows else np.sort)(keys, kind="stable"),
        prepare=prepare,
        cub=_cub(keys.dtype.name, value_dtype),
    )


def _cub(kind: str, value_dtype: type | None) -> tuple[str, str, int] | None:
    if value_dtype is None:
        return "sort_keys", kind, 0
    return ("sort_pairs", kind, 0) if value_dtype is np.uint32 else None
