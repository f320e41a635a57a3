"""Names and types of a kernel's parameters, read from its rendered source.

A launch gives its arguments by name, and this module checks them. So two arguments of one type
cannot be swapped by mistake, and an array of a wrong dtype is refused before the kernel reads it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Any

import numpy as np

from pyopencl_gbdt.dtypes import STRUCTS
from pyopencl_gbdt.lazy_dataclasses import dataclass

#: Most arguments that a launch may give by position.
MOST_POSITIONAL = 8
#: Integers that a parameter keeps in its kernel's type.
_MOST_KNOWN = 256

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
# patterns that begin with a letter are found 30 to 50 times as fast as those that begin with \b
_KERNEL = re.compile(r"KERNEL\(\s*\d+\s*\)\s*(\w+)\s*\(([^()]*)\)\s*\{")
_TYPEDEF = re.compile(r"typedef\s+(\w+)\s+(\w+)\s*;")
_WORDS = re.compile(r"words_(\d+)")
_PARAMETER = re.compile(r"(?:GLOBAL\s+)?(?:const\s+)?(\w+)\s*(\*?)\s*(?:RESTRICT\s+)?(\w+)")

#: NumPy types of the kernels' scalar types.
_SCALARS: dict[str, Any] = {
    "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64,
    "i32": np.int32, "i64": np.int64, "f32": np.float32,
}  # fmt: skip
_LIMITS = {
    name: (np.iinfo(scalar).min, np.iinfo(scalar).max)
    for name, scalar in _SCALARS.items()
    if name != "f32"
}
_DTYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(scalar) for name, scalar in _SCALARS.items()
} | STRUCTS
_VECTORS: dict[str, np.dtype[Any]] = {"i64x2": np.dtype(np.int64), "i32x2": np.dtype(np.int32)}
#: Type for loads of 16 bytes; arrays of any dtype may be passed.
_ANY = "u32x4"


@dataclass(frozen=True)
class Parameter:
    """A parameter of a kernel.

    Attributes
    ----------
    type : str
        The kernel's type of the scalar, or of the array's elements.
    """

    name: str
    type: str
    is_array: bool
    _known: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    def take(self, kernel: str, value: Any) -> Any:
        """Check an argument; return it, numbers converted to the kernel's type.

        A fit binds some 700 arguments, so what was found of a dtype or an int is kept.

        Raises
        ------
        TypeError
            If it is not an array or a number of the parameter's type.
        """
        if self.is_array:
            if not hasattr(value.__class__, "handle"):  # asking an array itself would make it
                raise self._wrong(kernel, value, f"a DeviceArray of {self.type}")
            if value.dtype not in self._known:
                if not _holds(self.name, self.type, value.dtype):
                    raise self._wrong(kernel, f"an array of {value.dtype}", f"one of {self.type}")
                self._known[value.dtype] = True
            return value
        if value.__class__ is int and value in self._known:
            return self._known[value]
        if hasattr(value.__class__, "handle"):
            raise self._wrong(kernel, value, f"a number, {self.type}")
        number = self._number(kernel, value)
        if value.__class__ is int and len(self._known) < _MOST_KNOWN:
            self._known[value] = number
        return number

    def _number(self, kernel: str, value: Any) -> Any:
        if self.type == "f32":
            return np.float32(value)
        if not isinstance(value, (int, np.integer, np.bool_)):
            raise self._wrong(kernel, value, f"an integer, {self.type}")
        number, (least, most) = int(value), _LIMITS[self.type]
        if not least <= number <= most:
            raise self._wrong(kernel, value, f"{least}..{most}, {self.type}")
        return _SCALARS[self.type](number)

    def _wrong(self, kernel: str, value: Any, expected: str) -> TypeError:
        return TypeError(f"kernel {kernel!r}: {self.name}={value!r}: expected {expected}")


def _holds(name: str, kind: str, dtype: np.dtype[Any]) -> bool:
    """Tell whether a parameter of a kernel's type takes arrays of a dtype."""
    if kind == _ANY:
        return True
    wanted = _VECTORS.get(kind) or _DTYPES.get(kind)
    if wanted is None:
        raise TypeError(
            f"{name}: the kernels' type {kind!r} has no dtype: add it to dtypes.STRUCTS"
        )
    if kind[0] == "u" and dtype.names is None:
        # kernels that only move or compare bits take any dtype of that size
        return bool(dtype.itemsize == wanted.itemsize)
    return bool(dtype == wanted)


def without_comments(source: str) -> str:
    """Return a source without comments."""
    return _COMMENT.sub(" ", source)


@lru_cache(maxsize=512)
def signatures(source: str) -> Mapping[str, tuple[Parameter, ...]]:
    """Return the parameters of each kernel of a rendered source, in order, by the kernel's name."""
    plain = without_comments(source)
    aliases = {new: old for old, new in _TYPEDEF.findall(plain)}
    found = {}
    for name, listed in _KERNEL.findall(plain):
        parameters = []
        for text in listed.split(","):
            match = _PARAMETER.fullmatch(text.strip())
            if match is None:
                raise TypeError(f"kernel {name!r}: parameter {text.strip()!r} is not understood")
            word, star, parameter = match.groups()
            while word in aliases and word not in _DTYPES and word not in (*_VECTORS, _ANY):
                word = aliases[word]
            parameters.append(Parameter(parameter, word, bool(star)))
        found[name] = tuple(parameters)
    return found


def words_type(n_words: int) -> str:
    """Return the name of the type of so many words of 64 bits, which are one argument."""
    return f"words_{n_words}"


def _by_value(kind: str) -> np.dtype[Any]:
    """Return the dtype of an argument that is not an array: a number, or words."""
    words = _WORDS.fullmatch(kind)
    return np.dtype(_SCALARS[kind]) if words is None else np.dtype((np.void, 8 * int(words[1])))


def argument_types(source: str) -> list[tuple[str, list[str]]]:
    """Return each kernel's name and the NumPy types of its arguments; empty for arrays."""
    return [
        (name, ["" if each.is_array else _by_value(each.type).str for each in parameters])
        for name, parameters in signatures(source).items()
    ]


def arrange(
    source: str, kernel: str, given: Sequence[Any], named: Mapping[str, Any]
) -> tuple[Any, ...]:
    """Return a kernel's arguments in order, checked against its signature.

    Raises
    ------
    TypeError
        If there is no such kernel, or an argument is missing, unknown, given twice or of a wrong
        type.
    """
    known = signatures(source)
    if kernel not in known:
        raise TypeError(f"no kernel {kernel!r}: the program has {sorted(known)}")
    parameters = known[kernel]
    if not given and len(named) == len(parameters):
        try:  # most launches give all arguments by name
            return tuple([each.take(kernel, named[each.name]) for each in parameters])
        except KeyError:
            pass  # one is missing, and another one is unknown
    names = [parameter.name for parameter in parameters]
    if len(given) > min(MOST_POSITIONAL, len(parameters)):
        raise TypeError(
            f"kernel {kernel!r}: {len(given)} arguments by position: expected "
            f"{MOST_POSITIONAL} at most; give them by name: {names}"
        )
    first = dict(zip(names, given, strict=False))
    twice, every = first.keys() & named.keys(), {**first, **named}
    missing = [name for name in names if name not in every]
    unknown = sorted(every.keys() - set(names))
    if missing or unknown or twice:
        raise TypeError(
            f"kernel {kernel!r}: missing arguments {missing}, unknown ones {unknown}, given twice "
            f"{sorted(twice)}; it takes {names}"
        )
    return tuple(parameter.take(kernel, every[parameter.name]) for parameter in parameters)
