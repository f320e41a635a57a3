"""Random numbers without state: the twin of ``cl_kernels/random.h``."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

U32 = npt.NDArray[np.uint32]
_u = np.uint32


def mix(given: Any) -> U32:
    """Mix the bits of each 32-bit number; the mapping is a bijection."""
    x: U32 = np.atleast_1d(np.asarray(given, np.uint32)).copy()
    x ^= x >> _u(16)
    x *= _u(0x7FEB352D)
    x ^= x >> _u(15)
    x *= _u(0x846CA68B)
    x ^= x >> _u(16)
    return x


def stream(seed: int, a: int, b: int) -> U32:
    """Return the key of a random stream, uint32 (1,)."""
    start = np.array([(seed + 0x9E3779B9) & 0xFFFFFFFF], np.uint32)
    other = np.array([(b * 0x85EBCA6B + 0xC2B2AE35) & 0xFFFFFFFF], np.uint32)
    return mix(mix(mix(start) + _u(a)) ^ other)


def random_bits(key: U32, i: npt.ArrayLike) -> U32:
    """Return the numbers at positions ``i`` of a stream, uint32."""
    return mix(mix(np.asarray(i, np.uint32) + key) ^ (key * _u(0x27D4EB2F)))


def unit_numbers(bits: U32) -> npt.NDArray[np.float32]:
    """Convert random bits to float32 numbers x with 0 <= x < 1."""
    numbers: npt.NDArray[np.float32] = (bits >> _u(8)).astype(np.float32) * np.float32(2.0**-24)
    return numbers
