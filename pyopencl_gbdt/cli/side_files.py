"""Files beside a data file that hold weights, query sizes or base margins, as XGBoost reads them.

``train.txt.weight`` has one number a row (or a query), ``train.txt.group`` or ``train.txt.query``
the number of rows of each query, ``train.txt.base_margin`` the margin that each row starts from.
Either file may be gzipped: ``train.gz`` goes with ``train.weight`` and ``train.weight.gz``, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyopencl_gbdt.cli.output import complain
from pyopencl_gbdt.data import read_table
from pyopencl_gbdt.data.files.reference_parser import NotANumberError
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.messages import show

#: The endings of side files, by the argument of ``Dataset`` that they give.
ENDINGS = {"weight": ("weight",), "group": ("group", "query"), "base_margin": ("base_margin",)}


def find(file: str, argument: str) -> str | None:
    """Return the path of a side file, or None.

    ``file``: the data file, without suffixes.
    ``argument``: a key of ``ENDINGS``.

    Raises
    ------
    DataError
        If there are several.
    """
    found = [path for path in _names(file, argument) if Path(path).is_file()]
    if len(found) > 1:
        raise DataError(
            f"{file}: {found[0]} and {found[1]} give the same: expected one of them; remove one"
        )
    return found[0] if found else None


def _names(file: str, argument: str) -> Iterator[str]:
    for stem in (file, file.removesuffix(".gz")) if file.endswith(".gz") else (file,):
        for ending in ENDINGS[argument]:
            yield from (f"{stem}.{ending}", f"{stem}.{ending}.gz")


def read(file: str, n_rows: int, *, ranks: bool, label: bool = True) -> dict[str, Any]:
    """Read the side files of a data file, and tell the user about each.

    ``ranks``: whether the loss ranks; otherwise query sizes are ignored.
    ``label``: whether the rows are to be learned from; otherwise only ``base_margin`` matters.

    Returns
    -------
    dict of str to float32 array
        Arguments of ``Dataset``.
    """
    given: dict[str, Any] = {}
    for argument in ENDINGS if label else ("base_margin",):
        path = find(file, argument)
        if path is None:
            continue
        if argument == "group" and not ranks:
            complain(f"note: {path}: query sizes are ignored, because the objective does not rank")
            continue
        complain(f"note: {path} gives the {argument} of {file}")
        numbers = _numbers(path)
        if argument == "base_margin" and numbers.size != n_rows and numbers.size % n_rows == 0:
            numbers = numbers.reshape(n_rows, -1)
        given[argument] = numbers
    return given


def read_numbers(path: str, option: str = "") -> NDArray[np.float32]:
    """Read a file of numbers without a header; shape (n_lines, n_columns).

    ``option``: the option that named the file, for errors.

    Raises
    ------
    DataError
    """
    try:
        numbers = read_table(path, with_label=False, header=False, file_format="delimited").X
    except NotANumberError as error:
        raise DataError(
            f"{option} {path}, line {error.line}: found {show(error.found)}: expected one number "
            "a line, and no header; correct the line or remove it".lstrip()
        ) from None
    assert isinstance(numbers, np.ndarray)  # delimited text is dense
    return numbers


def _numbers(path: str) -> NDArray[np.float32]:
    """Read one number a line."""
    numbers = read_numbers(path)
    if numbers.shape[1] != 1:
        raise DataError(f"{path}: {numbers.shape[1]} numbers a line: expected one; correct it")
    return numbers[:, 0]
