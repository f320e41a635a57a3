"""Read files batch by batch, never whole: arrays, text, Parquet and Arrow."""

from __future__ import annotations

import base64
import contextlib
import glob
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pyopencl_gbdt.data.batches.rows import RowBatch
from pyopencl_gbdt.data.files import text_batches
from pyopencl_gbdt.data.files.npz import ERRORS, NAMES, StreamedArray, broken
from pyopencl_gbdt.data.files.reading import Reading, check_unnamed, column_number, described
from pyopencl_gbdt.data.names import check_feature_names
from pyopencl_gbdt.errors import DataError, MissingFileError, ParameterError
from pyopencl_gbdt.messages import no_such_file, pip_install, plural

PARQUET = (".parquet", ".pq")


def read_columns(
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


ARRAYS = (".npy", ".npz")
ARROW = (".parquet", ".pq", ".arrow", ".feather", ".ipc", ".arrows")
TEXT = (".csv", ".tsv", ".txt", ".data", ".libsvm", ".svm", ".svmlight")
#: What ``read_table`` does not read.
BATCHED = (".npy", *ARROW)
SUFFIXES = (*ARRAYS, *ARROW, *TEXT)
_PATTERN = frozenset("*?[")


def paths_of(given: Any) -> list[str]:
    """Return the files of a path, a pattern, a folder, or a list of these, in a fixed order.

    Files of a folder or of a pattern are ordered by name, code point by code point. Those of a
    folder whose names begin with a dot or an underscore are left out, and so are its folders.

    Raises
    ------
    DataError
        If nothing is there, or a folder has a file that is not a table.
    """
    found: list[str] = []
    for one in given if isinstance(given, (list, tuple)) else [given]:
        path = os.fspath(one)
        if Path(path).is_dir():
            found += _in_folder(path)
        elif not Path(path).exists() and _PATTERN & {*path}:
            named = glob.glob(path, recursive=True)  # noqa: PTH207 - the path may be absolute
            files = sorted(file for file in named if Path(file).is_file())
            if not files:
                raise DataError(f"{path}: no file has such a name; check the pattern")
            found += files
        elif Path(path).exists():
            found.append(path)
        else:
            raise MissingFileError(no_such_file(path))
    return found


def _in_folder(folder: str) -> list[str]:
    there = [file for file in Path(folder).iterdir() if file.name[:1] not in "._"]
    files = sorted(str(file) for file in there if file.is_file())
    for file in files:
        if suffix_of(file) not in SUFFIXES:
            raise DataError(
                f"{file}: expected files that end in {', '.join(SUFFIXES)} or these and .gz in a "
                f"folder of data; move it, or give a pattern such as {folder}/*.csv"
            )
    if not files:
        raise DataError(f"{folder}: no file in this folder; expected one or more with rows")
    return files


def dealt(files: Sequence[str], rank: int, size: int) -> list[str]:
    """Return the files that one of several processes reads.

    Each process reads one or more neighbours in the list, with about as many bytes as the others.
    In the order of ranks, the files of all processes are the list.

    Raises
    ------
    DataError
        If there are fewer files than processes.
    """
    if len(files) < size:
        raise DataError(
            f"share=({rank}, {size}): {plural(len(files), 'file')} for {size} processes: expected "
            "a file or more for each; write more and smaller files, or give each its own rows"
        )
    ends = np.cumsum([Path(file).stat().st_size for file in files], dtype=np.int64)
    bounds = [0]
    for k in range(1, size):
        nearest = int(np.abs(ends - ends[-1] * k // size).argmin()) + 1
        bounds.append(min(max(nearest, bounds[-1] + 1), len(files) - size + k))
    bounds.append(len(files))
    return list(files[bounds[rank] : bounds[rank + 1]])


def suffix_of(file: str) -> str:
    """Return the ending of a file's name, in lower case, without ``.gz``."""
    return Path(file.lower().removesuffix(".gz")).suffix


def read_files(
    files: Sequence[str], reading: Reading, state: text_batches.TextState
) -> Iterator[RowBatch]:
    """Read files one after the other, batch by batch.

    ``state``: the same in all passes.

    Raises
    ------
    DataError
        If a file cannot be read, or holds what it may not.
    ParameterError
        If a package is missing that reads such files.
    """
    if files and state.file != files[0] and suffix_of(state.file) in TEXT:
        state.look(reading)  # another process reads the first file
    for file in files:
        suffix = suffix_of(file)
        if suffix == ".npy":
            yield from _npy(file, reading)
        elif suffix == ".npz":
            yield from _npz(file, reading)
        elif suffix in ARROW:
            rows = reading.rows_of
            yield from read_columns(file, suffix, reading.label_column, reading.qid_column, rows)
        else:
            yield from text_batches.read(file, reading, state)


def _npy(file: str, reading: Reading) -> Iterator[RowBatch]:
    with _as_npy(file):
        path = Path(file)
        with StreamedArray(path.open("rb"), path.stat().st_size, file) as array:
            shape, apart = array.shape, array.fortran_order
            if len(shape) != 2 or not shape[1]:
                raise DataError(
                    f"{file} has shape {shape}: expected two dimensions (rows, features); write an "
                    "array with a row per example"
                )
            n_columns = int(shape[1])
            label = column_number(reading.label_column, None, n_columns, file, "label_column")
            qid = column_number(reading.qid_column, None, n_columns, file, "qid_column")
            rows = reading.rows_of(n_columns)
            parts: Iterator[tuple[int, Any]]
            if apart:  # rows of an array in Fortran order lie apart
                mapped = np.load(file, mmap_mode="r", allow_pickle=False)
                parts = ((i, np.asarray(mapped[i : i + rows])) for i in range(0, shape[0], rows))
            else:
                parts = array.rows(rows)
            for first, part in parts:
                batch = _without(part, label, qid, file, first)
                del part
                yield batch
                del batch  # before the next one is read


@contextlib.contextmanager
def _as_npy(file: str) -> Iterator[None]:
    try:
        yield
    except DataError:
        raise
    except ERRORS as error:
        raise DataError(
            f"{file}: cannot be read as npy ({error}); write it with numpy.save(path, X) from an "
            "array of numbers"
        ) from error


def _without(part: Any, label: int | None, qid: int | None, file: str, first: int) -> RowBatch:
    gone = [column for column in (label, qid) if column is not None]
    X = np.delete(part, gone, axis=1) if gone else part
    return RowBatch(
        X,
        None if label is None else part[:, label].copy(),  # a view would keep the part
        qid=None if qid is None else part[:, qid].astype(np.int64),
        where=f"{file}, rows from {first}",
        label_column=described(label, None, file),
    )


def _npz(file: str, reading: Reading) -> Iterator[RowBatch]:
    """Read the rows of ``X`` in an archive piece by piece, and its vectors whole."""
    with broken(file), zipfile.ZipFile(file) as archive:
        members = {name.removesuffix(".npy"): name for name in archive.namelist()}
        if "X" not in members:
            raise DataError(
                f"{file}: array 'X' is absent: expected X and y; write it with "
                "numpy.savez(path, X=X, y=y)"
            )
        sides: dict[str, Any] = {}
        for name in NAMES[1:]:
            if name in members:
                with StreamedArray.of_member(archive, members[name]) as of_side:
                    sides[name] = of_side.all()
        names = sides.pop("feature_names", None)
        if reading.label_column is None:
            sides.pop("y", None)
        with StreamedArray.of_member(archive, members["X"]) as values:
            n_rows, n_columns = values.shape if len(values.shape) == 2 else (0, 0)
            if not n_columns:
                raise DataError(
                    f"{file}: X has shape {values.shape}: expected (rows, features), 1 or more "
                    "features; write an array with a row per example"
                )
            for name, part in sides.items():
                if len(part) != n_rows:
                    raise DataError(
                        f"{file}: {name} has {len(part)} values, X has {n_rows} rows: expected one "
                        "value per row; write them anew"
                    )
            rows = reading.rows_of(n_columns)
            for first, piece in values.rows(rows):
                own = {n: part[first : first + len(piece)] for n, part in sides.items()}
                label = own.pop("y", None)
                given = None if names is None else [str(name) for name in names]
                where = f"{file}, rows from {first}"
                yield RowBatch(piece, label, feature_names=given, where=where, **own)
