"""How files are laid out that are read batch by batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from pyopencl_gbdt.data.batch_parts import BATCH_BYTES
from pyopencl_gbdt.data.label_column import FIRST
from pyopencl_gbdt.errors import ParameterError
from pyopencl_gbdt.messages import show


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
    one_based : bool
    file_format : {"auto", "delimited", "libsvm"}
        Of text.
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
