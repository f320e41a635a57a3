"""Build error messages: what was found, and where."""

from __future__ import annotations

import contextlib
import difflib
import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from pyopencl_gbdt._version import PIP_SOURCE, PIP_WHERE, PROJECT_URL
from pyopencl_gbdt.lazy_dataclasses import dataclass

#: How many names of a folder are compared with one that is not there, and how many are shown.
_MOST_NAMES, _MOST_SHOWN = 10_000, 3


@dataclass(frozen=True)
class Source:
    """How error messages refer to a user's array.

    Attributes
    ----------
    name : str
        The argument's name: ``X``, ``y``, ``weight``.
    columns : sequence of str, or None
        Column names, if the input has them.
    is_vector : bool
        Whether there is only one column, which messages then leave out.
    """

    name: str
    columns: Sequence[str] | None = None
    is_vector: bool = False

    def place(self, row: int, column: int) -> str:
        """Describe a place, for example ``row 3, column 1 ('price'), counted from 0``."""
        if self.is_vector:
            return f"row {row}, counted from 0"
        return f"row {row}, {self.column(column)}, counted from 0"

    def column(self, column: int) -> str:
        """Describe a column, for example ``column 1 ('price')``; a vector by its name."""
        if self.is_vector:
            return self.name
        named = f" ({self.columns[column]!r})" if self.columns is not None else ""
        return f"column {column}{named}"


def variable(name: str) -> str:
    """Return how code in a message calls an input: ``X`` for names such as ``batch 0``."""
    return name if name.isidentifier() else "X"


def show(value: object) -> str:
    """Format a value for a message: NumPy scalars as plain numbers, long values cut."""
    if isinstance(value, int) and value.bit_length() > 200:  # repr refuses huge integers
        return f"<integer of {value.bit_length()} bits>"
    if isinstance(value, np.number):
        text = str(value)
    else:
        text = repr(value.item() if isinstance(value, np.generic) else value)
    return text if len(text) <= 60 else text[:57] + "..."


def no_such_file(path: str | os.PathLike[str]) -> str:
    """Return the message for a file that does not exist: where it was looked for, and what is near.

    Names are near if they differ in a few characters, or only in their endings.
    """
    file, text = Path(path), os.fspath(path)
    folder = Path(os.path.abspath(file.parent))  # noqa: PTH100 - resolve() would follow links
    if not folder.is_dir():
        return f"{text}: no such file, as there is no folder {folder}; check the path"
    names: list[str] = []
    with contextlib.suppress(OSError), os.scandir(folder) as found:  # it may not be readable
        names = sorted(one.name for one in islice(found, _MOST_NAMES))
    near = [name for name in names if Path(name).stem == file.stem]
    near += difflib.get_close_matches(file.name, names, n=_MOST_SHOWN)
    shown = " or ".join(map(show, list(dict.fromkeys(near))[:_MOST_SHOWN]))
    move = f"did you mean {shown}?" if shown else "check the path"
    return f"{text}: no such file in the folder {folder}; {move}"


def plural(count: int, noun: str) -> str:
    """Format a count and its noun: ``1 value``, ``2 values``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def pip_install(*extras: str) -> str:
    """Return the command that installs extras of this package; a remark says where it works.

    It has double quotes: single ones are not quotes to ``cmd.exe``.
    """
    where = f"  # {PIP_WHERE}" if PIP_WHERE else ""
    return f'pip install "{PIP_SOURCE}[{",".join(extras)}]"{where}'


def open_an_issue() -> str:
    """Return where to open an issue, for sentences such as ``open an issue in ...``."""
    return f"open an issue in {PROJECT_URL or 'the repository where you found this library'}"
