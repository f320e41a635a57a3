"""The kernels' vocabulary as the two dialect headers define it, and a check of C against it."""

from __future__ import annotations

import re
from functools import cache

from pyopencl_gbdt.device.render import source_folder

#: Keywords of C99 after which a parenthesis may follow.
_C = frozenset({"for", "if", "return", "sizeof", "switch", "while"})
#: Types whose width or existence differs between the dialects.
_FOREIGN_TYPES = frozenset(
    {
        *("bool", "char", "double", "float", "half", "long", "short", "signed", "unsigned"),
        *("uchar", "uint", "ulong", "ushort", "intptr_t", "ptrdiff_t", "size_t", "uintptr_t"),
    }
)
#: Keywords and variables that one of the dialects knows alone; functions are seen by their calls.
_FOREIGN = re.compile(
    r"__\w+|(thread|block)(Idx|Dim)|gridDim|warpSize|kernel|global|local|constant|private|CLK_\w+"
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_CALL = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\([^)]*\))?", re.MULTILINE)
_TYPEDEF = re.compile(r"\btypedef\s+[^;{}]*?\b(\w+)\s*;")
_FUNCTION = re.compile(r"\b(?:FN|KERNEL\s*\(\s*\d+\s*\))\s+(?:GLOBAL\s+)?(?:\w+[\s*]+)?(\w+)\s*\(")
_PRAGMA = re.compile(r"^[ \t]*#[ \t]*pragma\b[^\n]*", re.MULTILINE)
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
        names = [argument for argument in arguments.strip("()").split(",") if argument.strip()]
        found[name] = len(names) if arguments else None
    return found


@cache
def vocabulary() -> frozenset[str]:
    """The words that both dialects define."""
    return frozenset(words(header("dialect_opencl")).keys() & words(header("dialect_cuda")).keys())


def complaints(source: str) -> list[str]:
    """What in a rendered body, without its dialect header, is not the kernels' own language.

    Every function that is called must be a word of the vocabulary or defined in the source; no
    type, function or keyword of one dialect may occur; floating-point literals end in ``f``.
    Pragmas are hints, which a compiler ignores if it does not know them.
    """
    source = _PRAGMA.sub(" ", strip_comments(source))
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
        f"literal {number} without f" for number in _DOUBLE.findall(source) if not number.isdigit()
    ]
    return sorted(set(found))
