"""Random damage to bytes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

#: Bytes that a mutated file has at most: repetition otherwise grows without end.
MOST_BYTES = 200_000

#: Numbers at the edges of types, and spellings that parsers disagree about.
NUMBERS = (
    b"0", b"-1", b"1e39", b"-1e39", b"1e400", b"1e-400", b"nan", b"-nan", b"inf", b"-Infinity",
    b"0x1F", b"1_0", b"1d5", b"1e", b".", b"-", b"+", b"--1", b"00001", b"1.", b".5", b"1,5",
    b"2147483646", b"2147483648", b"4294967296", b"9223372036854775807", b"18446744073709551616",
    b"1" * 400, b"0." + b"3" * 800, b"true", b"NA", b"None", b"\xd9\xa3",
)  # fmt: skip

_DIGITS = b"0123456789"


def mutate(data: bytes, rng: np.random.Generator, pieces: Sequence[bytes] = ()) -> bytes:
    """Return bytes with one to four random changes.

    Parameters
    ----------
    data : bytes
    rng : numpy.random.Generator
    pieces : sequence of bytes
        What the format's own text is made of.
    """
    for _ in range(min(rng.geometric(0.6), 4)):
        data = _CHANGES[rng.integers(len(_CHANGES))](data, rng, pieces)[:MOST_BYTES]
    return data


def _at(data: bytes, rng: np.random.Generator) -> int:
    return int(rng.integers(len(data) + 1))


def _piece(rng: np.random.Generator, pieces: Sequence[bytes]) -> bytes:
    if pieces and rng.random() < 0.8:
        return pieces[rng.integers(len(pieces))]
    return rng.bytes(rng.integers(1, 5))


def _write(data: bytes, rng: np.random.Generator, pieces: Sequence[bytes]) -> bytes:
    """Put a piece over nothing or over a few bytes."""
    start = _at(data, rng)
    return data[:start] + _piece(rng, pieces) + data[start + int(rng.integers(4)) :]


def _repeat(data: bytes, rng: np.random.Generator, pieces: Sequence[bytes]) -> bytes:
    """Put a piece many times."""
    start = _at(data, rng)
    return data[:start] + _piece(rng, pieces) * int(10 ** rng.uniform(0, 4.5)) + data[start:]


def _flip(data: bytes, rng: np.random.Generator, _: Sequence[bytes]) -> bytes:
    """Flip bits of some bytes."""
    changed = bytearray(data)
    for _time in range(int(rng.integers(1, 4)) if data else 0):
        changed[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _cut(data: bytes, rng: np.random.Generator, _: Sequence[bytes]) -> bytes:
    """Leave out a range, often up to the end."""
    start, end = sorted((_at(data, rng), _at(data, rng)))
    return data[:start] if rng.random() < 0.3 else data[:start] + data[end:]


def _copy(data: bytes, rng: np.random.Generator, _: Sequence[bytes]) -> bytes:
    """Put a range of the data at another place."""
    start, end = sorted((_at(data, rng), _at(data, rng)))
    to = _at(data, rng)
    return data[:to] + data[start:end] + data[to:]


def _number(data: bytes, rng: np.random.Generator, _: Sequence[bytes]) -> bytes:
    """Put a strange number in the place of some digits."""
    start = _at(data, rng)
    while start < len(data) and data[start] not in _DIGITS:
        start += 1
    end = start
    while end < len(data) and data[end] in _DIGITS:
        end += 1
    return data[:start] + NUMBERS[rng.integers(len(NUMBERS))] + data[end:]


_CHANGES = (_write, _write, _repeat, _flip, _cut, _copy, _number, _number)
