"""How files are laid out that are read batch by batch, and which column is the label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from os import PathLike, fspath
from typing import Any

import numpy as np

from pyopencl_gbdt.data.batches.rows import BATCH_BYTES
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.lazy_dataclasses import dataclass
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


@dataclass(frozen=True)
class Reading:
    """How files are laid out, with the names and meanings of ``read_table``.

    Attributes
    ----------
    label_column : int, str or None
        In tables and ``.npy``: the column of the label; None if there is none. In libsvm text and
        npz, None ignores the labels. ``FIRST`` is refused where another column of a table is
        called as labels are.
    qid_column : int, str or None
        In tables: the column of query ids.
    header : bool or "auto"
    file_format : {"auto", "delimited", "libsvm"}
        The format of text files.
    categorical_features : object
        Which columns of text are categorical.
    missing : float
        A number that means "missing".
    batch_rows : int
        Rows of a batch; 0: as many as take 16 MiB as float32.
    share : (int, int) or None
        Number of a process, from 0, and how many there are: the files are dealt to them, see
        ``batch_files.dealt``. None: all files.
    """

    label_column: int | str | None = FIRST
    qid_column: int | str | None = None
    header: bool | str = "auto"
    one_based: bool = False
    file_format: str = "auto"
    categorical_features: Any = None
    missing: float = float("nan")
    batch_rows: int = 0
    share: tuple[int, int] | None = None

    def rows_of(self, n_columns: int) -> int:
        """Return the rows of a batch of so many columns."""
        return self.batch_rows or max(1, BATCH_BYTES // (4 * max(1, n_columns)))


def reading_of(options: Mapping[str, Any]) -> Reading:
    """Return how files are laid out, from checked options.

    Raises
    ------
    ParameterError
        If an option is unknown, or has a wrong value.
    """
    known = [field.name for field in fields(Reading)]
    for name in options:
        if name not in known:
            raise ParameterError(
                f"unknown argument {name}: expected one of {', '.join(known)} for files; correct it"
            )
    made = Reading(**options)
    if made.header not in (True, False, "auto"):
        raise ParameterError(f"header={made.header!r}: expected True, False or 'auto'; give one")
    if made.file_format not in ("auto", "delimited", "libsvm"):
        raise ParameterError(
            f"file_format={made.file_format!r}: expected 'auto', 'delimited' or 'libsvm' for text; "
            "the ending of a file tells the others"
        )
    whole = isinstance(made.batch_rows, (int, np.integer)) and not isinstance(made.batch_rows, bool)
    if not whole or made.batch_rows < 0:
        raise ParameterError(
            f"batch_rows={show(made.batch_rows)}: expected a number of rows from 1, or 0 for 16 "
            "MiB of values; give one"
        )
    check_share(made.share)
    return made


def check_share(share: Any) -> None:
    """Raise ``ParameterError`` unless this is None, or a process's number and that of processes."""
    if share is None:
        return
    pair: Any = share if isinstance(share, (tuple, list)) and len(share) == 2 else ("", "")
    if not all(isinstance(one, (int, np.integer)) for one in pair) or not 0 <= pair[0] < pair[1]:
        raise ParameterError(
            f"share={show(share)}: expected (rank, size) with rank in 0..size - 1; give "
            "(comm.rank, comm.size)"
        )


def column_number(
    column: int | str | None, names: Sequence[str] | None, n_columns: int, file: str, option: str
) -> int | None:
    """Return the number of a column that is given by number or name.

    Raises
    ------
    DataError
        If the file has no such column.
    """
    if column is None:
        return None
    if isinstance(column, str):
        if names is not None and column in names:
            return list(names).index(column)
    elif -n_columns <= column < n_columns:
        return column % n_columns
    there = f"0..{n_columns - 1}" if names is None else ", ".join(names[:20])
    raise DataError(
        f"{file}: {option}={show(column)}: expected one of its columns ({there}), or None if there "
        "is none; give its number or name"
    )
