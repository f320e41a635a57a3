"""Universal Binary JSON, as far as XGBoost writes it: arrays of one type become NumPy arrays.

A value is a letter and its bytes, big-endian. An object's keys are strings without the letter S; an
array of one type has its type and its length in front::

    {  L 0..04 size  i 7        {"size": 7,
       L 0..06 values           "values":
         [ $ d # L 0..02  3f800000 40000000     float32 [1, 2]}
    }

A length is never larger than the bytes that are left, so no more is allocated than the file bears
out: at most 40 times its size, which empty arrays in an array take.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from pyopencl_gbdt.errors import ModelFormatError

#: Types of numbers by their letters.
NUMBERS = {
    ord(letter): np.dtype(name)
    for letter, name in {
        "i": "i1", "U": "u1", "I": ">i2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"
    }.items()
}  # fmt: skip
#: The same in the machine's order of bytes; shared, so that an empty array takes few bytes.
_NATIVE = {letter: dtype.newbyteorder("=") for letter, dtype in NUMBERS.items()}
_SINGLE = {ord("Z"): None, ord("T"): True, ord("F"): False}
#: A document of XGBoost has 8 levels.
_DEEPEST = 64


def parse_ubjson(data: bytes, source: str) -> object:
    """Return the value that a document holds: dicts, lists, strings, numbers and NumPy arrays.

    Raises
    ------
    ModelFormatError
        If the document is damaged, has a member twice, or is nested more than 64 deep.
    """
    reader = _Reader(data, source)
    value = reader.value(reader.letter(), 0)
    if reader.place != len(data):
        reader.fail("the end of the document")
    return value


class _Reader:
    """A place in a document."""

    def __init__(self, data: bytes, source: str) -> None:
        self.data, self.source, self.place = data, source, 0

    def fail(self, expected: str) -> NoReturn:
        """Raise an error about the byte at this place."""
        byte = self.data[self.place : self.place + 1]
        found = repr(byte) if byte else "the end of the file"
        raise ModelFormatError(
            f"{self.source}: byte {self.place} is {found}: expected {expected}, in UBJSON of a "
            "model by XGBoost; the file is damaged or cut short, write the model again"
        )

    def letter(self) -> int:
        """Return the next letter; N means nothing."""
        while self.place < len(self.data) and self.data[self.place] == ord("N"):
            self.place += 1
        if self.place == len(self.data):
            self.fail("a value")
        self.place += 1
        return self.data[self.place - 1]

    def next_is(self, letter: str) -> bool:
        """Take the next byte if it is this letter."""
        found = self.data[self.place : self.place + 1] == letter.encode()
        self.place += found
        return found

    def take(self, size: int) -> bytes:
        """Return the next bytes."""
        if size > len(self.data) - self.place:
            self.fail(f"{size} bytes from here on")
        self.place += size
        return self.data[self.place - size : self.place]

    def length(self) -> int:
        """Return a length: a number of 0 or more, and no more than the bytes that are left."""
        begin = self.place
        letter = self.letter()
        if letter not in b"iUIlL":
            self.place = begin
            self.fail("the type of a length, one of i, U, I, l, L")
        size = NUMBERS[letter].itemsize
        found = int.from_bytes(self.take(size), "big", signed=letter != ord("U"))
        if not 0 <= found <= len(self.data) - self.place:
            self.place = begin
            self.fail(f"a length 0..{len(self.data) - begin}, the bytes that are left")
        return found

    def text(self) -> str:
        begin = self.place
        try:
            return self.take(self.length()).decode("utf-8")
        except UnicodeDecodeError:
            self.place = begin
            self.fail("UTF-8")

    def value(self, letter: int, depth: int) -> object:
        if letter == ord("{"):
            return self.members(self.deeper(depth))
        if letter == ord("["):
            return self.entries(self.deeper(depth))
        if letter == ord("S"):
            return self.text()
        if letter in NUMBERS:
            dtype = NUMBERS[letter]
            return np.frombuffer(self.take(dtype.itemsize), dtype)[0].item()
        if letter in _SINGLE:
            return _SINGLE[letter]
        self.place -= 1
        self.fail("a value of a type that XGBoost writes")

    def deeper(self, depth: int) -> int:
        if depth == _DEEPEST:
            self.fail(f"{_DEEPEST} levels at most")
        return depth + 1

    def members(self, depth: int) -> dict[str, object]:
        found: dict[str, object] = {}
        left = self.length() if self.next_is("#") else -1
        while left > 0 or (left < 0 and not self.next_is("}")):
            begin = self.place
            key = self.text()
            if key in found:
                self.place = begin
                self.fail(f"each member once, not {key!r:.80} twice")
            found[key] = self.value(self.letter(), depth)
            left -= left > 0
        return found

    def entries(self, depth: int) -> object:
        if self.next_is("$"):
            return self.typed()
        found: list[object] = []
        if self.next_is("#"):
            for _ in range(self.length()):
                found.append(self.value(self.letter(), depth))
            return found
        while not self.next_is("]"):
            found.append(self.value(self.letter(), depth))
        return found

    def typed(self) -> np.ndarray[Any, Any]:
        """Return an array of numbers of one type, in the machine's order of bytes."""
        letter = self.letter()
        if letter not in NUMBERS:
            self.place -= 1
            self.fail("an array of numbers of one type")
        if not self.next_is("#"):
            self.fail("# and a length")
        dtype = NUMBERS[letter]
        data = self.take(self.length() * dtype.itemsize)
        return np.frombuffer(data, dtype).astype(_NATIVE[letter])


def render_ubjson(value: object) -> bytes:
    """Return a value as XGBoost writes it: keys in order, integers of the smallest type.

    Parameters
    ----------
    value : object
        Dicts, lists, strings, integers, float32 and NumPy arrays of the types in ``NUMBERS``.
    """
    parts: list[bytes] = []
    _render(value, parts)
    return b"".join(parts)


def _render(value: object, parts: list[bytes]) -> None:
    if isinstance(value, dict):
        parts.append(b"{")
        for key in sorted(value):
            parts.append(_text(key))
            _render(value[key], parts)
        parts.append(b"}")
    elif isinstance(value, list):
        parts += [b"[#", _length(len(value))]
        for entry in value:
            _render(entry, parts)
    elif isinstance(value, np.ndarray):
        dtype = value.dtype.newbyteorder(">")
        letter = next(letter for letter, known in NUMBERS.items() if known == dtype)
        data = value.astype(dtype).tobytes()
        parts += [b"[$", bytes([letter]), b"#", _length(value.size), data]
    elif isinstance(value, str):
        parts += [b"S", _text(value)]
    elif isinstance(value, np.float32):
        parts.append(b"d" + np.array(value, ">f4").tobytes())
    elif isinstance(value, int):
        sizes = {1: b"i", 2: b"I", 4: b"l", 8: b"L"}
        # XGBoost writes the largest and the smallest number of a type in the next type
        size = next(one for one in sizes if abs(value + 0.5) < 2 ** (8 * one - 1) - 1)
        parts.append(sizes[size] + value.to_bytes(size, "big", signed=True))
    else:
        raise TypeError(f"{type(value).__name__}: expected what a model file has")


def _length(size: int) -> bytes:
    return b"L" + size.to_bytes(8, "big")


def _text(text: str) -> bytes:
    data = text.encode("utf-8")
    return _length(len(data)) + data
