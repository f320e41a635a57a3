"""Values with buckets, for multi_reduce and multi_scan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device
from tests.primitives.samples import any_bits, edge_sizes

Case = tuple[npt.NDArray[Any], npt.NDArray[Any], int]
#: Dtype of a value and its shape.
FORMS = [(np.int32, ()), (np.uint32, ()), (np.int64, ()), (np.int64, (2,))]


def values_of(
    rng: np.random.Generator, n: int, dtype: npt.DTypeLike, more: tuple[int, ...]
) -> npt.NDArray[Any]:
    """Return ``n`` values of random bits."""
    return any_bits(rng, n * int(np.prod(more, dtype=int)), dtype).reshape(n, *more)


def edges(
    device: Device,
    rng: np.random.Generator,
    dtype: npt.DTypeLike,
    more: tuple[int, ...],
    bucket_dtype: npt.DTypeLike,
) -> Iterator[Case]:
    """Yield values, buckets and how many buckets there are, at the edges of tiles."""
    for n in edge_sizes(device, 1024, 2048):
        for n_buckets in (1, 15, 16, 64):
            buckets = rng.integers(0, n_buckets, n).astype(bucket_dtype)
            yield values_of(rng, n, dtype, more), buckets, n_buckets


def with_none(rng: np.random.Generator) -> Iterator[Case]:
    """Yield values of which many have a bucket beyond the last one."""
    values, buckets = any_bits(rng, 5000, np.int64), any_bits(rng, 5000, np.uint8)
    for n_buckets in (1, 15, 16, 63):
        yield values, buckets, n_buckets
    yield values, any_bits(rng, 5000, np.uint32), 64


def many(device: Device, rng: np.random.Generator) -> Case:
    """Return enough for many small work-groups."""
    n = 700 if device.caps.is_simulator else 30_011
    return any_bits(rng, n, np.int32), rng.integers(0, 20, n).astype(np.uint8), 20
