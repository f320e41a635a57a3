"""libsvm text: ``label index:value index:value ... # comment``; absent indices are missing."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import field
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyopencl_gbdt.data.arrays.sparse import SparseMatrix
from pyopencl_gbdt.data.blurred import EXACT, Blurred, has_large, integer
from pyopencl_gbdt.data.budget import Budget
from pyopencl_gbdt.data.files.contents import Data, lines_of
from pyopencl_gbdt.data.files.libsvm_matrix import Where, check_shape, matrix_of
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.lazy_dataclasses import dataclass
from pyopencl_gbdt.messages import plural, show

CHUNK = 1 << 17
"""Pairs and lines kept as Python strings at a time; each takes about 150 bytes."""

PAIR_BYTES, ROW_BYTES = 28, 24
"""Memory per pair and per row while parsing, besides the matrix."""

_TOKEN = "[!-9;-^`-~]+"  # printable ASCII without colon; without underscore: float("1_0") is 10
_PAIR = f"[0-9]+:{_TOKEN}"
_PAIRS = f"(?:[ \t]+{_PAIR})*"
_LINE = {
    True: re.compile(f"{_TOKEN}{_PAIRS}"),
    False: re.compile(f"(?:{_TOKEN}|{_PAIR}){_PAIRS}"),
}
"""Pattern of a line that is safe to split at spaces and colons, by `with_label`."""

_MORE = re.compile(f"[ \t]+{_PAIR}{_PAIRS}")
_GAP = re.compile("(?<=[^ \t])[ \t]")
_PART = 1 << 16  # characters matched at a time: the match keeps about 200 bytes a pair

_QUERY = re.compile(r"(?<![^ \t])qid:([0-9]{1,18})(?=[ \t]|$)")


@dataclass
class _Lines:
    """Some lines, split at spaces and colons but not yet converted; ``counts``: pairs per line."""

    numbers: list[int] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    indices: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)


def parse_libsvm(
    data: Data,
    path: str | PathLike[str],
    *,
    n_features: int | None = None,
    with_label: bool = True,
    one_based: bool = False,
    drop_beyond: bool = False,
    dense: bool = False,
    budget: Budget | None = None,
    first_line: int = 1,
    blurred: Blurred | None = None,
) -> tuple[NDArray[np.float32] | SparseMatrix, NDArray[np.float32] | None]:
    r"""Parse libsvm text into a matrix: sparse if less than half of its values are present.

    Parameters
    ----------
    data : bytes or bytearray
        The file's text in UTF-8, line ends ``\n``.
    n_features : int or None
        Width of the matrix; None is the largest index plus one.
    with_label : bool
        True: every line starts with a label. False: a line may; its label is ignored.
    one_based : bool
        Index 1 is column 0.
    drop_beyond : bool
        Leave out indices from ``n_features`` on, with a warning.
    dense : bool
        Return a dense matrix, however few of the values are present.
    budget : Budget or None
        The memory limit of the file; None: no limit.
    first_line : int
        Number of the first line, for error messages.

    Returns
    -------
    X : (n_rows, n_features) float32 array, C order, or SparseMatrix
        NaN, or no entry, for indices that a line does not list.
    y : (n_rows,) float32 array, or None without labels

    Raises
    ------
    DataError
        A line has another form, a number is invalid, or the matrix is too large.
    """
    in_use = len(data) + PAIR_BYTES * data.count(b":") + ROW_BYTES * (data.count(b"\n") + 1)
    if budget is not None and len(data) > budget.size:
        budget.check(in_use, "its text and pairs take about", "unpack it with gunzip")
    blocks = []
    for lines in _split(data, path, with_label, first_line):
        wide, *block = _convert(lines, path)
        blocks.append(block)
        if blurred is not None and has_large(block[3]):
            huge = np.flatnonzero(np.abs(wide) >= EXACT).tolist()
            spelled = [integer(lines.values[token]) for token in huge]
            blurred.add(block[2] - int(one_based), wide, block[3], spelled)
    if not blocks:
        raise DataError(f"{path}: no rows; expected lines of the form 'label index:value ...'")
    numbers, counts, columns, values, labels = map(np.concatenate, zip(*blocks, strict=True))
    del blocks
    where = Where(path, numbers, counts)
    columns -= int(one_based)
    if drop_beyond and n_features is not None:
        counts, columns, values = _within(n_features, counts, columns, values, where)
        where = Where(path, numbers, counts)
    shape = check_shape(columns, where, n_features, one_based)
    X = matrix_of(
        columns, values, counts, where, shape, in_use, budget,
        dense=dense, width_given=n_features is not None,
    )  # fmt: skip
    return X, labels if with_label else None


def _within(
    n_features: int,
    counts: NDArray[np.int64],
    columns: NDArray[np.int64],
    values: NDArray[np.float32],
    where: Where,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
    """Leave out pairs of columns from ``n_features`` on; return what is left, and warn."""
    gone = columns >= n_features
    if not gone.any():
        return counts, columns, values
    token = int(np.argmax(gone))
    warnings.warn(
        f"{where.path}: {plural(int(gone.sum()), 'value')} in columns from {n_features} on (from "
        f"0; the first in line {where.line(token)}) are left out, as the model has {n_features} "
        "features",
        stacklevel=4,
    )
    ends = np.concatenate([[0], np.cumsum(counts)])
    kept = ends - np.searchsorted(np.flatnonzero(gone), ends)
    return np.diff(kept), columns[~gone], values[~gone]


def query_ids(
    data: Data, path: str | PathLike[str], first_line: int = 1
) -> NDArray[np.int64] | None:
    """Return the query ids (``qid:``) of all rows, int64 (n_rows,), or None if there are none.

    Raises
    ------
    DataError
        Some rows have a query id and others have none.
    """
    if b"qid:" not in data:
        return None
    found: list[int] = []
    without = 0  # number of the first line without a query id
    for number, whole in enumerate(lines_of(data), first_line):
        line = whole.partition("#")[0].strip(" \t")
        match = _QUERY.search(line)
        if match is not None and _QUERY.sub("", line, count=1).strip(" \t"):
            found.append(int(match[1]))
        elif match is None and line:
            without = without or number
    if found and without:
        raise DataError(
            f"{path}, line {without}: no query id, but others have one: expected qid: in every "
            "line or in none; correct the file"
        )
    return np.array(found, np.int64) if found else None


def _split(
    data: Data, path: str | PathLike[str], with_label: bool, first_line: int = 1
) -> Iterator[_Lines]:
    """Split the lines into tokens: ``CHUNK`` pairs and lines at a time, or one long line."""
    block = _Lines()
    for number, line in _lines(data, first_line):
        if not _is_line(line, with_label):
            raise _wrong_line(line, path, number, with_label)
        tokens = line.replace(":", " ").split()
        if ":" not in line.split(None, 1)[0]:
            label = tokens.pop(0)
            if with_label:
                block.labels.append(label)
        block.numbers.append(number)
        block.counts.append(len(tokens) // 2)
        block.indices += tokens[0::2]
        block.values += tokens[1::2]
        if len(block.indices) + len(block.numbers) > CHUNK:
            yield block
            block = _Lines()
    if block.numbers:
        yield block


def _is_line(line: str, with_label: bool) -> bool:
    """Match a line with its pattern; a long line is matched part by part."""
    pattern, start = _LINE[with_label], 0
    if len(line) <= _PART:
        return pattern.fullmatch(line) is not None
    while gap := _GAP.search(line, start + _PART):
        if not pattern.fullmatch(line, start, gap.start()):
            return False
        pattern, start = _MORE, gap.start()
    return pattern.fullmatch(line, start) is not None


def _convert(lines: _Lines, path: str | PathLike[str]) -> tuple[NDArray[Any], ...]:
    """Return values as float64; line numbers, counts, indices (int64); values, labels (float32)."""
    where = Where(path, lines.numbers, lines.counts)
    try:
        indices = np.fromiter(map(int, lines.indices), np.int64, len(lines.indices))
    except (OverflowError, ValueError):
        token = next(i for i, text in enumerate(lines.indices) if len(text) > 18)
        raise where.error(
            token, f"found index {show(lines.indices[token])}: expected fewer digits; correct it"
        ) from None
    wide, values = _float32(lines.values, where, "value", allow_missing=True)
    _, labels = _float32(lines.labels, Where(path, lines.numbers), "label", allow_missing=False)
    return wide, np.array(lines.numbers), np.array(lines.counts), indices, values, labels


def _lines(data: Data, first_line: int = 1) -> Iterator[tuple[int, str]]:
    """Yield (line number, line) without comments and query ids; skip blank lines."""
    for number, whole in enumerate(lines_of(data), first_line):
        line = whole.partition("#")[0].strip(" \t")
        if "qid:" in line:
            line = _QUERY.sub("", line, count=1).strip(" \t")
        if line:
            yield number, line


def _wrong_line(line: str, path: str | PathLike[str], number: int, with_label: bool) -> DataError:
    """Return an error that names the first token of a line that has the wrong form."""
    expected = "'index:value' with a whole index from 0"
    for position, token in enumerate(line.split()):
        if position == 0 and ":" not in token:
            if re.fullmatch(_TOKEN, token):
                continue
            expected = "a number as label"
        elif position == 0 and with_label:
            return DataError(
                f"{path}, line {number}: starts with {show(token)}: expected a label; put one "
                f"first, or pass with_label=False"
            )
        elif re.fullmatch(_PAIR, token):
            continue
        return DataError(
            f"{path}, line {number}, item {position + 1}: found {show(token)}: expected "
            f"{expected}; correct the line (file_format='delimited' reads CSV and TSV)"
        )
    return DataError(f"{path}, line {number}: not libsvm: {show(line)}; separate items by spaces")


def _float32(
    tokens: list[str], where: Where, what: str, *, allow_missing: bool
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Convert tokens to float64, and this to float32; the error names the first that is invalid."""
    try:
        wide = np.fromiter(map(float, tokens), np.float64, len(tokens))
    except ValueError:
        token = next(i for i, text in enumerate(tokens) if not _is_float(text))
        raise where.error(
            token, f"found {what} {show(tokens[token])}: expected a number; correct it"
        ) from None
    with np.errstate(over="ignore", under="ignore"):
        narrow = wide.astype(np.float32)
    wrong = np.isinf(narrow) if allow_missing else ~np.isfinite(narrow)
    if wrong.any():
        token = int(np.argmax(wrong))
        move = "leave it out if it is missing" if allow_missing else "correct it or drop the line"
        raise where.error(
            token,
            f"found {what} {show(tokens[token])}: expected a finite number that float32 can hold; "
            f"{move}",
        )
    return wide, narrow


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
