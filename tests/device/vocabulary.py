"""The kernels' vocabulary as the two dialect headers define it, and a check of C against it."""

from __future__ import annotations

import re
from functools import cache

from pyopencl_gbdt.device.render import source_folder

#: Words of C99 that mean the same in both dialects.
_C = frozenset(
    "break case const continue default do else enum for goto if int return sizeof static struct "
    "switch typedef union void volatile while".split()
)
#: Types whose width or existence differs between the dialects.
_FOREIGN_TYPES = frozenset(
    "bool char double float half intptr_t long ptrdiff_t short signed size_t uchar uint uintptr_t "
    "ulong unsigned ushort".split()
)
#: What only one of the dialects knows, or what does not round alike everywhere.
_FOREIGN = re.compile(
    r"__\w+|get_\w+|atomic_\w+|atom_\w+|atomic[A-Z]\w*|barrier|mem_fence|(thread|block)(Idx|Dim)|"
    r"gridDim|warpSize|kernel|global|local|constant|private|sub_group_\w+|work_group_\w+|"
    r"native_\w+|half_\w+|fma|mad|exp|exp2|log|log2|sqrt|rsqrt|pow|convert_\w+|as_[a-z]+\d*"
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_MACRO = re.compile(r"^[ \t]*#define[ \t]+(\w+)(\([^)]*\))?", re.MULTILINE)
_TYPEDEF = re.compile(r"\btypedef\s+[^;{}]*?\b(\w+)\s*;")
_FUNCTION = re.compile(r"\b(?:FN|KERNEL\s*\(\s*\d+\s*\))\s+(?:\w+\s+)?(\w+)\s*\(")
_DOUBLE = re.compile(r"(?<![\w.])(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?(?![\w.])")


def strip_comments(source: str) -> str:
    """C without comments."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", source, flags=re.DOTALL)


@cache
def header(name: str) -> str:
    """A file of ``cl_kernels``, as ``render`` puts it before a body."""
    return (source_folder("cl_kernels") / f"{name}.h").read_text(encoding="utf-8")


def words(dialect_header: str) -> dict[str, int | None]:
    """Words that a dialect header defines: types and constants (None), macros (arguments)."""
    source = strip_comments(dialect_header)
    found: dict[str, int | None] = dict.fromkeys(_TYPEDEF.findall(source))
    for name, arguments in _MACRO.findall(source):
        found[name] = arguments.count(",") + 1 if arguments.strip("() ") else (0 if arguments else None)
    return found


@cache
def vocabulary() -> frozenset[str]:
    """The words that both dialects define."""
    return frozenset(words(header("dialect_opencl")).keys() & words(header("dialect_cuda")).keys())


def complaints(source: str) -> list[str]:
    """What in a rendered body, without its dialect header, is not the kernels' own language.

    Every function that is called must be a word of the vocabulary or defined in the source; no
    type, function or keyword of one dialect may occur; floating-point literals end in ``f``.
    """
    source = strip_comments(source)
    own = set(_FUNCTION.findall(source)) | {name for name, _ in _MACRO.findall(source)}
    known = vocabulary() | own
    found = [f"calls {name}" for name in _CALL.findall(source) if name not in known | _C]
    for word in _WORD.findall(source):
        if word in known:
            continue
        if word in _FOREIGN_TYPES:
            found.append(f"type {word}")
        elif _FOREIGN.fullmatch(word):
            found.append(f"word {word}")
    found += [
        f"literal {number} without f"
        for number in _DOUBLE.findall(source)
        if not number.isdigit()
    ]
    return sorted(set(found))
