"""run_length: short runs and long ones, with their lengths; and first values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.common import Case, same, sample
from pyopencl_gbdt.device import Device
from pyopencl_gbdt.primitives.run_length import RunLength, UniqueByKey
from tests.reference import run_length as twin


def cases(device: Device, n: int, rng: np.random.Generator, variant: str) -> Iterator[Case]:
    for mean in (3, 100):
        keys = np.repeat(sample(rng, n, np.uint32), rng.geometric(1 / mean, n))[:n]
        yield _case(device, keys, None, f"uint32 runs of {mean}", variant)
    values = sample(rng, n, np.uint32)
    yield _case(device, keys, values, f"uint32 first values, {mean}", variant)


def _case(
    device: Device, keys: np.ndarray, values: np.ndarray | None, detail: str, variant: str
) -> Case:
    n, unique = len(keys), device.empty(len(keys), keys.dtype)
    n_runs, second = device.empty(1, np.uint32), device.empty(len(keys), np.uint32)
    on_device = device.upload(keys)
    if values is None:
        expected = twin.run_length_encode(keys)
        prepared = RunLength(device, n, keys.dtype, variant=variant)
        launches = prepared.bind(on_device, unique, second, n_runs)
    else:
        expected = twin.unique_by_key(keys, values)
        of_values = UniqueByKey(device, n, keys.dtype, values.dtype, variant=variant)
        launches = of_values.bind(on_device, device.upload(values), unique, second, n_runs)

    def check() -> None:
        same(n_runs.get(), np.array([len(expected[0])], np.uint32))
        same(unique.get()[: len(expected[0])], expected[0])
        same(second.get()[: len(expected[0])], expected[1])

    def numpy() -> object:
        return twin.run_length_encode(keys) if values is None else twin.unique_by_key(keys, values)

    return Case(
        kernel="run_length",
        detail=detail,
        n=n,
        n_bytes=keys.nbytes + expected[0].nbytes + expected[1].nbytes,
        launches=launches,
        check=check,
        numpy=numpy,
    )
