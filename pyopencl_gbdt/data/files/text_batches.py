"""Read CSV, TSV and libsvm text batch by batch, plain or gzipped."""

from __future__ import annotations

import contextlib
import gzip
import zlib
from collections.abc import Generator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO

from pyopencl_gbdt.data.arrays.tables import ColumnTable
from pyopencl_gbdt.data.batches.rows import RowBatch
from pyopencl_gbdt.data.blurred import Blurred
from pyopencl_gbdt.data.files.contents import (
    GZIP_MAGIC,
    Data,
    damaged_gzip,
    is_blank,
    to_text,
    unreadable,
)
from pyopencl_gbdt.data.files.csv_header import (
    TextColumns,
    TextLayout,
    feature_columns,
    find_layout,
    text_columns,
)
from pyopencl_gbdt.data.files.delimited import feature_names, parse_rows
from pyopencl_gbdt.data.files.libsvm import parse_libsvm, query_ids
from pyopencl_gbdt.data.files.readers import looks_like_libsvm
from pyopencl_gbdt.data.files.reading import Reading, described
from pyopencl_gbdt.errors import DataError
from pyopencl_gbdt.lazy_dataclasses import dataclass

#: Bytes of text in a batch. Parsing takes about 50 times as much memory for a block of it.
TEXT_BYTES = 8 * 1024 * 1024
_BLOCK_BYTES = 1 << 19
_EMPTY = "the file is empty; expected at least one row"


@dataclass
class TextState:
    """Which features of the first file hold text; other files must have the same.

    Attributes
    ----------
    file : str
        The first of all files, also of those that are dealt to other processes.
    columns : list of int or None
        None until the first file was read.
    """

    file: str
    columns: list[int] | None = None

    def find(self, layout: TextLayout, reading: Reading) -> None:
        """Find the columns, unless they are known, given the layout of the first file."""
        if self.columns is not None:
            return
        texts = text_columns(layout, reading.categorical_features, None)
        self.columns = [
            feature
            for feature, column in enumerate(feature_columns(layout))
            if texts is not None and column in texts
        ]

    def look(self, reading: Reading) -> None:
        """Find the columns in the first lines of the first file, unless they are known."""
        if self.columns is not None:
            return
        with contextlib.closing(_texts(self.file)) as texts:
            block = to_text(next(texts), self.file, 1)
        if not is_blank(block) and not _is_libsvm(self.file, block, reading):
            self.find(_layout(block, self.file, reading), reading)


def read(file: str, reading: Reading, state: TextState) -> Iterator[RowBatch]:
    """Read a file of text, some lines at a time.

    Raises
    ------
    DataError
        If the file cannot be read, or a line is not as expected; names file and line.
    """
    first_line, layout, libsvm = 1, None, False
    for data in _texts(file):
        block = to_text(data, file, first_line)
        if first_line == 1:
            libsvm = _is_libsvm(file, block, reading)
        where = f"{file}, lines from {first_line}"
        if is_blank(block):
            pass
        elif libsvm:
            yield _libsvm(block, file, reading, first_line, where)
        else:
            if layout is None:
                layout = _layout(block, file, reading)
                own = replace(layout)
                state.find(layout, reading)
            else:
                own = replace(layout, data=block, start=0, first_line=first_line)
            if own.start < len(block):
                yield _delimited(own, state.columns or [], where, reading)
        first_line += block.count(b"\n")
    if layout is None and not libsvm:
        raise DataError(f"{file}: {_EMPTY}")


def column_names(file: str, reading: Reading) -> list[str] | None:
    """Return the names in the header of delimited text, or None if there is no header.

    Raises
    ------
    DataError
        If the file cannot be read.
    """
    with contextlib.closing(_texts(file)) as texts:
        block = to_text(next(texts), file, 1)
    if is_blank(block) or _is_libsvm(file, block, reading):
        return None
    return _layout(block, file, reading).names


def _is_libsvm(file: str, block: Data, reading: Reading) -> bool:
    looks = reading.file_format == "auto" and looks_like_libsvm(file, block)
    return looks or reading.file_format == "libsvm"


def _layout(block: Data, file: str, reading: Reading) -> TextLayout:
    return find_layout(block, file, reading.label_column, reading.header, reading.qid_column)


def _libsvm(block: Data, file: str, reading: Reading, first_line: int, where: str) -> RowBatch:
    with_label = reading.label_column is not None
    blurred = Blurred(reading.missing)
    X, y = parse_libsvm(
        block, file, with_label=with_label, one_based=reading.one_based, first_line=first_line,
        blurred=blurred,
    )  # fmt: skip
    qid = query_ids(block, file, first_line)
    return RowBatch(X, y, qid=qid, where=where, ragged=True, blurred=blurred)


def _delimited(layout: TextLayout, features: list[int], where: str, reading: Reading) -> RowBatch:
    """Parse lines; columns of text become those of a table."""
    columns = feature_columns(layout)
    inside = [feature for feature in features if feature < len(columns)]
    texts = TextColumns(columns[feature] for feature in inside) if inside else None
    layout = replace(layout, texts=texts)
    blurred = Blurred(reading.missing)
    X, y, qid = parse_rows(layout, _BLOCK_BYTES, blurred)
    names, of_label = feature_names(layout), described(layout.label, layout.names, layout.path)
    if texts is None:
        return RowBatch(X, y, qid=qid, feature_names=names, where=where, label_column=of_label,
                     blurred=blurred)  # fmt: skip
    parts = [
        texts.column(column, X[:, feature]) if column in texts else X[:, feature]
        for feature, column in enumerate(columns)
    ]
    texts.check(layout)
    return RowBatch(ColumnTable(names, parts), y, qid=qid, where=where, label_column=of_label,
                 blurred=blurred)  # fmt: skip


def _texts(file: str) -> Generator[bytes, None, None]:
    """Yield whole lines of a file; a quoted field of several lines stays in one piece."""
    with _opened(file) as stream:
        rest, n_bytes = b"", 0
        while piece := _next(stream, file):
            n_bytes += len(piece)
            text = rest + piece
            end = text.rfind(b"\n") + 1
            while end and text.count(b'"', 0, end) % 2:  # the last line end lies in quotes
                end = text.rfind(b"\n", 0, end - 1) + 1
            rest = text[end:]
            if end:
                yield text[:end]
        if rest:
            yield rest
        if not n_bytes:
            raise DataError(f"{file}: {_EMPTY}")


def _next(stream: IO[bytes], file: str) -> bytes:
    try:
        return stream.read(TEXT_BYTES)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise damaged_gzip(file, error) from error
    except OSError as error:
        raise unreadable(file, error) from error


@contextlib.contextmanager
def _opened(file: str) -> Iterator[IO[bytes]]:
    try:
        with Path(file).open("rb") as stream:
            packed = stream.read(len(GZIP_MAGIC)) == GZIP_MAGIC
        opened = gzip.open(file, "rb") if packed else Path(file).open("rb")  # noqa: SIM115
    except OSError as error:
        raise unreadable(file, error) from error
    with opened as text:
        yield text  # type: ignore[misc]
