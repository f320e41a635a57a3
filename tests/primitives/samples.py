"""Random arrays and edge sizes shared by the primitives' tests."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from pyopencl_gbdt.device import Device

#: Floats that break careless code: zeros of both signs, infinities, NaNs of any sign and payload.
SPECIAL_BITS = np.array(
    [0, 0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF],
    np.uint32,
)
#: What reduce and scan combine: every dtype summed and maximised, two of them minimised.
DTYPES_AND_OPS = [
    *itertools.product((np.int32, np.uint32, np.int64, np.float32), ("sum", "max")),
    (np.int32, "min"),
    (np.float32, "min"),
]


def edge_sizes(device: Device, *tiles: int) -> list[int]:
    """Return 0, 1, wg-1, wg, wg+1, wg*wg+1, the edges of tiles and a few others.

    A simulator gets few: it takes microseconds for one access to memory.
    """
    sizes = [0, 1, 2, 255, 256, 257]
    if device.caps.is_simulator:
        return [*sizes, max(tiles) + 1]
    sizes += [size for tile in tiles for size in (tile - 1, tile, tile + 1)]
    others = [12_345, 100_003] if device.caps.kind == "gpu" else []
    return [*sizes, 256 * 256 + 1, *others]


def any_bits(rng: np.random.Generator, n: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return ``n`` elements of random bits."""
    dtype = np.dtype(dtype)
    return rng.integers(0, 256, n * dtype.itemsize, dtype=np.uint8).view(dtype)


def floats(rng: np.random.Generator, n: int, special: float = 0.0) -> npt.NDArray[np.float32]:
    """Return normal float32 numbers; a share of them is replaced by special ones."""
    values = rng.standard_normal(n).astype(np.float32)
    chosen = rng.random(n) < special
    values.view(np.uint32)[chosen] = rng.choice(SPECIAL_BITS, int(chosen.sum()))
    return values


def special_floats(rng: np.random.Generator) -> Iterator[npt.NDArray[np.float32]]:
    """Yield 300 floats a time: few special ones and no NaN among them, then many with NaNs."""
    for share in (0.003, 0.02):
        values = floats(rng, 300, special=share)
        values[np.isnan(values)] = -0.0  # a NaN would hide the rest
        yield values
    yield floats(rng, 300, special=0.5)


def elements(
    rng: np.random.Generator, n: int, dtype: npt.DTypeLike, special: float = 0.0
) -> npt.NDArray[Any]:
    """Return normal floats or integers of random bits."""
    return floats(rng, n, special) if np.dtype(dtype) == np.float32 else any_bits(rng, n, dtype)


def cuts(rng: np.random.Generator, n: int, n_segments: int) -> npt.NDArray[np.int64]:
    """Return offsets of segments that cover ``n`` elements; about a third of them is empty."""
    inner = np.sort(rng.integers(0, n + 1, max(0, n_segments - 1)))
    again = rng.random(len(inner)) < 0.33
    inner[1:][again[1:]] = inner[:-1][again[1:]]
    return np.concatenate([[0], np.sort(inner), [n]]).astype(np.int64)
