"""Kernels that take few arguments: allocations, and the words of each fit.

    declared | nodes, codes, n_rows       | of each fit in an array of its own, or a number
    joined   | allocations, words of fits | a row of words: places in allocations, and numbers

A group reads the row of its fit, see ``joined_launches``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Protocol

from pyopencl_gbdt.device.followed_source import without_kernels
from pyopencl_gbdt.device.signature import Parameter, signatures, without_comments, words_type
from pyopencl_gbdt.lazy_dataclasses import dataclass

_KERNEL = re.compile(r"(KERNEL\(\s*\d+\s*\)\s*)(\w+)\s*\(([^()]*)\)\s*\{")


@dataclass(frozen=True)
class ArgumentLayout:
    """Where a joined kernel's arrays lie.

    Attributes
    ----------
    slots : tuple of (int or None)
        For each parameter, the number of the allocation that holds its array; the same number for
        arrays that lie together in every fit; None for a number.
    wholes : tuple of (tuple of int)
        For each number, which of its allocations holds each fit's array: 0 for all, if they share
        one.
    """

    slots: tuple[int | None, ...]
    wholes: tuple[tuple[int, ...], ...]


class RowText(Protocol):
    """How a joined kernel reads the row of its fit."""

    def __hash__(self) -> int: ...

    @property
    def place(self) -> str:
        """The expression of the fit's number."""

    @property
    def word(self) -> str:
        """The expression of a word, by its number."""

    def parameters(self, n_words: int) -> list[str]:
        """Return the declarations of the parameters that hold the rows."""

    def lines(self, n_words: int) -> list[str]:
        """Return the statements that a work-group runs first."""

    def types(self, n_words: int) -> str:
        """Return the lines that a source begins with."""


@dataclass(frozen=True)
class RowOfTable:
    """Rows of all fits in an array, behind those of other launches.

    Attributes
    ----------
    place : str
        The expression of the work-group's place in z.
    """

    place: str
    word: str = "fits_row[{}]"

    def parameters(self, n_words: int) -> list[str]:
        """Return the table, and where the launch's rows begin in it."""
        return ["GLOBAL const u64* RESTRICT fits_table", "const u32 fits_first"]

    def lines(self, n_words: int) -> list[str]:
        """Return the statements that find the row of the work-group's fit."""
        return [f"GLOBAL const u64* fits_row = fits_table + fits_first + {n_words} * {self.place};"]

    def types(self, n_words: int) -> str:
        """Return nothing: the types are those of all kernels."""
        return ""


@dataclass(frozen=True)
class RowByValue:
    """The row of a fit alone, as one argument of many words; OpenCL alone."""

    place: str = "0"
    word: str = "fits_row.at[{}]"

    def parameters(self, n_words: int) -> list[str]:
        """Return the row."""
        return [f"const {words_type(n_words)} fits_row"]

    def lines(self, n_words: int) -> list[str]:
        """Return nothing: there is no other row."""
        return []

    def types(self, n_words: int) -> str:
        """Return the row's type."""
        return f"typedef struct {{ ulong at[{n_words}]; }} {words_type(n_words)};\n"


@lru_cache(maxsize=256)
def joined_source(
    source: str, n_fits: int, rows: RowText, layouts: tuple[tuple[str, ArgumentLayout], ...]
) -> str:
    """Return a rendered source whose kernels serve several fits, or one by few arguments.

    ``layouts``: the layout of each kernel that is launched; others are left out.
    """

    def kernel(found: re.Match[str]) -> str:
        begin, name, listed = found.groups()
        if name not in layout_of:  # it is not written as the library's kernels are
            return found.group()
        declared = [" ".join(text.split()) for text in listed.split(",")]
        return _head(begin, name, declared, known[name], layout_of[name], n_fits, rows)

    known, layout_of = signatures(source), dict(layouts)
    types = {rows.types(len(layout.slots)): None for layout in layout_of.values()}
    text = without_kernels(without_comments(source), layout_of)
    return "".join(types) + _KERNEL.sub(kernel, text)


def _head(
    begin: str,
    name: str,
    declared: Sequence[str],
    parameters: Sequence[Parameter],
    layout: ArgumentLayout,
    n_fits: int,
    rows: RowText,
) -> str:
    """Return a joined kernel's parameters, and what chooses those of its fit."""
    taken: list[str] = []
    n_words, place = len(declared), rows.place
    lines = rows.lines(n_words)
    for n, own in enumerate(layout.wholes):
        if not any(own):
            taken.append(f"GLOBAL u8* fits_{n}")
            continue
        taken += [f"GLOBAL u8* fits_{n}_{whole}" for whole in range(max(own) + 1)]
        earlier = [f"{place} == {fit} ? fits_{n}_{own[fit]} : " for fit in range(n_fits - 1)]
        lines.append(f"GLOBAL u8* fits_{n} = {''.join(earlier)}fits_{n}_{own[n_fits - 1]};")
    taken += rows.parameters(n_words)
    every = zip(declared, parameters, layout.slots, strict=True)
    for i, (text, parameter, slot) in enumerate(every):
        word = rows.word.format(i)
        if slot is not None:
            kind = text[: text.index("*") + 1]
            lines.append(f"{text} = ({kind})(fits_{slot} + {word});")
        elif parameter.type == "f32":
            lines.append(f"{text} = as_f32((u32){word});")
        else:
            lines.append(f"{text} = ({parameter.type}){word};")
    body = "".join(f"    {line}\n" for line in lines)
    return f"{begin}{name}({', '.join(taken)}) {{\n{body}"
