"""Which column of a file is the label: the one that the user names, else the first."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath
from typing import Any

from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.messages import show

#: What columns of labels are called.
_USUAL = frozenset({"label", "target", "y", "class"})


class UnnamedColumn(int):
    """The number of a column that the user has not named."""


#: The label's column where the user names none. Readers refuse it where another one is called as
#: labels are.
FIRST = UnnamedColumn(0)


def check_unnamed(
    given: Any, label: int | None, names: Sequence[str], file: str | PathLike[str]
) -> None:
    """Refuse to guess the label where another column than the first is called as labels are.

    Parameters
    ----------
    given : UnnamedColumn, int, str or None
        The argument ``label_column``.
    label : int or None
        The number of that column.
    names : sequence of str
        Of all columns of the file.
    file : str or path-like
        For the message.

    Raises
    ------
    DataError
    """
    if not isinstance(given, UnnamedColumn) or label is None:
        return
    for number, name in enumerate(names):
        if number != label and name.lower() in _USUAL:
            raise DataError(
                f"{file}: the first column is {show(names[label])}, and column {number} is called "
                f"{show(name)}: expected to be told which one is the label; give "
                f"label_column={show(name)}, or label_column={label} for the first"
            )


def described(label: int | None, names: Sequence[str] | None, file: str | PathLike[str]) -> str:
    """Return the label's column of a file for a message; empty if there is none."""
    if label is None:
        return ""
    named = "" if names is None else f" ({show(names[label])})"
    return f"column {label}{named} of {fspath(file)}"
