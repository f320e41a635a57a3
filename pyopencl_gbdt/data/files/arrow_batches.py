"""Read Parquet and Arrow IPC files batch by batch, through pyarrow."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pyopencl_gbdt.data.batches.rows import RowBatch
from pyopencl_gbdt.data.files.reading import check_unnamed, column_number, described
from pyopencl_gbdt.data.names import check_feature_names
from pyopencl_gbdt.errors import DataError, ParameterError
from pyopencl_gbdt.messages import pip_install

PARQUET = (".parquet", ".pq")


def read(
    file: str,
    suffix: str,
    label_column: int | str | None,
    qid_column: int | str | None,
    rows_of: Callable[[int], int],
) -> Iterator[RowBatch]:
    """Read a file of columns, some rows at a time.

    Parameters
    ----------
    file, suffix : str
        The file's path, and what it ends in.
    label_column, qid_column : int, str or None
        Columns by number or name; None if there is none.
    rows_of : callable
        Returns the rows of a batch of so many columns.

    Raises
    ------
    ParameterError
        If pyarrow is not installed.
    DataError
        If the file cannot be read, or lacks a column.
    """
    pyarrow = _pyarrow(file)
    try:
        tables = _parquet(file, rows_of) if suffix in PARQUET else _ipc(file, rows_of)
        for first, table in tables:
            table.validate(full=True)  # pyarrow ends the process where offsets are damaged
            yield _batch(table, file, first, label_column, qid_column)
    except (pyarrow.ArrowException, OSError) as error:
        raise DataError(f"{file}: cannot be read ({error}); write it anew with pyarrow") from error


def _pyarrow(file: str) -> Any:
    try:
        import pyarrow
        import pyarrow.ipc
        import pyarrow.parquet
    except ImportError as error:
        raise ParameterError(
            f"{file}: reading it takes pyarrow, which is not installed ({error}); "
            + pip_install("arrow")
        ) from error
    return pyarrow


def _parquet(file: str, rows_of: Callable[[int], int]) -> Iterator[tuple[int, Any]]:
    import pyarrow
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(file) as opened:
        rows, first = rows_of(len(opened.schema_arrow.names)), 0
        categories = _number_categories(opened)
        for batch in opened.iter_batches(batch_size=rows):
            table = pyarrow.Table.from_batches([batch])
            for place in categories:
                column = table.column(place).dictionary_encode()
                table = table.set_column(place, table.column_names[place], column)
            yield first, table
            first += batch.num_rows


def _number_categories(opened: Any) -> list[int]:
    """Return the columns that were written as categories of numbers, which Parquet stores plainly.

    Arrow's writer adds the schema of its table to the file; pyarrow reads categories of strings
    by it, and no others.
    """
    import pyarrow

    written = (opened.metadata.metadata or {}).get(b"ARROW:schema", b"")
    try:
        schema = pyarrow.ipc.read_schema(pyarrow.BufferReader(base64.b64decode(written)))
    except (ValueError, OSError):  # no schema; the library that wrote the file has another
        return []
    is_category = pyarrow.types.is_dictionary
    kept = zip(schema, opened.schema_arrow, strict=False)
    return [n for n, (w, k) in enumerate(kept) if is_category(w.type) and not is_category(k.type)]


def _ipc(file: str, rows_of: Callable[[int], int]) -> Iterator[tuple[int, Any]]:
    import pyarrow
    import pyarrow.ipc

    with pyarrow.memory_map(file) as mapped:
        try:
            opened = pyarrow.ipc.open_file(mapped)
            parts = (opened.get_batch(i) for i in range(opened.num_record_batches))
        except pyarrow.ArrowInvalid:  # the format of streams has no footer
            mapped.seek(0)
            opened = pyarrow.ipc.open_stream(mapped)
            parts = iter(opened)
        rows, first = rows_of(len(opened.schema.names)), 0
        for part in parts:
            for start in range(0, part.num_rows, rows):
                piece = part.slice(start, rows)
                yield first, pyarrow.Table.from_batches([piece])
                first += piece.num_rows


def _batch(
    table: Any, file: str, first: int, label: int | str | None, qid: int | str | None
) -> RowBatch:
    names = list(table.column_names)
    own = [column_number(one, names, len(names), file, option) for option, one in
           (("label_column", label), ("qid_column", qid))]  # fmt: skip
    y, ids = (None if place is None else _plain(table.column(place)) for place in own)
    kept = [number for number in range(len(names)) if number not in own]
    if not kept:
        raise DataError(f"{file} has no column of features: expected one or more; add them")
    check_feature_names([names[number] for number in kept], len(kept), f"{file}: feature_names")
    check_unnamed(label, own[0], names, file)
    where, of_label = f"{file}, rows from {first}", described(own[0], names, file)
    return RowBatch(table.select(kept), y, qid=ids, where=where, label_column=of_label)


def _plain(column: Any) -> Any:
    """Return a column as an array; NumPy would take another category for a null."""
    values = getattr(column.type, "value_type", None)  # of categories
    return np.asarray(column if values is None else column.cast(values))
